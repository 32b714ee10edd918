"""The peer: XGBoost behind the steps of steps.py, with early stopping, the better of two sizes of trees by a validation part, refitted
on all training rows; where the table says so also a linear model of the same matrix. Run as a process of its own:

  peer.py FOLDER NAME      reads FOLDER/train.csv and test.csv, writes FOLDER/peer.npy"""
import json
import sys

import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from measure import score, task_of, true_numbers
from steps import prepare, when
from tables import TABLES

ROUNDS, PATIENCE = 3000, 50


def read(folder, t, part):
    if t.file == "jsonl":
        with open(f"{folder}/{part}.jsonl", encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
        return pd.DataFrame([{k: "" if v is None else str(v).lower() if isinstance(v, bool) else str(v) for k, v in r.items()} for r in rows])
    return pd.read_csv(f"{folder}/{part}.csv", dtype=str, keep_default_na=False)


def held_out(t, frame, rng):
    """A fifth of the rows to validate on, as the user knows the rows to hang together."""
    how, _, name = t.valid.partition(":")
    if how == "groups":
        names = frame[name].unique()
        return frame[name].isin(rng.choice(names, len(names) // 5, replace=False)).to_numpy()
    if how == "time":
        return when(frame[name], None).rank(pct=True).to_numpy() > 0.8
    return rng.random(len(frame)) < 0.2


class Target:
    """A target as the user would have it learnt, and the way back."""

    def __init__(self, how, y):
        self.log = how == "log"
        z = np.log(y) if self.log else y
        self.mean, self.sd = (z.mean(), z.std()) if how else (0.0, 1.0)
        self.smear = 1.0

    def learnt(self, y):
        return ((np.log(y) if self.log else y) - self.mean) / self.sd

    def back(self, p):
        z = p * self.sd + self.mean
        return np.exp(z) * self.smear if self.log else z


def objective(task, metric, classes):
    if task == "regression":
        return {"objective": "reg:absoluteerror" if metric == "mae" else "reg:squarederror"}
    return {"objective": "binary:logistic"} if task == "binary" else {"objective": "multi:softprob", "num_class": classes}


def boosted(params, x, y, rounds, valid=None):
    d = xgb.DMatrix(x, y)
    if valid is None:
        return xgb.train(params, d, rounds)
    return xgb.train(params, d, rounds, evals=[(xgb.DMatrix(*valid), "v")], early_stopping_rounds=PATIENCE, verbose_eval=False)


def candidates(t, task, x, y, xv, yv, base):
    """(name, predictions of the validation part, a function that fits all rows and predicts) of each candidate."""
    is_slow = base.get("num_class", 1) >= (4 if hasattr(x, "tocsr") else 10)
    for depth in (4, 8):
        params = {**base, "max_depth": depth, "eta": 0.15 if is_slow else 0.05, "subsample": 0.8, "colsample_bytree": 0.8, "seed": 1, "nthread": 1,
                  "max_bin": 256, "tree_method": "hist", "min_child_weight": 2}
        if task == "binary" and t.metric == "auc":
            params["eval_metric"] = "auc"
        m = boosted(params, x, y, ROUNDS, (xv, yv))
        n = m.best_iteration + 1

        def again(xa, ya, xt, params=params, n=n):
            return boosted(params, xa, ya, int(n * 1.1) + 1).predict(xgb.DMatrix(xt))

        yield f"xgb depth {depth}", m.predict(xgb.DMatrix(xv), iteration_range=(0, n)), again
    if t.linear:
        model = make_pipeline(MaxAbsScaler(), RidgeCV(np.logspace(-2, 2, 5)) if task == "regression" else LogisticRegressionCV(Cs=5, max_iter=300))

        def proba(m, xt):
            p = m.predict(xt) if task == "regression" else m.predict_proba(xt)
            return p[:, 1] if task == "binary" else p

        def fitted(xa, ya, xt):
            return proba(model.fit(np.nan_to_num(xa) if not hasattr(xa, "tocsr") else filled(xa), ya), np.nan_to_num(xt) if not hasattr(xt, "tocsr") else filled(xt))

        yield "linear", fitted(x, y, xv), fitted


def filled(x):
    x = x.copy()
    x.data = np.nan_to_num(x.data)
    return x


def fit_predict(t, train, test):
    task = task_of(t, train["y"])
    classes = sorted(train["y"].unique()) if task != "regression" else []
    raw = true_numbers(train["y"]) if task == "regression" else train["y"].map({c: i for i, c in enumerate(classes)}).to_numpy(float)
    train, valid = train.drop(columns="y"), None
    valid = held_out(t, train, np.random.default_rng(1))
    target = Target(t.target, raw)
    y = target.learnt(raw)
    base = objective(task, t.metric, len(classes))
    x, xv = prepare(t.steps, t.others, [train[~valid], train[valid]], y[~valid], task)
    best = None
    for name, pv, again in candidates(t, task, x, y[~valid], xv, y[valid], base):
        if target.log and t.metric == "rmse":  # the mean of what is exponential: Duan's smearing, from the validation part
            target.smear = 1.0
            target.smear = raw[valid].sum() / target.back(pv).sum()
        got = score(t.metric, raw[valid], target.back(pv) if task == "regression" else pv)
        if best is None or got < best[0]:
            best = (got, name, again, target.smear)
    x, xt = prepare(t.steps, t.others, [train, test], y, task)
    target.smear = best[3]
    p = best[2](x, y, xt)
    return (target.back(p) if task == "regression" else p), best[1]


def main(folder, name):
    t = TABLES[name]
    p, how = fit_predict(t, read(folder, t, "train"), read(folder, t, "test"))
    np.save(f"{folder}/peer.npy", p)
    print(how)


if __name__ == "__main__":
    main(*sys.argv[1:])
