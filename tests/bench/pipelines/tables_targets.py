"""Targets that need care, and numbers of which combinations matter."""
import numpy as np

from table import Cells, binary, numbers, show, smooth, table, whole


@table("log-normal", target="log")
def log_normal(rng, n):
    """A target that is the exponential of an ordinary one; the squared error counts."""
    x, columns = numbers(rng, n, 5)
    return Cells(columns, np.exp(2 + smooth(x) + 0.4 * x[:, 3] + 0.5 * rng.normal(size=n)))


@table("prices", metric="mae", target="log", steps={"kind": "cat"})
def prices(rng, n):
    """Prices over four decades with whole-number endings; the absolute error counts."""
    x, columns = numbers(rng, n, 4)
    kind = rng.integers(0, 8, n)
    columns["kind"] = [f"kind {v}" for v in kind]
    y = np.exp(7 + 0.8 * smooth(x) + rng.normal(size=8)[kind] + 0.4 * rng.normal(size=n))
    return Cells(columns, np.round(y, -1) + 9)


@table("offset", target="center")
def offset(rng, n):
    """A target of 1.7e9 give or take 100."""
    x, columns = numbers(rng, n, 4)
    return Cells(columns, [f"{1.7e9 + 70 * v:.2f}" for v in smooth(x) + 0.5 * x[:, 3] + 0.3 * rng.normal(size=n)])


@table("tiny-target", target="scale")
def tiny_target(rng, n):
    """A target of the size 1e-9."""
    x, columns = numbers(rng, n, 4)
    return Cells(columns, [f"{v:.6e}" for v in 1e-9 * (smooth(x) + 0.3 * rng.normal(size=n))])


@table("money-target", target="money")
def money_target(rng, n):
    """The target is written `$1,234.50`, and some are negative."""
    x, columns = numbers(rng, n, 4)
    y = 800 * (smooth(x) + 2 + 0.4 * rng.normal(size=n))
    return Cells(columns, [f"-${-v:,.2f}" if v < 0 else f"${v:,.2f}" for v in y])


@table("counts", metric="rmse")
def counts(rng, n):
    """Counts, most of them small, some in the hundreds."""
    x, columns = numbers(rng, n, 4)
    return Cells(columns, rng.poisson(np.exp(0.8 + 0.9 * smooth(x) + 0.5 * x[:, 3])))


@table("many-zeros", metric="mae")
def many_zeros(rng, n):
    """Claims: nine of ten are 0, the others log-normal; the absolute error counts."""
    x, columns = numbers(rng, n, 4)
    hit = rng.random(n) < 1 / (1 + np.exp(2 - 2 * smooth(x)))
    return Cells(columns, np.where(hit, np.exp(4 + x[:, 3] + 0.4 * rng.normal(size=n)), 0).round(2))


@table("imbalanced", rows=20000, metric="auc", test_rows=10000)
def imbalanced(rng, n):
    """One row in eighty is positive."""
    x, columns = numbers(rng, n, 8)
    return Cells(columns, binary(rng, -6 + 1.5 * smooth(x) + x[:, 3] + x[:, 4] * x[:, 5], "fraud", "fine"))


@table("many-classes", rows=10000, metric="logloss")
def many_classes(rng, n):
    """Forty classes around centres in twelve dimensions."""
    centres = rng.normal(size=(40, 12)) * 1.3
    y = rng.integers(0, 40, n)
    x = centres[y] + rng.normal(size=(n, 12))
    return Cells({f"x{i}": show(x[:, i]) for i in range(12)}, [f"class {v}" for v in y])


@table("odd-labels", rows=6000, metric="logloss", options=("--columns", "y=label"))
def odd_labels(rng, n):
    """Classes spelt `1.0`, `+1`, `01`, `NA` and a number beyond 2^53."""
    x, columns = numbers(rng, n, 4)
    y = np.argmax(np.c_[smooth(x), x[:, 1], x[:, 3], 0.3 + 0 * x[:, 0], -x[:, 0]] + 0.5 * rng.gumbel(size=(n, 5)), 1)
    return Cells(columns, [("1.0", "+1", "01", "NA", "9007199254740993")[v] for v in y])


@table("ratios", steps={"debt": "ratio:income", "income": "num"})
def ratios(rng, n):
    """The ratio of two columns matters, and the difference of two others."""
    x, columns = numbers(rng, n, 4)
    debt, income = rng.lognormal(9, 0.8, n), rng.lognormal(10, 0.6, n)
    columns["debt"], columns["income"] = show(debt), show(income)
    return Cells(columns, 2 * np.tanh(3 * (debt / income - 0.5)) + 1.5 * np.abs(x[:, 0] - x[:, 1]) + 0.5 * rng.normal(size=n),)


@table("rotated", metric="auc", steps={f"x{i}": "pca" for i in range(8)})
def rotated(rng, n):
    """Bands in directions that are no columns."""
    q, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    z = rng.normal(size=(n, 8)) * np.array([4, 3, 2, 1, 1, 0.7, 0.5, 0.3])
    x = z @ q
    return Cells({f"x{i}": show(x[:, i]) for i in range(8)}, binary(rng, 2 * np.sin(z[:, 0]) + 1.5 * np.sign(z[:, 1]) + z[:, 2] / 2))


@table("identifiers", steps={"id": "drop", "uuid": "drop"})
def identifiers(rng, n):
    """Identifiers, a constant and a copy beside what matters."""
    x, columns = numbers(rng, n, 4)
    columns = {"id": whole(rng.permutation(n) + 100000), "uuid": [f"{v:016x}" for v in rng.integers(0, 2**62, n)], "version": ["7"] * n,
               **columns, "copy": columns["x0"]}
    return Cells(columns, smooth(x) + 0.6 * rng.normal(size=n))


@table("small", rows=250, test_rows=4000, steps={"group": "cat"})
def small(rng, n):
    """250 rows."""
    x, columns = numbers(rng, n, 8)
    group = rng.integers(0, 4, n)
    columns["group"] = [f"g{v}" for v in group]
    return Cells(columns, x[:, 0] + 0.7 * x[:, 1] + np.sin(x[:, 2] * 2) + rng.normal(size=4)[group] + 0.7 * rng.normal(size=n))


@table("clean", steps={"kind": "cat"}, linear=True)
def clean(rng, n):
    """Plain numbers and a small category: what was good must stay so."""
    x, columns = numbers(rng, n, 8)
    kind = rng.integers(0, 5, n)
    columns["kind"] = [f"k{v}" for v in kind]
    return Cells(columns, smooth(x) + x[:, 3] + 0.5 * x[:, 4] * (kind > 2) + 0.7 * rng.normal(size=n))
