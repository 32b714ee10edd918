"""What a generated table is: cells as text, as a file of a stranger would hold them, a target, and what a careful user knows of it.

A generator draws `n` rows from a numpy Generator and returns a Cells. @table registers it under its name with the number of rows, the
metric and the peer's steps. The last rows are the test rows, unless the generator says which."""
import dataclasses

import numpy as np

TABLES = {}


@dataclasses.dataclass
class Cells:
    """columns: name -> list of cells, in order. y: the target as numbers or texts. test: None, or a mask of the test rows."""
    columns: dict
    y: object
    test: object = None


@dataclasses.dataclass
class Table:
    name: str
    make: object
    rows: int
    test_rows: int
    metric: str
    # column -> a step of steps.py
    steps: dict
    # "auto" of a column that steps does not name
    others: object = "num"
    # "log": learn the logarithm; "center": less its mean; "money": cells of the target are read as money
    target: str = ""
    # also try a linear model on the same matrix
    linear: bool = False
    # what validates the peer's number of rounds: "rows", "groups:COLUMN" or "time:COLUMN"
    valid: str = "rows"
    # our options beside --target, --metric and --time
    options: tuple = ()
    file: str = "csv"
    about: str = ""


def table(name, rows=8000, metric="rmse", test_rows=4000, steps=None, **more):
    def register(make):
        assert name not in TABLES, name
        TABLES[name] = Table(name, make, rows, test_rows, metric, steps or {}, about=(make.__doc__ or "").strip(), **more)
        return make

    return register


# ---- what generators share ----


def binary(rng, logit, yes="yes", no="no"):
    """Labels drawn from log-odds."""
    return [yes if u < p else no for u, p in zip(rng.random(len(logit)), 1 / (1 + np.exp(-logit)))]


def show(values, digits=4):
    """Numbers as people's programs write them."""
    return [f"{v:.{digits}g}" for v in values]


def whole(values):
    return [str(int(v)) for v in values]


def numbers(rng, n, k, prefix="x"):
    """k standard normal columns, as values and as cells."""
    x = rng.normal(size=(n, k))
    return x, {f"{prefix}{i}": show(x[:, i]) for i in range(k)}


def smooth(x):
    """An ordinary signal of three columns for the other columns to stand beside."""
    return np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] * x[:, 2]


def zipf(rng, n, levels, power=1.0):
    """Level indices with frequencies 1/(i+1)^power, in an order that says nothing."""
    p = 1 / np.arange(1, levels + 1) ** power
    return rng.permutation(levels)[rng.choice(levels, n, p=p / p.sum())]
