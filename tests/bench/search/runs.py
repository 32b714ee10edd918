"""One run of `assay fit` on a generated table, and what its model is worth on the test rows."""
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tables  # noqa: E402

B = os.environ.get("B", "build/gcc")
ASSAY = os.environ.get("ASSAY", os.path.join(os.getcwd(), B, "..", "assay"))


class Table:
    """A generated table in a folder of its own, with its test rows in memory."""

    def __init__(self, kind, seed):
        self.folder = tempfile.TemporaryDirectory(prefix="assay-bench-")
        self.kind, self.seed = kind, seed
        self.metric = tables.write(kind, seed, self.folder.name)
        with open(self.path("test.csv"), encoding="ascii") as f:
            rows = list(csv.reader(f))
        self.truth = [row[-1] for row in rows[1:]]

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def fit(self, seconds, families=None, seed=None, more=()):
        """The last JSON of the fit, the predictions of the test rows, the seconds it took."""
        start = time.time()
        out = subprocess.run(
            [ASSAY, "fit", "train.csv", "--target", "y", "--metric", self.metric, "--time",
             f"{seconds}s", "--seed", str(seed or self.seed), "--json", "-o", "m.assay"]
            + (["--families", families] if families else []) + list(more),
            cwd=self.folder.name, capture_output=True, text=True, check=True).stdout
        took = time.time() - start
        subprocess.run([ASSAY, "predict", "m.assay", "test.csv", "-o", "p.csv"],
                       cwd=self.folder.name, capture_output=True, check=True)
        with open(self.path("p.csv"), encoding="utf-8") as f:
            rows = list(csv.reader(f))
        return json.loads(out), (rows[0], rows[1:]), took


def terms(table, predictions):
    """Terms of the test rows whose mean is the score, the smaller the better; for auc and r2 the
    influence of each row besides."""
    head, rows = predictions
    truth = table.truth
    if table.metric in ("rmse", "r2"):
        square = [(float(r[0]) - float(t)) ** 2 for r, t in zip(rows, truth)]
        mean = sum(square) / len(square)
        if table.metric == "rmse":
            root = math.sqrt(mean)
            return [root + (s - mean) / (2 * root) for s in square]
        average = sum(map(float, truth)) / len(truth)
        spread = sum((float(t) - average) ** 2 for t in truth) / len(truth)
        return [s / spread for s in square]  # 1 - r2
    column = {name: i for i, name in enumerate(head)}
    share = [[float(r[i]) for name, i in column.items() if name.startswith("p_")] for r in rows]
    names = [name[2:] for name in head if name.startswith("p_")]
    if table.metric == "logloss":
        place = {name: i for i, name in enumerate(names)}
        return [-math.log(max(p[place[t]], 1e-15)) for p, t in zip(share, truth)]
    return auc_terms([p[names.index("yes")] for p in share], [t == "yes" for t in truth])


def auc_terms(score, truth):
    """1 - AUC by its placements (DeLong): their mean is 1 - AUC."""
    order = sorted(range(len(score)), key=lambda i: score[i])
    n_yes = sum(truth)
    n_no, n = len(truth) - n_yes, len(truth)
    below = {True: 0, False: 0}
    term = [0.0] * n
    at = 0
    while at < n:
        end = at
        while end < n and score[order[end]] == score[order[at]]:
            end += 1
        tied = {True: 0, False: 0}
        for i in order[at:end]:
            tied[truth[i]] += 1
        for i in order[at:end]:
            if truth[i]:
                term[i] = 1 - (below[False] + tied[False] / 2) / n_no
            else:
                term[i] = 1 - (n_yes - below[True] - tied[True] / 2) / n_yes
        for k in below:
            below[k] += tied[k]
        at = end
    value = sum(t for t, y in zip(term, truth) if y) / n_yes
    return [value + (t - value) * n / (2 * (n_yes if y else n_no)) for t, y in zip(term, truth)]


def mean_error(values):
    """Mean and its standard error."""
    n = len(values)
    mean = sum(values) / n
    if n < 2:
        return mean, math.nan
    return mean, math.sqrt(sum((v - mean) ** 2 for v in values) / (n - 1) / n)
