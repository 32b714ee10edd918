"""Categories: many levels, rare ones, codes as whole numbers, codes with inner structure, pairs, twins of known code tables."""
import numpy as np

from table import Cells, binary, numbers, show, smooth, table, whole, zipf


@table("levels", rows=18000, steps={"city": "te"})
def levels(rng, n):
    """A category of thousands of levels that matters."""
    x, columns = numbers(rng, n, 4)
    city = rng.integers(0, 2500, n)
    effect = rng.normal(size=2500) * 2
    columns["city"] = [f"c{v:05d}" for v in city]
    return Cells(columns, smooth(x) + effect[city] + rng.normal(size=n))


@table("levels-binary", rows=45000, test_rows=10000, metric="auc", steps={"merchant": "te"})
def levels_binary(rng, n):
    """The same of two classes."""
    x, columns = numbers(rng, n, 4)
    who = zipf(rng, n, 4000, 0.6)
    effect = rng.normal(size=4000) * 1.2
    columns["merchant"] = [f"m-{v:x}" for v in who]
    return Cells(columns, binary(rng, 0.5 * smooth(x) + effect[who] - 0.5))


@table("whole-codes", rows=10000, steps={"zip": "te", "branch": "te"})
def whole_codes(rng, n):
    """Whole-number codes that are categories."""
    x, columns = numbers(rng, n, 4)
    zips = rng.choice(90000, 600, replace=False) + 10000
    at, branch = rng.integers(0, 600, n), rng.integers(0, 90, n)
    columns["zip"] = whole(zips[at])
    columns["branch"] = whole(branch + 1)
    return Cells(columns, smooth(x) + 1.5 * rng.normal(size=600)[at] + rng.normal(size=90)[branch] + rng.normal(size=n))


@table("rare-levels", rows=8000, steps={"model": "te"})
def rare_levels(rng, n):
    """Half of the rows have a level that is seen fewer than five times."""
    x, columns = numbers(rng, n, 4)
    at = zipf(rng, n, 8000, 0.9)
    effect = rng.normal(size=8000) * 1.5
    columns["model"] = [f"M{v}" for v in at]
    return Cells(columns, smooth(x) + effect[at] + 0.7 * rng.normal(size=n))


@table("unseen-levels", rows=8000, steps={"store": "te"})
def unseen_levels(rng, n):
    """A third of the test rows have a level that training never saw; the level's region stands beside it."""
    x, columns = numbers(rng, n, 3)
    region = rng.integers(0, 12, 900)
    effect = rng.normal(size=12)[region] * 1.5 + rng.normal(size=900)
    at = rng.integers(0, 600, n)
    late = np.arange(n) >= n - 4000  # the test rows
    at = np.where(late & (rng.random(n) < 1 / 3), rng.integers(600, 900, n), at)
    columns["store"] = [f"store {v}" for v in at]
    columns["region"] = whole(region[at])
    return Cells(columns, smooth(x) + effect[at] + 0.7 * rng.normal(size=n))


@table("prefix-codes", rows=8000, steps={"part": "code"})
def prefix_codes(rng, n):
    """Codes whose first letters and middle digits matter; the whole code is nearly unique."""
    x, columns = numbers(rng, n, 3)
    a, b, c = rng.integers(0, 40, n), rng.integers(0, 25, n), rng.integers(0, 10000, n)
    columns["part"] = [f"{chr(65 + i % 26)}{chr(65 + i // 26)}-{j:02d}-{k:04d}" for i, j, k in zip(a, b, c)]
    return Cells(columns, smooth(x) + 1.5 * rng.normal(size=40)[a] + rng.normal(size=25)[b] + rng.normal(size=n))


@table("vehicles", steps={"vin": "places"})
def vehicles(rng, n):
    """Numbers of vehicles, 17 signs: the first three, which name the maker, and the tenth, the year, matter."""
    x, columns = numbers(rng, n, 3)
    signs, years, makers = "0123456789ABCDEFGHJKLMNPRSTUVWXYZ", "ABCDEFGHJKLMNPRSTVWXY123456789", ["WVW", "1FA", "JTD", "WDB", "5YJ", "VF1", "ZFA"]
    maker, year, other = rng.integers(0, 7, n), rng.integers(0, 30, n), rng.integers(0, len(signs), (n, 13))
    rest = ["".join(signs[v] for v in row) for row in other]
    columns["vin"] = [makers[m] + r[:6] + years[y] + r[6:] for m, y, r in zip(maker, year, rest)]
    return Cells(columns, smooth(x) + rng.normal(size=7)[maker] + year / 10 + 0.7 * rng.normal(size=n))


@table("domains", metric="auc", steps={"domain": "text-char"})
def domains(rng, n):
    """Names of hosts: made of words by people, or of syllables by programs."""
    x, columns = numbers(rng, n, 3)
    words, syllables = ["gold", "bank", "shop", "news", "blue", "cloud", "home", "data", "food", "game", "mail"], ["qu", "xo", "ze", "ba", "lo", "ki"]
    bad = rng.random(n) < 0.5
    columns["domain"] = ["".join((syllables if b else words)[v % (6 if b else 11)] for v in row[: 3 + 2 * b]) + str(row[5]) + (".com", ".net")[row[5] % 2]
                         for b, row in zip(bad ^ (rng.random(n) < 0.1), rng.integers(0, 9900, (n, 6)))]
    return Cells(columns, binary(rng, 0.8 * smooth(x) + 3 * bad - 1.5))


