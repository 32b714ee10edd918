"""One fit of a peer's network, in a process of its own: fit_net.py DIR MODEL METRIC OUT  Prints one JSON line (processor seconds of the
fit, children included; versions) and writes the predictions of the test rows to OUT. The forms of the files: make_data.c.

MODEL: realmlp, tabm (pytabkit's tuned defaults, one fit with a fifth of the rows to choose the epoch by) or sklearn (MLPClassifier,
MLPRegressor on standardised and one-hot columns, as packaged). METRIC chooses the epoch; where it judges probabilities, RealMLP's
authors say to leave label smoothing out."""
import json
import os
import resource
import sys
import warnings

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = os.environ["MKL_NUM_THREADS"] = "1"
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

SEED = int(os.environ.get("SEED", "1"))


def cpu():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def load(folder, meta, part, medians=None):
    """Levels as text, missing ones as a level of their own; missing numbers as the median of the training rows."""
    x = np.fromfile(f"{folder}/{part}.x", np.float32).reshape(-1, meta["columns"])
    medians = np.nanmedian(x, 0) if medians is None else medians
    columns = {}
    for c in range(meta["columns"]):
        if c in meta["categorical"]:
            columns[f"c{c}"] = pd.Series(["missing" if np.isnan(v) else str(int(v)) for v in x[:, c]], dtype="category")
        else:
            columns[f"n{c}"] = np.where(np.isnan(x[:, c]), medians[c], x[:, c]).astype(np.float32)
    return pd.DataFrame(columns), np.fromfile(f"{folder}/{part}.y", np.float32), medians


def pytabkit(name, task, metric):
    import torch
    from pytabkit.models import sklearn as tab

    torch.set_num_threads(1)
    kind = {"realmlp": "RealMLP_TD", "tabm": "TabM_D"}[name] + ("_Regressor" if task == "regression" else "_Classifier")
    args = {"random_state": SEED, "n_cv": 1, "val_fraction": .2, "n_threads": 1, "device": "cpu", "verbosity": 0}
    if task != "regression":
        args["val_metric_name"] = "1-auc_ovr" if metric == "auc" else "cross_entropy"
        if name == "realmlp":
            args["use_ls"] = False
    return getattr(tab.sklearn_interfaces, kind)(**args)


def sklearn(task, x):
    from sklearn.compose import make_column_transformer
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    from sklearn.compose import TransformedTargetRegressor

    numbers, levels = [c for c in x if c[0] == "n"], [c for c in x if c[0] == "c"]
    columns = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), levels))
    if task != "regression":
        return make_pipeline(columns, MLPClassifier(random_state=SEED))
    return make_pipeline(columns, TransformedTargetRegressor(MLPRegressor(random_state=SEED), transformer=StandardScaler()))


def main():
    folder, name, metric, out = sys.argv[1:5]
    with open(f"{folder}/meta.json", encoding="ascii") as f:
        meta = json.load(f)
    x, y, medians = load(folder, meta, "train")
    rows, _, _ = load(folder, meta, "test", medians)
    model = sklearn(meta["task"], x) if name == "sklearn" else pytabkit(name, meta["task"], metric)
    model_y = y if meta["task"] == "regression" else y.astype(int)
    warm = cpu()
    model.fit(x, model_y)
    took = cpu() - warm
    if meta["task"] == "regression":
        p = np.asarray(model.predict(rows))
    else:
        p = np.asarray(model.predict_proba(rows))
        p = p[:, 1] if meta["task"] == "binary" else p
    np.asarray(p, np.float32).reshape(len(rows), -1).tofile(out)
    print(json.dumps({"cpu": took}))


if __name__ == "__main__":
    main()
