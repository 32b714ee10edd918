"""Whole pipelines on tables as they are: `assay fit` and `assay predict` beside a careful pipeline of scikit-learn and XGBoost.

  run.py [TABLE...]     all tables, or those named; `list` names them

ROWS=2000 caps the training rows, TIME=20s is what `assay fit` gets, SEED=1 draws other tables, PEER=0 leaves the peer out, KEEP=1 keeps
our model from the last time where the program and the table are the same. One line a table: the metric as an error (auc: 1 - AUC), ours,
the peer's, the standard error of their difference over the test rows, and z, above 0 = ours is better. `valid` is what our leaderboard
says of the model shipped."""
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import time
import zlib

import numpy as np

from measure import paired, score, task_of, true_numbers
from tables import TABLES

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
ASSAY = os.environ.get("ASSAY", f"{ROOT}/build/assay")
ROWS, SEED = int(os.environ.get("ROWS") or "0"), int(os.environ.get("SEED", "1"))
LIMIT = os.environ.get("TIME", "20s")
FAILED = ("error", np.nan)
STRETCHES = 20


def cell(v):
    return "" if v is None else str(v)


def typed(v):
    """A cell of JSON lines: a number or a boolean where it reads as one."""
    if v in ("true", "false", None):
        return {"true": True, "false": False}.get(v)
    try:
        return float(v)
    except ValueError:
        return v


def write(path, names, rows, is_lines):
    with open(path, "w", encoding="utf-8", newline="") as f:
        if is_lines:
            f.writelines(json.dumps({k: typed(v) for k, v in zip(names, r)}) + "\n" for r in rows)
        else:
            csv.writer(f, lineterminator="\n").writerows([names, *([cell(v) for v in r] for r in rows)])


def make(t):
    """Draws the table and writes train and test; the target of the test rows stands in a file of its own."""
    rows = min(t.rows, ROWS) if ROWS else t.rows
    folder = f"{ROOT}/build/pipelines/{t.name}-{rows}-{SEED}"
    n = rows + t.test_rows
    rng = np.random.default_rng([SEED, zlib.crc32(t.name.encode())])
    made = t.make(rng, n)
    y = [f"{v:.7g}" if isinstance(v, float) else str(v) for v in (made.y.tolist() if isinstance(made.y, np.ndarray) else made.y)]
    table = list(zip(*[list(c) for c in made.columns.values()], y))
    order = np.arange(n) if t.valid.startswith("time") else np.r_[rng.permutation(rows), np.arange(rows, n)]
    os.makedirs(folder, exist_ok=True)
    names = [*made.columns, "y"]
    write(f"{folder}/train.{t.file}", names, [table[i] for i in order[:rows]], t.file == "jsonl")
    write(f"{folder}/test.{t.file}", names[:-1], [table[i][:-1] for i in order[rows:]], t.file == "jsonl")
    train_y, test_y = [y[i] for i in order[:rows]], [y[i] for i in order[rows:]]
    return folder, train_y, test_y


def units_of(t, folder):
    """What the test rows belong to where they err together: groups, or STRETCHES of time; else None."""
    if t.valid == "rows":
        return None
    with open(f"{folder}/test.{t.file}", encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f))
    if t.valid.startswith("time"):
        return np.arange(len(rows)) * STRETCHES // len(rows)
    return [r[t.valid.split(":")[1]] for r in rows]


def digest(*paths):
    h = hashlib.sha256()
    for p in paths:
        with open(p, "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:16]


def kept(folder, name, key, made):
    """What `made` printed, from the last time when the key is the same."""
    note = f"{folder}/{name}.json"
    if os.path.exists(note):
        with open(note, encoding="utf-8") as f:
            was = json.load(f)
        if was["key"] == key:
            return was["said"]
    said = made()
    with open(note, "w", encoding="utf-8") as f:
        json.dump({"key": key, "said": said}, f)
    return said


def peer(t, folder):
    data = [f"{folder}/{part}.{t.file}" for part in ("train", "test")]
    key = digest(*data, *(f"{HERE}/{p}.py" for p in ("steps", "peer"))) + repr((t.steps, t.target, t.linear, t.valid, t.others))

    def run():
        return subprocess.run([sys.executable, f"{HERE}/peer.py", folder, t.name], check=True, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}).stdout.strip()

    how = kept(folder, "peer", key, run)
    return np.load(f"{folder}/peer.npy"), how


def known_options(t):
    """Our options of the table that this program has."""
    text = subprocess.run([ASSAY, "fit", "--help"], stdout=subprocess.PIPE, text=True).stdout
    return [o for i in range(0, len(t.options), 2) if f"{t.options[i]} " in text for o in t.options[i:i + 2]]


