"""Cells that are not plain numbers: money, per cent, units, accounting, missing words, booleans in words, lists, huge ranges."""
import json

import numpy as np

from table import Cells, binary, numbers, show, smooth, table, whole


@table("junk-numbers", steps={"price": "junk", "share": "junk", "score": "junk"})
def junk_numbers(rng, n):
    """Numbers written `$1,234`, `12%`, `-`, `n/a`."""
    x, columns = numbers(rng, n, 3)
    price, share, score = rng.lognormal(7, 1, n), rng.uniform(0, 100, n), rng.normal(50, 20, n)
    columns["price"] = ["n/a" if u < 0.05 else f"${v:,.0f}" for u, v in zip(rng.random(n), price)]
    columns["share"] = ["-" if u < 0.05 else f"{v:.0f}%" for u, v in zip(rng.random(n), share)]
    columns["score"] = ["-" if u < 0.03 else "n/a" if u < 0.06 else f"{v:.1f}" for u, v in zip(rng.random(n), score)]
    y = smooth(x) + np.log(price) + 0.03 * share + 1.5 * np.sin(score / 12)
    return Cells(columns, y + 0.5 * rng.normal(size=n))


@table("one-dash", rows=10000, steps={"x0": "junk"})
def one_dash(rng, n):
    """One `-` among 10,000 numbers."""
    x, columns = numbers(rng, n, 4)
    columns["x0"][int(rng.integers(0, n // 2))] = "-"
    return Cells(columns, 3 * x[:, 0] + smooth(x) + rng.normal(size=n))


@table("none-word", steps={"x0": "junk", "x1": "junk"})
def none_word(rng, n):
    """`None` in numeric columns."""
    x, columns = numbers(rng, n, 4)
    for i in (0, 1):
        columns[f"x{i}"] = ["None" if u < 0.1 else v for u, v in zip(rng.random(n), columns[f"x{i}"])]
    return Cells(columns, 3 * x[:, 0] + 2 * np.abs(x[:, 1]) + smooth(x) + rng.normal(size=n))


@table("units", steps={"weight": "junk", "height": "junk", "memory": "junk"})
def units(rng, n):
    """Numbers with a unit that repeats: `71.5 kg`, `183cm`, `16 GB`."""
    x, columns = numbers(rng, n, 3)
    kg, cm, gb = rng.normal(75, 15, n), rng.normal(172, 12, n), rng.choice([4, 8, 12, 16, 32, 64], n)
    columns["weight"], columns["height"] = [f"{v:.1f} kg" for v in kg], [f"{v:.0f}cm" for v in cm]
    columns["memory"] = [f"{v} GB" for v in gb]
    return Cells(columns, smooth(x) + kg / (cm / 100) ** 2 / 3 + np.log2(gb) + 0.7 * rng.normal(size=n))


@table("several-numbers", steps={"pressure": "figures", "size": "figures"})
def several_numbers(rng, n):
    """Several numbers in a cell: `120/80`, `10x20x30 cm`."""
    x, columns = numbers(rng, n, 2)
    high, low, side = rng.integers(90, 180, n), rng.integers(50, 110, n), rng.integers(2, 60, (n, 3))
    columns["pressure"], columns["size"] = [f"{a}/{b}" for a, b in zip(high, low)], [f"{a}x{b}x{c} cm" for a, b, c in side]
    return Cells(columns, smooth(np.column_stack([x, x[:, 0]])) + (high - low) / 20 + np.log(side.prod(1)) + 0.7 * rng.normal(size=n))


@table("currencies", steps={"price": "figures"})
def currencies(rng, n):
    """Amounts in four currencies: `$94.29`, `4.19 CHF`."""
    x, columns = numbers(rng, n, 3)
    forms, worth = ("${:,.2f}", "\u20ac{:,.2f}", "{:,.2f} CHF", "\u00a5{:,.0f}"), np.array([1, 1.1, 1.2, 0.007])
    kind, dollars = rng.integers(0, 4, n), rng.lognormal(5, 1, n)
    columns["price"] = [forms[k].format(v) for k, v in zip(kind, dollars / worth[kind])]
    return Cells(columns, smooth(x) + np.log(dollars) + 0.5 * (kind == 2) + 0.7 * rng.normal(size=n))


@table("places", metric="auc", steps={"place": "figures"})
def places(rng, n):
    """Degrees of longitude and latitude in one cell, `POINT (11.31 48.05)`; three towns matter."""
    x, columns = numbers(rng, n, 3)
    at, towns = rng.normal((11, 48), 1, (n, 2)), rng.normal((11, 48), 0.8, (3, 2))
    columns["place"] = [f"POINT ({a:.5f} {b:.5f})" for a, b in at]
    near = np.exp(-4 * ((at[:, None] - towns) ** 2).sum(2)) @ np.array([4, -4, 4])
    return Cells(columns, binary(rng, 0.6 * smooth(x) + near))


@table("accounting", steps={"profit": "account", "change": "account"})
def accounting(rng, n):
    """Negative numbers in brackets, and a minus sign behind or of typographers."""
    x, columns = numbers(rng, n, 3)
    a, b = rng.normal(0, 5000, n), rng.normal(0, 20, n)
    columns["profit"] = [f"({-v:,.2f})" if v < 0 else f"{v:,.2f}" for v in a]
    columns["change"] = [f"\u2212{-v:.1f}" if v < 0 else f"{v:.1f}" for v in b]
    return Cells(columns, smooth(x) + a / 2500 + np.abs(b) / 10 + 0.7 * rng.normal(size=n))


@table("decimal-comma", steps={"betrag": "comma", "anteil": "comma"})
def decimal_comma(rng, n):
    """European numbers: `1.234,56`, the cells in quotes."""
    x, columns = numbers(rng, n, 3)
    a, b = rng.lognormal(7, 1, n), rng.uniform(0, 1, n)
    columns["betrag"] = [f"{v:,.2f}".translate(str.maketrans(",.", ".,")) for v in a]
    columns["anteil"] = [f"{v:.3f}".replace(".", ",") for v in b]
    return Cells(columns, smooth(x) + np.log(a) + 3 * b * b + 0.6 * rng.normal(size=n))


@table("boolean-words", metric="auc", steps={"paid": "flag", "active": "flag", "member": "flag"})
def boolean_words(rng, n):
    """Booleans in words of several spellings, with missing ones."""
    x, columns = numbers(rng, n, 3)
    paid, active, member = rng.random(n) < 0.4, rng.random(n) < 0.7, rng.random(n) < 0.2
    pick = rng.integers(0, 3, n)
    columns["paid"] = [("Yes", "yes", "Y")[k] if v else ("No", "no", "N")[k] for v, k in zip(paid, pick)]
    columns["active"] = ["" if u < 0.1 else "TRUE" if v else "FALSE" for u, v in zip(rng.random(n), active)]
    columns["member"] = ["t" if v else "f" for v in member]
    return Cells(columns, binary(rng, smooth(x) + 1.5 * paid - active + 2 * (member & paid) - 0.5))


@table("missing-tells", steps={"income": "num"}, metric="auc")
def missing_tells(rng, n):
    """Missing not at random: large values are withheld, and that a value is missing says more than the value."""
    x, columns = numbers(rng, n, 4)
    income = rng.lognormal(10, 0.7, n)
    gone = rng.random(n) < 1 / (1 + np.exp(-2 * (np.log(income) - 10.5)))
    columns["income"] = ["" if g else f"{v:.0f}" for g, v in zip(gone, income)]
    for i in (1, 2):
        columns[f"x{i}"] = ["" if u < 0.15 else v for u, v in zip(rng.random(n), columns[f"x{i}"])]
    return Cells(columns, binary(rng, 0.7 * smooth(x) + 1.6 * gone + 0.5 * (np.log(income) - 10)))


@table("lists", steps={"tags": "list"})
def lists(rng, n):
    """Lists in a cell: `red|blue`."""
    x, columns = numbers(rng, n, 3)
    names = ["red", "blue", "green", "black", "white", "pink", "grey", "gold", "cyan", "lime", "navy", "teal"]
    w = rng.normal(size=12) * 1.2
    has = rng.random((n, 12)) < 0.25
    columns["tags"] = ["|".join(rng.permutation([names[j] for j in np.flatnonzero(row)])) for row in has]
    return Cells(columns, smooth(x) + has @ w + 0.5 * rng.normal(size=n))


@table("json-lists", steps={"features": "list"})
def json_lists(rng, n):
    """Lists written as JSON, of 200 names, most of them rare."""
    x, columns = numbers(rng, n, 3)
    w, p = rng.normal(size=200), np.minimum(0.5, 4 / np.arange(1, 201))
    has = rng.random((n, 200)) < p * 0.5
    columns["features"] = [json.dumps([f"item {j}" for j in np.flatnonzero(row)]) for row in has]
    return Cells(columns, smooth(x) + has @ w + 0.7 * rng.normal(size=n))


@table("huge-ranges", rows=8000, metric="auc", steps={f"x{i}": "huge" for i in range(4)})
def huge_ranges(rng, n):
    """Numbers from 1e-300 to 1e300."""
    e = rng.uniform(-300, 300, (n, 4))
    sign = rng.choice([-1, 1], (n, 4))
    columns = {f"x{i}": [f"{'-' if s < 0 else ''}{10 ** (v % 1):.4f}e{int(np.floor(v))}" for s, v in zip(sign[:, i], e[:, i])]
               for i in range(4)}
    return Cells(columns, binary(rng, 3 * np.sin(e[:, 0] / 60) + sign[:, 1] * e[:, 1] / 100 + (e[:, 2] > 0) * sign[:, 3] * 1.5))


@table("outliers", metric="mae")
def outliers(rng, n):
    """One cell in fifty is 10^4 times too large, in inputs and in the target; the mean absolute error counts."""
    x, columns = numbers(rng, n, 4)
    for i in range(4):
        columns[f"x{i}"] = show(np.where(rng.random(n) < 0.02, x[:, i] * 1e4, x[:, i]))
    y = smooth(x) + x[:, 3] + 0.5 * rng.normal(size=n)
    return Cells(columns, np.where(rng.random(n) < 0.02, y * 1e3, y))


@table("json-lines", file="jsonl", steps={"city": "cat", "ok": "flag"}, metric="auc")
def json_lines(rng, n):
    """JSON lines: numbers, texts, booleans and nulls."""
    x, columns = numbers(rng, n, 4)
    city, ok = rng.integers(0, 15, n), rng.random(n) < 0.5
    columns["x3"] = [None if u < 0.1 else v for u, v in zip(rng.random(n), columns["x3"])]
    columns["city"], columns["ok"] = [f"city {v}" for v in city], ["true" if v else "false" for v in ok]
    return Cells(columns, binary(rng, smooth(x) + x[:, 3] + rng.normal(size=15)[city] + ok))


@table("mixed", rows=10000, steps={"signup": "date:%d/%m/%Y", "plan": "cat", "fee": "junk", "note": "text", "shop": "te", "tags": "list"})
def mixed(rng, n):
    """A date, money with junk, a category, a code, a text and a list in one table."""
    x, columns = numbers(rng, n, 2)
    day, plan, shop = rng.integers(0, 1400, n), rng.integers(0, 5, n), rng.integers(0, 700, n)
    when = np.datetime64("2020-01-01") + day
    fee = rng.lognormal(4, 0.6, n)
    good = rng.integers(0, 2, n)
    words = [["late", "broken", "refund", "noise"], ["quick", "happy", "clean", "again"]]
    columns["signup"] = [f"{str(d)[8:]}/{str(d)[5:7]}/{str(d)[:4]}" for d in when]
    columns["plan"] = [("free", "basic", "plus", "pro", "team")[v] for v in plan]
    columns["fee"] = ["-" if u < 0.04 else f"\u20ac {v:,.2f}" for u, v in zip(rng.random(n), fee)]
    columns["note"] = [f"the {words[g][a]} order was {words[g][b]} at door {c}" for g, a, b, c in
                       zip(good, rng.integers(0, 4, n), rng.integers(0, 4, n), rng.integers(1, 99, n))]
    columns["shop"] = whole(shop + 5000)
    columns["tags"] = [";".join(t for t, u in zip(("gift", "sale", "bulk"), row) if u < 0.4) for row in rng.random((n, 3))]
    gift = np.array(["gift" in t for t in columns["tags"]])
    month = (when.astype("datetime64[M]").astype(int) % 12)
    y = x[:, 0] + 0.5 * plan + np.log(fee) + 1.5 * good + rng.normal(size=700)[shop] + gift + 1.2 * np.cos(month / 6 * np.pi)
    return Cells(columns, y + 0.6 * rng.normal(size=n))
