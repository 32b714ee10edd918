"""A whole `assay fit` beside the field's AutoML in the same time: AutoGluon (best_quality and medium_quality) and FLAML.

  field.py [TABLE...]     the shared tables with all their training rows, or those named; test rows by the datasets' split rule

TIME=60 seconds for every side, SEED=1. Each side makes one fit on one processor (CPU=0, the same for all) and predicts
the same test rows. Assay's seconds count reading the CSV; the peers' begin with a frame in memory, after their imports. The
columns that the manifest calls categorical are told to every side. z = difference of the test scores in paired standard
errors of the rows (quality.py), above 0 = Assay is better. `s` is the clock of the fit: the field overruns its limits.

A fit whose predictions are there is not made again (build/field/TABLE/SIDE-TIME-SEED.npy). SIDES="assay flaml" makes only
those; a side without predictions is left out of the table. WRAP="command" stands before every fit.
PEER_PYTHONS="autogluon=path flaml=path": interpreters that have the peers."""
import csv
import gzip
import json
import os
import shlex
import subprocess
import sys
import time

import numpy as np

import peers
from quality import error, parts

ASSAY = f"{peers.ROOT}/{os.environ.get('B', 'build/gcc')}/assay"
SECONDS, SEED, CPU = os.environ.get("TIME", "60"), os.environ.get("SEED", "1"), os.environ.get("CPU", "0")
PEERS = {"best": "autogluon", "medium": "autogluon", "flaml": "flaml"}
NAMES = {"best": "AutoGluon best_quality", "medium": "AutoGluon medium_quality", "flaml": "FLAML"}
SIDES = os.environ.get("SIDES", "assay " + " ".join(PEERS)).split()
PYTHONS = {p: f"{peers.ROOT}/build/peers-{p}/bin/python" for p in set(PEERS.values())}
PYTHONS.update(pair.split("=", 1) for pair in os.environ.get("PEER_PYTHONS", "").split())


def is_test(i):
    return i * 2654435761 % (1 << 32) < 1 << 30


def split(row, folder):
    """Writes train.csv and test.csv; the targets of both as texts."""
    path, targets = f"{peers.DATASETS}/{row['file']}", {}
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        header, *lines = f.read().splitlines()
    at = header.split(",").index(row["target"])
    for part in ("train", "test"):
        picked = [line for i, line in enumerate(lines) if is_test(i) == (part == "test")]
        targets[part] = [line.split(",")[at] for line in picked]
        with open(f"{folder}/{part}.csv", "w", encoding="utf-8") as f:
            f.writelines(line + "\n" for line in (header, *picked))
    return targets["train"], targets["test"]


def ours(row, folder, labels, out):
    model, told = f"{out}.assay", f"{out}.csv"
    columns = ["--columns", ",".join(f"{c}=categorical" for c in row["categorical"])] if row["categorical"] else []
    began = time.monotonic()
    subprocess.run(["taskset", "-c", CPU, *shlex.split(os.environ.get("WRAP", "")), ASSAY, "fit", f"{folder}/train.csv", "--target",
                    row["target"], "--metric", row["metric"], "--time", f"{SECONDS}s", "--seed", SEED, "-o", model, *columns],
                   check=True, stdin=subprocess.DEVNULL)
    took = time.monotonic() - began
    subprocess.run([ASSAY, "predict", model, f"{folder}/test.csv", "-o", told], check=True)
    with open(told, encoding="utf-8", newline="") as f:
        head, *rows = csv.reader(f)
    at = [head.index(f"p_{c}") for c in labels] or [0]
    return np.array([[float(r[i]) for i in at] for r in rows]), took


def peer(row, folder, side, out):
    job = {"side": side, "folder": folder, "target": row["target"], "task": row["task"], "metric": row["metric"], "seed": int(SEED),
           "categorical": row["categorical"], "seconds": float(SECONDS), "out": f"{out}.job.npy"}
    with open(f"{out}.json", "w", encoding="utf-8") as f:
        json.dump(job, f)
    command = ["taskset", "-c", CPU, *shlex.split(os.environ.get("WRAP", "")), PYTHONS[PEERS[side]], f"{peers.HERE}/fit_field.py", f"{out}.json"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    got = json.loads(done.stdout.strip().splitlines()[-1])
    return np.load(job["out"]), got["labels"], got["seconds"]


def fit(row, side, folder, labels):
    """(predictions with a column for each class in the order of `labels`, seconds), or None."""
    out = f"{folder}/{side}-{SECONDS}-{SEED}"
    if not os.path.exists(f"{out}.npz"):
        if side not in SIDES:
            return None
        if side == "assay":
            p, took = ours(row, folder, labels, out)
        else:
            p, order, took = peer(row, folder, side, out)
            p = p[:, [order.index(c) for c in labels]] if labels else p
        np.savez(f"{out}.tmp.npz", p=p, seconds=took)
        os.replace(f"{out}.tmp.npz", f"{out}.npz")
    with np.load(f"{out}.npz") as f:
        return f["p"], float(f["seconds"])


def one(row):
    """Prints a table's line for each peer; z by peer."""
    folder = f"{peers.ROOT}/build/field/{row['name']}"
    os.makedirs(folder, exist_ok=True)
    train, test = split(row, folder)
    labels = [] if row["task"] == "regression" else sorted(set(train))
    y = np.array([labels.index(v) if labels else float(v) for v in test], float)
    sides = {}
    for side in ("assay", *PEERS):
        try:
            got = fit(row, side, folder, labels)
        except (subprocess.CalledProcessError, ValueError) as problem:
            print(f"{row['name']}: {side} failed: {problem}", file=sys.stderr, flush=True)
            continue
        if got:
            p = got[0][:, 1] if len(labels) == 2 else got[0].ravel()
            sides[side] = parts(row["metric"], p, y), got[1]
    if "assay" not in sides:
        return {}
    mine, took = sides.pop("assay")
    print(f"{row['name']:<20} {row['metric']:<8} Assay {mine[0]:<9.5g} {took:6.1f} s", end="")
    z = {}
    for side, (its, seconds) in sides.items():
        gain = (mine[0] - its[0]) * (1 if mine[1] else -1)
        z[side] = gain / max(error([a - b for a, b in zip(mine[2], its[2])]), 1e-12)
        print(f" | {side} {its[0]:<9.5g} {seconds:6.1f} s z {z[side]:+6.2f}", end="")
    print(flush=True)
    return z


def main(names):
    if not os.path.isdir(peers.DATASETS):
        print(f"bench-field: no {peers.DATASETS} here: skipped", file=sys.stderr)
        return 0
    rows = [r for r in peers.manifest() if r["task"] != "image" and (not names or r["name"] in names)]
    found = [one(r) for r in rows]
    for side in PEERS:
        z = [f[side] for f in found if side in f]
        if z:
            print(f"{NAMES[side]}: at or above it less one standard error {sum(v >= -1 for v in z)} of {len(z)}, better by more than one "
                  f"{sum(v > 1 for v in z)}, median z {np.median(z):+.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
