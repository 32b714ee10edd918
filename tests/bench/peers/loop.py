"""The loop that search.py compares us with: loop.py DIR THREADS. Reads DIR/configs.json (as our spec's `enqueue`), trains each
configuration on every fold of DIR/train.fold with scikit-learn or XGBoost, fits the best once more on all rows and leaves its
predictions of the test rows in DIR/loop.npy. Prints one JSON line; the clock runs from matrices in memory to that model."""
import json
import math
import sys
import time
import warnings

import numpy as np
import xgboost as xgb
from joblib import Parallel, delayed
from sklearn import ensemble, linear_model
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

FOLDS = 5


class Table:
    def __init__(self, folder):
        with open(f"{folder}/meta.json", encoding="ascii") as f:
            self.meta = json.load(f)
        self.x, self.y = self.load(folder, "train")
        self.test, _ = self.load(folder, "test")
        self.fold = np.fromfile(f"{folder}/train.fold", np.uint8)
        self.task, self.metric = self.meta["task"], self.meta["metric"]
        self.matrices = {}

    def load(self, folder, part):
        y = np.fromfile(f"{folder}/{part}.y", np.float32)
        return np.fromfile(f"{folder}/{part}.x", np.float32).reshape(len(y), -1), y

    def prepare(self):
        """Once, as a careful user does: trees get medians for missing numbers, linear models columns of zeros and ones, too."""
        cats = self.meta["categorical"]
        numbers = [c for c in range(self.x.shape[1]) if c not in cats]
        self.plain = SimpleImputer(strategy="median").fit(self.x)
        self.wide = make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numbers),
            (make_pipeline(SimpleImputer(strategy="constant", fill_value=-1), OneHotEncoder(handle_unknown="ignore")), cats),
            sparse_threshold=0).fit(self.x)
        self.form = {"forest": self.plain.transform(self.x).astype(np.float32), "linear": self.wide.transform(self.x)}
        self.form["extra_trees"] = self.form["forest"]

    def score(self, y, p):
        if self.metric == "auc":
            return roc_auc_score(y, p)
        if self.metric == "rmse":
            return float(np.sqrt(np.mean((y - p) ** 2)))
        return log_loss(y, p, labels=np.arange(self.meta["classes"]))

    def matrix(self, fold, threads):
        """XGBoost's binned rows of a fold, and those held out: made once for all configurations."""
        if fold not in self.matrices:
            out = self.fold != fold
            train = xgb.QuantileDMatrix(self.x[out], self.y[out], max_bin=256, nthread=threads)
            held = xgb.QuantileDMatrix(self.x[~out], self.y[~out], max_bin=256, nthread=threads, ref=train)
            self.matrices[fold] = train, held
        return self.matrices[fold]


def boost_params(t, c, threads):
    how = {"binary": "binary:logistic", "multiclass": "multi:softprob", "regression": "reg:squarederror"}[t.task]
    more = {"num_class": t.meta["classes"]} if t.task == "multiclass" else {}
    return {"tree_method": "hist", "max_bin": 256, "nthread": threads, "objective": how, "seed": 1, "grow_policy": "lossguide",
            "eval_metric": {"auc": "auc", "rmse": "rmse", "logloss": "mlogloss" if more else "logloss"}[t.metric],
            "eta": c["learning_rate"], "max_leaves": c["leaves"], "max_depth": c["depth"], "min_child_weight": c["min_hessian"],
            "subsample": c["row_sample"], "colsample_bytree": c["col_sample"], "lambda": c["l2"], **more}


def boost(t, c, threads):
    """Mean score of the folds, each at its best round, and the mean of these rounds."""
    patience = int(min(max(math.floor(3 / c["learning_rate"] + .5), 20), 300))
    scores, rounds = [], []
    for fold in range(FOLDS):
        train, held = t.matrix(fold, threads)
        m = xgb.train(boost_params(t, c, threads), train, c["rounds"], evals=[(held, "held")], early_stopping_rounds=patience,
                      verbose_eval=False)
        scores.append(m.best_score)
        rounds.append(m.best_iteration + 1)
    return scores, int(np.mean(rounds))


def estimator(t, c, threads):
    if c["family"] == "linear":
        return linear_model.Ridge(alpha=1 / c["C"]) if t.task == "regression" else \
            linear_model.LogisticRegression(C=c["C"], max_iter=200)
    name = {"forest": "RandomForest", "extra_trees": "ExtraTrees"}[c["family"]]
    kind = getattr(ensemble, name + ("Regressor" if t.task == "regression" else "Classifier"))
    share = c["max_features"]
    more = {} if t.task == "regression" else {"criterion": c["criterion"]}
    return kind(c["trees"], max_depth=c["depth"], min_samples_split=c["min_split"], min_samples_leaf=c["min_leaf"],
                max_features=share if share == "sqrt" else float(share), random_state=1, n_jobs=threads, **more)


def predict(t, model, x):
    if t.task == "regression":
        return model.predict(x)
    p = model.predict_proba(x)
    return p[:, 1] if t.task == "binary" else p


def fold_score(t, c, fold, threads):
    x, out = t.form[c["family"]], t.fold != fold
    model = estimator(t, c, threads).fit(x[out], t.y[out])
    return t.score(t.y[~out], predict(t, model, x[~out]))


def others(t, c, threads):
    """Linear models train on one thread: two of them go side by side."""
    if c["family"] == "linear" and threads > 1:
        return Parallel(threads, prefer="threads")(delayed(fold_score)(t, c, f, 1) for f in range(FOLDS))
    return [fold_score(t, c, f, threads) for f in range(FOLDS)]


def best_fit(t, c, rounds, threads):
    if c["family"] == "boost":
        data = xgb.QuantileDMatrix(t.x, t.y, max_bin=256, nthread=threads)
        return xgb.train(boost_params(t, c, threads), data, rounds).predict(xgb.DMatrix(t.test))
    model = estimator(t, c, threads).fit(t.form[c["family"]], t.y)
    return predict(t, model, (t.wide if c["family"] == "linear" else t.plain).transform(t.test).astype(np.float32))


def main():
    warnings.filterwarnings("ignore")  # of linear models that stop at 200 iterations
    folder, threads = sys.argv[1], int(sys.argv[2])
    with open(f"{folder}/configs.json", encoding="ascii") as f:
        configs = json.load(f)
    t = Table(folder)
    by_family, best, found = {}, None, 0
    wall, cpu = time.monotonic(), time.process_time()
    t.prepare()
    for c in configs:
        began = time.process_time()
        scores, rounds = boost(t, c, threads) if c["family"] == "boost" else (others(t, c, threads), 0)
        score = float(np.mean(scores))
        by_family[c["family"]] = by_family.get(c["family"], 0) + time.process_time() - began
        if best is None or (score > best[0]) == (t.metric == "auc"):
            best, found = (score, c, rounds), time.monotonic() - wall
    searched = time.monotonic()
    predictions = best_fit(t, best[1], best[2], threads)
    done = {"found": found + time.monotonic() - searched, "wall": time.monotonic() - wall, "cpu": time.process_time() - cpu}
    np.save(f"{folder}/loop.npy", predictions)
    print(json.dumps({**done, "score": best[0], "family": best[1]["family"], "by_family": by_family}))


if __name__ == "__main__":
    main()