def fit(t, folder):
    model, said = f"{folder}/ours.assay", f"{folder}/ours.log"
    args = [ASSAY, "fit", f"{folder}/train.{t.file}", "--target", "y", "--metric", t.metric, "--time", LIMIT, "-o", model, *known_options(t)]
    began = time.monotonic()
    with open(said, "w", encoding="utf-8") as log:
        rc = subprocess.run(args, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL).returncode
    return rc, time.monotonic() - began


def read_ours(path, task, labels):
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f))
    if task == "regression":
        return np.array([float(r[0]) for r in rows[1:]])
    at = [rows[0].index(f"p_{c}") for c in labels]
    p = np.array([[float(r[i]) for i in at] for r in rows[1:]])
    return p[:, 1] if task == "binary" else p


def last_line(path):
    with open(path, encoding="utf-8", errors="replace") as f:
        lines = [s.strip() for s in re.split(r"[\r\n]+", f.read()) if s.strip()]
    return lines[-1][:150] if lines else "no output"


def ours(t, folder, task, labels):
    """Our predictions and what our leaderboard says, or (None, the error)."""
    if os.environ.get("KEEP") and os.path.exists(f"{folder}/ours.key"):
        with open(f"{folder}/ours.key", encoding="ascii") as f:
            is_kept = f.read() == digest(ASSAY, f"{folder}/train.{t.file}") + LIMIT
    else:
        is_kept = False
    if not is_kept:
        rc, _ = fit(t, folder)
        if rc != 0:
            return None, f"fit: {last_line(f'{folder}/ours.log')}"
        with open(f"{folder}/ours.key", "w", encoding="ascii") as f:
            f.write(digest(ASSAY, f"{folder}/train.{t.file}") + LIMIT)
    with open(f"{folder}/predict.log", "w", encoding="utf-8") as log:
        rc = subprocess.run([ASSAY, "predict", f"{folder}/ours.assay", f"{folder}/test.{t.file}", "-o", f"{folder}/ours.csv"], stderr=log).returncode
    if rc != 0:
        return None, f"predict: {last_line(f'{folder}/predict.log')}"
    text = subprocess.run([ASSAY, "predict", f"{folder}/ours.assay", "--json"], stdout=subprocess.PIPE, text=True).stdout
    info = json.loads(text)
    valid = info["score"] if info["score"] is not None else np.nan
    return read_ours(f"{folder}/ours.csv", task, labels), (info["family"], 1 - valid if t.metric == "auc" else valid)


def one(t):
    folder, train_y, test_y = make(t)
    task = task_of(t, train_y)
    labels = sorted(set(train_y)) if task != "regression" else []
    if task == "binary":  # as our metric counts: the rarer class is the positive one
        labels.sort(key=train_y.count, reverse=True)
    truth = true_numbers(test_y) if task == "regression" else np.array([labels.index(v) for v in test_y], float)
    line = f"{t.name:<16} {t.metric:<8}"
    theirs, how = peer(t, folder) if os.environ.get("PEER", "1") != "0" else (None, "")
    if theirs is not None and task == "binary" and labels != sorted(labels):
        theirs = 1 - theirs
    try:
        got, said = ours(t, folder, task, labels)
    except (ValueError, OSError, json.JSONDecodeError) as e:
        got, said = None, f"predictions: {e}"
    if got is None:
        b = score(t.metric, truth, theirs) if theirs is not None else np.nan
        print(f"{line} {'-':>9} {b:9.4g} {'':>8} {'':>7}  {said}", flush=True)
        return False
    if theirs is None:
        print(f"{line} {score(t.metric, truth, got):9.4g} {'':>9} {'':>8} {'':>7}  {said[0]}, valid {said[1]:.4g}", flush=True)
        return True
    a, b, se, z = paired(t.metric, truth, got, theirs, units_of(t, folder))
    print(f"{line} {a:9.4g} {b:9.4g} {se:8.2g} {z:7.1f}  {said[0]}, valid {said[1]:.4g}; {how}", flush=True)
    return z >= -1


def main(names):
    if names == ["list"]:
        print("\n".join(f"{t.name:<16} {t.metric:<8} {t.rows:6d}  {t.about.splitlines()[0]}" for t in TABLES.values()))
        return 0
    unknown = [n for n in names if n not in TABLES]
    if unknown:
        print(f"no table is called {', '.join(unknown)}", file=sys.stderr)
        return 2
    print(f"{'table':<16} {'error':<8} {'ours':>9} {'peer':>9} {'se':>8} {'z':>7}")
    held = [one(TABLES[n]) for n in names or TABLES]
    print(f"{sum(held)} of {len(held)} tables at or ahead of the peer within one standard error")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
