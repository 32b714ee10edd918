"""One fit of a peer, in a process of its own: fit.py DIR MODEL THREADS name=value ...  Prints one JSON line (seconds, peak
memory) and leaves the predictions of the test rows in DIR/peer.p. The forms of the files: ours.c."""
import json
import os
import sys
import time

import numpy as np

POINTS = 256
SEED = int(os.environ.get("SEED", "1"))


def load(folder, meta, part):
    x = np.fromfile(f"{folder}/{part}.x", np.float32).reshape(-1, meta["columns"])
    return x, np.fromfile(f"{folder}/{part}.y", np.float32)


def peak_mb():
    with open("/proc/self/status", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


def moment():
    return time.monotonic(), time.process_time()


def xgboost(meta, x, y, threads, p):
    """params: as XGBoost calls them, rounds, cats=codes|native, matrix=plain|quantile; device=cuda: the rows are copied to the GPU
    and binned there, within the time, but the GPU is started before."""
    import xgboost as xgb

    if p.get("device") == "cuda":
        import cupy
        (cupy.zeros(1) + 1).get()
        to_device = cupy.asarray
    else:
        to_device = np.asarray

    rounds = int(p.pop("rounds"))
    types = None
    if p.pop("cats", "codes") == "native":
        types = ["c" if c in meta["categorical"] else "q" for c in range(meta["columns"])]
    objective = {"binary": "binary:logistic", "multiclass": "multi:softprob", "regression": "reg:squarederror"}
    params = {"tree_method": "hist", "max_bin": POINTS, "nthread": threads, "objective": objective[meta["task"]], "seed": SEED}
    if meta["task"] == "multiclass":
        params["num_class"] = meta["classes"]
    kind = xgb.QuantileDMatrix if p.pop("matrix", "quantile") == "quantile" else xgb.DMatrix
    more = {"max_bin": POINTS} if kind is xgb.QuantileDMatrix else {}
    params.update(p)
    a = moment()
    data = kind(to_device(x), y, feature_types=types, enable_categorical=types is not None, nthread=threads, **more)
    b = moment()
    model = xgb.train(params, data, rounds)
    c = moment()

    def predict(rows, **what):
        data = xgb.DMatrix(rows, feature_types=types, enable_categorical=types is not None, nthread=threads)
        return model.predict(data, **what)

    return a, b, c, predict


def lightgbm(meta, x, y, threads, p):
    """params: as LightGBM calls them, rounds. Its two ways to sum histograms are timed by itself at the start of the training."""
    import lightgbm as lgb

    rounds = int(p.pop("rounds"))
    params = {"objective": meta["task"], "num_threads": threads, "max_bin": POINTS - 1, "seed": SEED, "verbosity": -1}
    if meta["task"] == "multiclass":
        params["num_class"] = meta["classes"]
    params.update(p)
    a = moment()
    data = lgb.Dataset(x, y, params=params).construct()
    b = moment()
    model = lgb.train(params, data, rounds)
    c = moment()
    return a, b, c, lambda rows: model.predict(rows, num_threads=threads)


def sklearn(meta, x, y, threads, p):
    """model=Class of sklearn.ensemble; the rest are its arguments."""
    import sklearn.ensemble

    def value(text):
        for kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                pass
        return {"True": True, "False": False, "None": None}.get(text, text)

    kind = getattr(sklearn.ensemble, p.pop("model"))
    args = {k: value(v) for k, v in p.items()}
    if "n_jobs" in kind().get_params():
        args["n_jobs"] = threads
    model = kind(random_state=SEED, **args)
    a = moment()
    model.fit(x, y)
    c = moment()

    def predict(rows):
        if meta["task"] == "regression":
            return model.predict(rows)
        out = model.predict_proba(rows)
        return out[:, 1] if meta["task"] == "binary" else out

    return a, a, c, predict


def main():
    folder, name, threads = sys.argv[1], sys.argv[2], int(sys.argv[3])
    with open(f"{folder}/meta.json", encoding="ascii") as f:
        meta = json.load(f)
    x, y = load(folder, meta, "train")
    a, b, c, predict = {"xgboost": xgboost, "lightgbm": lightgbm, "sklearn": sklearn}[name](
        meta, x, y, threads, dict(p.split("=", 1) for p in sys.argv[4:]))
    peak = peak_mb()
    rows, _ = load(folder, meta, "test")
    d = moment()
    out = predict(rows)
    e = moment()
    np.asarray(out, np.float32).tofile(f"{folder}/peer.p")
    explain = 0
    if name == "xgboost" and "EXPLAIN" in os.environ:
        f = moment()
        predict(rows[:int(os.environ["EXPLAIN"])], pred_contribs=True)
        explain = moment()[1] - f[1]
    print(json.dumps({"prepare_wall": b[0] - a[0], "prepare_cpu": b[1] - a[1], "train_wall": c[0] - b[0],
                      "train_cpu": c[1] - b[1], "predict_cpu": e[1] - d[1], "explain_cpu": explain, "rss_mb": peak}))


if __name__ == "__main__":
    main()
