"""Generated tables on which an automatic search can go wrong, each a function of (seed) alone.

A table is (name of the metric, rows to train, rows to test); a row is a list of cells, the target
last. Only the standard library is used, so that the same seed gives the same table everywhere.

  python3 tables.py KIND SEED FOLDER     writes train.csv and test.csv and prints the metric
"""
import math
import os
import random
import sys

TEST_ROWS = 4000


def _cell(value):
    return "" if value is None else value if isinstance(value, str) else f"{value:.5g}"


def _normal(rng, columns):
    return [rng.gauss(0, 1) for _ in range(columns)]


def _steps(x):
    """A signal of steps, products and waves: trees are good at it, lines are not."""
    return (
        (1.5 if x[0] > 0.3 else -1.0)
        + x[1] * x[2]
        + math.sin(2 * x[3])
        + (1.0 if x[4] > 0 and x[5] > 0 else 0.0)
        - 0.6 * x[6]
    )


def _binary(rng, rows, columns, signal, flipped=0.0, hole=0.0):
    out = []
    for _ in range(rows):
        x = _normal(rng, columns)
        label = signal(x) > 0
        if rng.random() < flipped:
            label = not label
        out.append([None if rng.random() < hole else v for v in x] + ["yes" if label else "no"])
    return out


def noisy(rng, rows):
    """A quarter of the labels are flipped."""
    return "auc", _binary(rng, rows or 3000, 20, _steps, flipped=0.25)


def holes(rng, rows):
    """Half of the cells are missing."""
    return "auc", _binary(rng, rows or 3000, 20, _steps, flipped=0.05, hole=0.5)


def classes(rng, rows):
    """Two hundred clouds of points, one a class: a line between two of them is nearly right."""
    centres = [_normal(rng, 30) for _ in range(200)]
    out = []
    for _ in range(rows or 6000):
        k = rng.randrange(200)
        out.append([c + rng.gauss(0, 0.7) for c in centres[k]] + [f"c{k}"])
    return "logloss", out


def wide(rng, rows):
    """2,000 columns, of which ten matter, and 200 rows."""
    return "auc", _binary(rng, rows or 200, 2000, lambda x: sum(x[:10]) + 0.5 * x[0] * x[1])


def sparse(rng, rows):
    """Counts, nearly all of them zero, of which a sum of forty decides."""
    weight = [rng.gauss(0, 1) if i < 40 else 0.0 for i in range(300)]
    out = []
    for _ in range(rows or 2000):
        x = [rng.randrange(1, 5) if rng.random() < 0.06 else 0 for _ in range(300)]
        z = sum(w * v for w, v in zip(weight, x)) + rng.gauss(0, 0.5)
        out.append(x + ["yes" if z > 0 else "no"])
    return "auc", out


def tiny(rng, rows):
    """120 rows of six numbers."""
    def value(x):
        return x[0] + x[1] * x[2] + 0.5 * x[3] + rng.gauss(0, 0.7)

    out = []
    for _ in range(rows or 120):
        x = _normal(rng, 6)
        out.append(x + [value(x)])
    return "rmse", out


def pure(rng, rows):
    """The target has nothing to do with the columns: classes."""
    return "auc", [_normal(rng, 10) + [rng.choice(["yes", "no"])] for _ in range(rows or 250)]


def pure_number(rng, rows):
    """The same with a number as the target."""
    return "r2", [_normal(rng, 10) + [rng.gauss(0, 1)] for _ in range(rows or 250)]


def pure_rare(rng, rows):
    """Noise of which five in 200 rows are of the rarer class."""
    out = []
    for i in range(rows or 200):
        if i % 200 == 0:
            yes = rng.sample(range(200), 5)
        out.append(_normal(rng, 8) + ["yes" if i % 200 in yes else "no"])
    return "auc", out


def zones(rng, rows):
    """Numbers with boxes in which the target is another one: boosting finds them."""
    boxes = [(rng.randrange(8), rng.gauss(0, 1), rng.randrange(8), rng.gauss(0, 1), rng.gauss(0, 2))
             for _ in range(25)]
    out = []
    for _ in range(rows or 3000):
        x = _normal(rng, 12)
        out.append(x + [sum(h for a, s, b, t, h in boxes if x[a] > s and x[b] < t)
                        + rng.gauss(0, 0.5)])
    return "rmse", out


def line(rng, rows):
    """A line and much noise."""
    out = []
    for _ in range(rows or 200):
        x = _normal(rng, 8)
        out.append(x + [x[0] - x[1] + 0.5 * x[2] + rng.gauss(0, 2)])
    return "r2", out


def few(rng, rows):
    """Three classes that overlap."""
    out = []
    for _ in range(rows or 150):
        k = rng.randrange(3)
        out.append([rng.gauss(0.7 * (k == i % 3), 1) for i in range(7)] + [f"c{k}"])
    return "logloss", out


def corners(rng, rows):
    """Two classes by the sign of a product, a tenth of them flipped."""
    return "auc", _binary(rng, rows or 300, 5, lambda x: x[0] * x[1] + 0.3 * x[2], flipped=0.1)


def words(rng, rows):
    """Categories of some levels, of which one decides in part."""
    effect = [rng.gauss(0, 1) for _ in range(12)]
    out = []
    for _ in range(rows or 240):
        a, b = rng.randrange(12), rng.randrange(5)
        z = effect[a] + rng.gauss(0, 1)
        out.append([f"a{a}", f"b{b}"] + _normal(rng, 3) + ["yes" if z > 0 else "no"])
    return "auc", out


KINDS = {
    f.__name__: f
    for f in (noisy, holes, classes, wide, sparse, tiny, pure, pure_number, pure_rare, zones,
              line, few, corners, words)
}


def write(kind, seed, folder):
    """Writes the two tables and returns the metric."""
    small = KINDS[kind](random.Random(f"{kind} {seed}"), None)
    rows = len(small[1])
    # one stream: the first rows train, the rest test, so both come from one problem
    more = TEST_ROWS // 4 if len(small[1][0]) > 1000 else TEST_ROWS
    metric, table = KINDS[kind](random.Random(f"{kind} {seed}"), rows + more)
    head = ",".join(f"x{i}" for i in range(len(table[0]) - 1)) + ",y\n"
    for name, part in (("train", table[:rows]), ("test", table[rows:])):
        with open(os.path.join(folder, name + ".csv"), "w", encoding="ascii") as out:
            out.write(head)
            out.writelines(",".join(_cell(v) for v in row) + "\n" for row in part)
    return metric


if __name__ == "__main__":
    print(write(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