@table("code-pairs", rows=16000, steps={"a": "pair:b", "b": "te"})
def code_pairs(rng, n):
    """Two columns of codes of which only the pair matters."""
    x, columns = numbers(rng, n, 3)
    a, b = rng.integers(0, 30, n), rng.integers(0, 30, n)
    columns["a"], columns["b"] = [f"a{v}" for v in a], [f"b{v}" for v in b]
    return Cells(columns, smooth(x) + 1.5 * rng.normal(size=(30, 30))[a, b] + rng.normal(size=n))


@table("ordered-words", rows=6000, steps={"size": "cat", "grade": "cat"})
def ordered_words(rng, n):
    """Words that have an order: sizes and grades."""
    x, columns = numbers(rng, n, 3)
    sizes, grades = ["XS", "S", "M", "L", "XL", "XXL"], ["very low", "low", "medium", "high", "very high"]
    i, j = rng.integers(0, 6, n), rng.integers(0, 5, n)
    columns["size"], columns["grade"] = [sizes[v] for v in i], [grades[v] for v in j]
    return Cells(columns, smooth(x) + 0.6 * i + 0.4 * i * (j > 2) + rng.normal(size=n))


@table("one-hot", rows=6000, metric="auc", linear=True)
def one_hot(rng, n):
    """250 columns of 0 and 1, of which 60 matter a little."""
    x = (rng.random((n, 250)) < rng.uniform(0.02, 0.4, 250)).astype(int)
    w = np.where(np.arange(250) < 60, rng.normal(size=250) * 0.7, 0)
    order = rng.permutation(250)
    return Cells({f"f{i}": whole(x[:, order[i]]) for i in range(250)}, binary(rng, (x - x.mean(0)) @ w))


@table("access", rows=20000, metric="auc", steps={f"code{i}": "te" for i in range(9)})
def access(rng, n):
    """A twin of amazon-employee-access: nine columns of codes, up to thousands of levels, 6% in the other class."""
    sizes = [3000, 2500, 120, 170, 400, 300, 2000, 60, 300]
    logit, columns = np.full(n, 3.6), {}
    base = zipf(rng, n, 1500, 0.7)
    for i, k in enumerate(sizes):
        own = rng.integers(0, k, 1500)[base] if i % 2 else zipf(rng, n, k, 0.8)
        columns[f"code{i}"] = whole(own * 7 + 1000 * (i + 1))
        logit = logit + rng.normal(size=k)[own] * (1.1 if i in (0, 1, 6) else 0.4)
    return Cells(columns, binary(rng, logit, "1", "0"))


@table("clicks", rows=40000, test_rows=10000, metric="logloss", steps={"site": "te", "app": "te", "device": "te", "hour": "cat"})
def clicks(rng, n):
    """A twin of ad clicks: codes in hexadecimal with long tails, an hour, 17% clicks; log loss."""
    site, app, device = zipf(rng, n, 3000, 1.05), zipf(rng, n, 2000, 1.1), zipf(rng, n, 20000, 0.9)
    hour, spot = rng.integers(0, 24, n), rng.integers(0, 7, n)
    logit = (-2 + rng.normal(size=3000)[site] * 0.8 + rng.normal(size=2000)[app] * 0.6 + rng.normal(size=20000)[device] * 0.4 +
             0.3 * np.sin(hour / 24 * 2 * np.pi) + 0.2 * spot * (hour > 12) - 0.5)
    return Cells({"site": [f"{v * 2654435761 % 2**32:08x}" for v in site], "app": [f"{v * 40503 % 2**32:08x}" for v in app],
                  "device": [f"{v * 97 % 2**32:08x}" for v in device], "hour": whole(hour), "spot": whole(spot)},
                 binary(rng, logit, "1", "0"))


@table("diagnoses", rows=15000, metric="auc", steps={f"diag{i}": "te" for i in (1, 2, 3)} | {"age": "cat", "weight": "cat", "change": "cat"})
def diagnoses(rng, n):
    """A twin of diabetes readmission: three codes of one vocabulary, ranges as words, `?` for missing."""
    code = np.array([f"{v}" if v % 9 else f"V{v % 90:02d}" for v in range(1, 900)] + [f"250.{v:02d}" for v in range(100)])
    effect = rng.normal(size=len(code))
    d = [zipf(rng, n, len(code), 0.9) for _ in range(3)]
    age, days = rng.integers(0, 10, n), rng.poisson(4, n) + 1
    logit = -1 + 0.6 * effect[d[0]] + 0.4 * effect[d[1]] + 0.2 * effect[d[2]] + 0.1 * age + 0.12 * days * (age > 5)
    columns = {f"diag{i + 1}": ["?" if u < 0.02 else c for u, c in zip(rng.random(n), code[d[i]])] for i in range(3)}
    columns["age"] = [f"[{10 * v}-{10 * v + 10})" for v in age]
    columns["weight"] = ["?" if u < 0.96 else f"[{25 * int(v)}-{25 * int(v) + 25})" for u, v in zip(rng.random(n), rng.integers(1, 6, n))]
    columns["days"] = whole(days)
    columns["change"] = ["Ch" if u < 0.5 else "No" for u in rng.random(n)]
    columns["lab"] = show(rng.normal(40, 10, n))
    return Cells(columns, binary(rng, logit, "<30", "NO"))
