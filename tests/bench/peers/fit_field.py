"""Fits one AutoML system of the field and writes its predictions of the test rows: fit_field.py JOB.json (written by field.py).

The last line of standard output is {"labels": the order of the classes, "seconds": the clock of the fit}. Imports and the reading
of files come before the clock."""
import json
import shutil
import sys
import tempfile
import time

import numpy as np
import pandas as pd


def autogluon(job, train, test):
    from autogluon.tabular import TabularPredictor
    metric = {"auc": "roc_auc", "logloss": "log_loss", "rmse": "root_mean_squared_error"}[job["metric"]]
    folder = tempfile.mkdtemp(prefix="autogluon-")
    try:
        began = time.monotonic()
        model = TabularPredictor(label=job["target"], problem_type=job["task"], eval_metric=metric, path=folder, verbosity=2)
        # Without ray, which would start more processes, its probe of stacking must run in this one.
        model.fit(train, time_limit=job["seconds"], presets=f"{job['side']}_quality", num_cpus=1, num_gpus=0, ds_args={"memory_safe_fits": False})
        took = time.monotonic() - began
        print(model.leaderboard().to_string(), file=sys.stderr)
        if job["task"] == "regression":
            return model.predict(test).to_numpy(float)[:, None], [], took
        p = model.predict_proba(test)
        return p.to_numpy(float), [str(c) for c in p.columns], took
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def flaml(job, train, test):
    from flaml import AutoML
    x, y = train.drop(columns=job["target"]), train[job["target"]]
    task = "regression" if job["task"] == "regression" else "classification"
    metric = {"auc": "roc_auc", "logloss": "log_loss", "rmse": "rmse"}[job["metric"]]
    began = time.monotonic()
    model = AutoML()
    model.fit(x, y, task=task, metric=metric, time_budget=job["seconds"], n_jobs=1, seed=job["seed"], verbose=1)
    took = time.monotonic() - began
    print(f"{model.best_estimator} {model.best_config}", file=sys.stderr)
    if job["task"] == "regression":
        return np.asarray(model.predict(test), float)[:, None], [], took
    return np.asarray(model.predict_proba(test), float), [str(c) for c in model.classes_], took


def read(job):
    """The frames of the training and the test rows. Categorical columns have one list of levels for both, and a class is its text."""
    kinds = dict.fromkeys(job["categorical"], str) | ({} if job["task"] == "regression" else {job["target"]: str})
    train, test = (pd.read_csv(f"{job['folder']}/{part}.csv", dtype=kinds) for part in ("train", "test"))
    for c in job["categorical"]:
        levels = pd.CategoricalDtype(sorted(set(train[c].dropna()) | set(test[c].dropna())))
        train[c], test[c] = train[c].astype(levels), test[c].astype(levels)
    return train, test.drop(columns=job["target"])


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        job = json.load(f)
    train, test = read(job)
    p, labels, took = (flaml if job["side"] == "flaml" else autogluon)(job, train, test)
    np.save(job["out"], p)
    print(json.dumps({"labels": labels, "seconds": took}))


if __name__ == "__main__":
    main()
