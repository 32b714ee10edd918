"""Metrics as errors (less is better), and the paired standard error of a difference by bootstrap over the test rows."""
import numpy as np
import pandas as pd
from scipy.stats import rankdata

RESAMPLES = 200


def true_numbers(cells):
    """A target's cells as numbers: money is read as such."""
    return pd.to_numeric(pd.Series(cells).astype(str).str.replace("$", "").str.replace(",", "")).to_numpy(float)


def task_of(t, y):
    if t.metric in ("rmse", "mae"):
        return "regression"
    return "binary" if len(set(y)) == 2 else "multiclass"


def score(metric, y, p):
    """The error: 1 - AUC, log loss, RMSE or MAE. y: numbers or class indices."""
    if metric == "auc":
        r, n1 = rankdata(p), y.sum()
        return 1 - (r[y == 1].sum() - n1 * (n1 + 1) / 2) / (n1 * (len(y) - n1))
    if metric == "logloss":
        q = np.where(y == 1, p, 1 - p) if p.ndim == 1 else p[np.arange(len(y)), y.astype(int)]
        return -np.log(np.maximum(q, 1e-15)).mean()
    return np.abs(y - p).mean() if metric == "mae" else np.sqrt(((y - p) ** 2).mean())


def paired(metric, y, ours, theirs, units=None, seed=7):
    """Errors of both, the standard error of their difference and z: above 0 = ours is better. units: what each test row belongs to, a
    group or a stretch of time; rows of one unit err together, so whole units are drawn again. None: single rows are."""
    rng = np.random.default_rng(seed)
    a, b = score(metric, y, ours), score(metric, y, theirs)
    _, of = np.unique(np.arange(len(y)) if units is None else units, return_inverse=True)
    rows = np.split(np.argsort(of, kind="stable"), np.cumsum(np.bincount(of))[:-1])
    gains = []
    for _ in range(RESAMPLES):
        drawn = rng.integers(0, len(rows), len(rows))
        at = drawn if units is None else np.concatenate([rows[u] for u in drawn])
        if metric == "auc" and len(set(y[at])) < 2:
            continue
        gains.append(score(metric, y[at], theirs[at]) - score(metric, y[at], ours[at]))
    se = float(np.std(gains, ddof=1)) if len(gains) > 1 else np.nan
    return a, b, se, (b - a) / max(se, 1e-300)
