"""Two builds of the program on the shared tables of ../shared/datasets: a whole `assay fit` of each, from its command line, with
the same training rows, seed and time, and the difference of their errors on the held-out rows in paired standard errors.

  BEFORE=path/of/assay change.py [TABLE...]     all 14 tables, or those named

TIME=20s is what `fit` gets, SEED=1, DATASETS=folder, ASSAY=the later build. WRAP="command" stands before every fit. A fit whose
predictions are there is not made again (build/change/); a line of the table is printed when both sides are there. The error is
1 - AUC, log loss or RMSE; z above 0 = the later build is better. `s` is what the last line of the fit's log says after "cpu",
where WRAP prints that."""
import csv
import gzip
import os
import re
import shlex
import subprocess
import sys

import numpy as np

from measure import paired
from run import ROOT, last_line, read_ours

DATA = os.environ.get("DATASETS", f"{ROOT}/../shared/datasets")
LIMIT, SEED = os.environ.get("TIME", "20s"), os.environ.get("SEED", "1")
SIDES = {"before": os.environ.get("BEFORE", ""), "after": os.environ.get("ASSAY", f"{ROOT}/build/assay")}
TABLES = {  # file, target, metric
    "iris": ("iris.csv", "class", "logloss"),
    "wine": ("wine.csv", "class", "logloss"),
    "breast_cancer_wdbc": ("breast_cancer_wdbc.csv", "diagnosis", "auc"),
    "concrete": ("concrete.csv", "strength", "rmse"),
    "abalone": ("abalone.csv", "rings", "rmse"),
    "sylvine": ("sylvine.csv", "class", "auc"),
    "satimage": ("satimage.csv", "class", "logloss"),
    "mammography": ("mammography.csv", "class", "auc"),
    "letter": ("letter.csv", "class", "logloss"),
    "california_housing": ("california_housing.csv.gz", "median_house_value", "rmse"),
    "bank_marketing": ("bank_marketing.csv.gz", "y", "auc"),
    "adult": ("adult.csv.gz", "income", "auc"),
    "diamonds": ("diamonds.csv.gz", "price", "rmse"),
    "covertype_150k": ("covertype_150k.csv.gz", "Cover_Type", "logloss"),
}


def split(name, folder):
    """Writes train.csv and test.csv by the datasets' rule; returns the targets of the test rows and of the training rows."""
    file, target, _ = TABLES[name]
    read = gzip.open if file.endswith(".gz") else open
    with read(f"{DATA}/{file}", "rt", encoding="utf-8") as f:
        header, *lines = f.read().splitlines()
    at, parts = header.split(",").index(target), {"train": [], "test": []}
    for i, line in enumerate(lines):
        parts["test" if i * 2654435761 % (1 << 32) < 1 << 30 else "train"].append(line)
    for part, rows in parts.items():
        with open(f"{folder}/{part}.csv", "w", encoding="utf-8") as f:
            f.writelines(s + "\n" for s in (header, *rows))
    return ([s.split(",")[at] for s in parts[p]] for p in ("test", "train"))


def fit(name, side, folder):
    """True when the side's predictions are there."""
    _, target, metric = TABLES[name]
    stem = f"{folder}/{side}-{LIMIT}-{SEED}"
    if os.path.exists(f"{stem}.csv"):
        return True
    args = [*shlex.split(os.environ.get("WRAP", "")), SIDES[side], "fit", f"{folder}/train.csv", "--target", target,
            "--metric", metric, "--time", LIMIT, "--seed", SEED, "-o", f"{stem}.assay"]
    with open(f"{stem}.log", "w", encoding="utf-8") as log:
        if subprocess.run(args, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode:
            return False
        return subprocess.run([SIDES[side], "predict", f"{stem}.assay", f"{folder}/test.csv", "-o", f"{stem}.csv"]).returncode == 0


def told(stem):
    """The family that ships, how many models the leaderboard has, and the processor seconds."""
    with open(f"{stem}.log", encoding="utf-8", errors="replace") as f:
        text = f.read()
    first = re.search(r"^ +1 +\S+ +(\S+)", text, re.M)
    seconds = re.search(r"cpu ([0-9.]+)\s*$", text)
    return f"{first.group(1) if first else '?'} {float(seconds.group(1)) if seconds else float('nan'):.0f} s"


def one(name):
    folder, metric = f"{ROOT}/build/change/{name}", TABLES[name][2]
    os.makedirs(folder, exist_ok=True)
    test_y, train_y = (list(v) for v in split(name, folder))
    failed = [s for s in SIDES if not fit(name, s, folder)]
    if failed:
        print(f"{name:<20} {metric:<8} {' and '.join(failed)} failed: {last_line(f'{folder}/{failed[0]}-{LIMIT}-{SEED}.log')}", flush=True)
        return None
    labels = sorted(set(train_y), key=lambda v: (-train_y.count(v), v)) if metric != "rmse" else []
    task = "regression" if metric == "rmse" else "binary" if len(labels) == 2 else "multiclass"
    truth = np.array([float(v) if task == "regression" else labels.index(v) for v in test_y], float)
    stems = {s: f"{folder}/{s}-{LIMIT}-{SEED}" for s in SIDES}
    p = {s: read_ours(f"{stems[s]}.csv", task, labels) for s in SIDES}
    a, b, se, z = paired(metric, truth, p["after"], p["before"])
    print(f"{name:<20} {metric:<8} {b:9.4g} {a:9.4g} {se:8.2g} {z:7.2f}  {told(stems['before'])}; {told(stems['after'])}", flush=True)
    return z, (b - a) / b


def main(names):
    if not os.access(SIDES["before"], os.X_OK) or not os.path.isdir(DATA):
        print(f"no earlier build (BEFORE=) or no {DATA} here: skipped", file=sys.stderr)
        return 77
    print(f"{'table':<20} {'error':<8} {'before':>9} {'after':>9} {'se':>8} {'z':>7}")
    made = [m for m in map(one, names or TABLES) if m]
    if made:
        z, gain = np.array(made).T
        print(f"{(z >= -1).sum()} of {len(z)} no worse than one standard error; mean z {z.mean():+.2f}, mean change of the error {-100 * gain.mean():+.1f}%")
    return 0 if len(made) == len(names or TABLES) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
