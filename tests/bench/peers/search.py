"""A whole search of ours beside the loop that users of scikit-learn and XGBoost write: the same configurations on the same folds.

  search.py list|grid [--only TABLES] [--n 24] [--threads 1,2] [--pairs 1] [--rows 30000]

ours: `assay run` with the configurations in `enqueue`, no sampler, no scheduler: controller, runner, database, everything from
the command to its end, reading the CSV included. The peer: loop.py, its clock from a matrix in memory to the last model; the
program's start, imports and the reading of files are not counted. What is done once there: the preparation, XGBoost's binned
matrices of every fold. Both keep the best and make a model of it (ours the bag of the folds, the loop one of all rows).
  list   every configuration has one value of every parameter, drawn from our default ranges
  grid   parameters that one fit of ours answers for are grids: 5 depths x 4 split sizes of forests, 17 penalties of linear models
Rounds of boosting are found on the held-out rows by both, with the same patience; forests have 100 trees.
Same: rows, folds, seeds' number, parameters, metric. Not the same: XGBoost stops fold by fold and evaluates each round, ours
stops all folds together by their mean and evaluates every 0.5 / rate rounds; categories are codes for the peer's trees;
a linear trial of ours always walks the whole path up to its C; ours also fits a baseline.
Memory: the largest sum of resident sets of all processes, every 50 ms (pages shared are counted in each)."""
import argparse
import gzip
import json
import math
import os
import random
import shutil
import subprocess
import sys
import threading
import time

import numpy as np

import peers
import quality

ASSAY = f"{peers.ROOT}/{os.environ.get('B', 'build/gcc')}/assay"
SEED = 1
DEPTHS, SPLITS = (6, 10, 14, 20, 0), (60, 20, 6, 2)
PATH = [10 ** (e / 2) for e in range(-8, 9)]
TABLES = ("adult", "letter", "covertype_150k", "concrete", "california_housing", "satimage", "breast_cancer_wdbc")


def log_draw(r, lo, hi):
    return float(f"{math.exp(r.uniform(math.log(lo), math.log(hi))):.4g}")


def boost_draw(r):
    return {"family": "boost", "learning_rate": log_draw(r, .03, .3), "leaves": round(log_draw(r, 4, 256)),
            "min_hessian": log_draw(r, .1, 20), "row_sample": round(r.uniform(.6, 1), 3), "col_sample": round(r.uniform(.3, 1), 3),
            "l2": log_draw(r, .01, 10), "rounds": 1000, "depth": 16, "min_leaf": 1, "l1": 0}


def forest_draw(r, family):
    c = {"family": family, "trees": 100, "depth": r.choice(DEPTHS) or 100, "min_split": r.choice(SPLITS),
         "max_features": r.choice(("sqrt", "0.33", "0.5", "0.75")), "min_leaf": round(log_draw(r, 1, 20)),
         "criterion": r.choice(("gini", "entropy"))}
    return {**c, "bootstrap": "yes"} if family == "forest" else c


def draw(n, seed=SEED):
    """Half boosting, a sixth each of forests, extra trees and linear models."""
    r = random.Random(seed)
    kinds = (["boost"] * 3 + ["forest", "extra_trees", "linear"]) * n
    made = {"boost": boost_draw, "linear": lambda r: {"family": "linear", "C": log_draw(r, 1e-4, 1e4)}}
    return [made.get(k, lambda r, k=k: forest_draw(r, k))(r) for k in kinds[:n]]


def free(c):
    """The same with the axes left out that a fit answers for: validation chooses along them."""
    return {k: v for k, v in c.items() if k not in ("depth", "min_split", "C") or c["family"] == "boost"}


def along(c):
    """What a loop has to try for that."""
    if c["family"] == "linear":
        return [{**c, "C": at} for at in PATH]
    if c["family"] == "boost":
        return [c]
    return [{**c, "depth": d or 100, "min_split": s} for d in DEPTHS for s in SPLITS]


# ---- measuring ----

def tree_of(pid):
    """The process and all it started."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as f:
                parents.setdefault(int(f.read().rsplit(")", 1)[1].split()[1]), []).append(int(name))
        except OSError:
            pass
    found = [pid]
    for p in found:
        found += parents.get(p, [])
    return found


def resident_mb(pid):
    total = 0
    for p in tree_of(pid):
        try:
            with open(f"/proc/{p}/statm", encoding="ascii") as f:
                total += int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            pass
    return total / 2 ** 20


def measured(command, cpus, cwd, out):
    """Runs it; wall and processor seconds of it and of all it waited for, peak of resident memory."""
    with open(out, "wb") as to:
        began = time.monotonic()
        child = subprocess.Popen(["taskset", "-c", cpus, *command], cwd=cwd, stdout=to)
        got = {"mb": 0.0}
        over = threading.Event()

        def watch():
            while not over.wait(.05):
                got["mb"] = max(got["mb"], resident_mb(child.pid))

        watcher = threading.Thread(target=watch)
        watcher.start()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status
        got["wall"] = time.monotonic() - began
        over.set()
        watcher.join()
    if status:
        sys.exit(f"{command[0]}: status {status}, see {out}")
    return {**got, "cpu": used.ru_utime + used.ru_stime}


# ---- tables ----

def csv_rows(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt", encoding="utf-8") as f:
        return f.readlines()


def matrix(row, lines, levels):
    """Rows as float32, levels as codes, missing values NaN; the target as texts. No field of these files is quoted."""
    head = lines[0].rstrip("\n").split(",")
    at = head.index(row["target"])
    cells = [line.rstrip("\n").split(",") for line in lines[1:]]
    x = np.empty((len(cells), len(head) - 1), np.float32)
    for j, c in enumerate(k for k in range(len(head)) if k != at):
        of = levels.setdefault(c, {}) if head[c] in row["categorical"] else None
        for i, r in enumerate(cells):
            x[i, j] = np.nan if r[c] == "" else float(r[c]) if of is None else of.setdefault(r[c], len(of))
    return x, [r[at] for r in cells]


def table_make(row, most):
    """train.csv and test.csv by the datasets' split rule (of larger tables every so manieth row first), and the peer's arrays."""
    folder = f"{peers.SCRATCH}/search-{row['name']}-{most}"
    if os.path.exists(f"{folder}/meta.json"):
        return folder
    os.makedirs(folder, exist_ok=True)
    lines = csv_rows(f"{peers.DATASETS}/{row['file']}")
    lines = lines[:1] + lines[1::max(1, math.ceil(.75 * (len(lines) - 1) / most))]
    is_test = [i * 2654435761 % 2 ** 32 < 2 ** 30 for i in range(len(lines) - 1)]
    levels, classes, meta = {}, {}, {}
    for name, wanted in (("train", False), ("test", True)):
        part = lines[:1] + [line for line, t in zip(lines[1:], is_test) if t == wanted]
        with open(f"{folder}/{name}.csv", "w", encoding="utf-8") as f:
            f.writelines(part)
        x, y = matrix(row, part, levels)
        if row["task"] != "regression":
            classes = classes or {c: i for i, c in enumerate(sorted(set(y)))}
            y = [classes[c] for c in y]
        x.tofile(f"{folder}/{name}.x")
        np.array(y, np.float32).tofile(f"{folder}/{name}.y")
        head = [c for c in lines[0].rstrip("\n").split(",") if c != row["target"]]
        meta = {"task": row["task"], "classes": len(classes), "names": list(classes), "columns": x.shape[1],
                "metric": row["metric"], "categorical": [i for i, c in enumerate(head) if c in row["categorical"]]}
    with open(f"{folder}/meta.json", "w", encoding="ascii") as f:
        json.dump(meta, f)
    return folder


# ---- the two sides ----

def ours_run(row, folder, configs, cpus):
    spec = {"name": "whole", "dataset": "train.csv", "target": row["target"], "metric": row["metric"],
            "columns": {c: "categorical" for c in row["categorical"]}, "task": row["task"],
            "validation": {"kind": "kfold", "folds": 5}, "budget": {"trials": len(configs) + 1}, "sampler": "random",
            "scheduler": "none", "seed": SEED, "space": [{"family": f} for f in sorted({c["family"] for c in configs})],
            "enqueue": configs}
    shutil.rmtree(f"{folder}/data", ignore_errors=True)
    with open(f"{folder}/spec.json", "w", encoding="ascii") as f:
        json.dump(spec, f)
    got = measured([ASSAY, "run", "spec.json", "--dir", "data", "--json", "-o", "best.assay"], cpus, folder, f"{folder}/run.json")
    with open(f"{folder}/run.json", encoding="utf-8") as f:
        told = json.load(f)
    best, data = told["result"], told["data"]
    frame = f"{folder}/data/blobs/{data['frame'][:2]}/{data['frame']}"
    subprocess.run([peers.OURS, "folds", frame, row["target"], row["task"], str(data["split_seed"]), f"{folder}/train.fold"],
                   check=True)
    return {**got, "score": best["score"], "family": best["family"], "test": ours_test(row, folder)}


def ours_test(row, folder):
    with open(f"{folder}/meta.json", encoding="ascii") as f:
        meta = json.load(f)
    subprocess.run([ASSAY, "predict", "best.assay", "test.csv", "-o", "p.csv"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    with open(f"{folder}/p.csv", encoding="utf-8") as f:
        head, *rows = [line.rstrip("\n").split(",") for line in f]
    at = [0] if row["task"] == "regression" else [head.index(f"p_{c}") for c in meta["names"]]
    p = np.array([[float(r[c]) for c in at] for r in rows])
    return score_of(row["metric"], p[:, 1:] if p.shape[1] == 2 else p, folder)


def score_of(metric, p, folder):
    y = np.fromfile(f"{folder}/test.y", np.float32)
    return quality.parts(metric, p[:, 0] if p.ndim == 2 and p.shape[1] == 1 else p.ravel() if metric != "logloss" else p, y)[0]


def peer_run(row, folder, configs, threads, cpus):
    with open(f"{folder}/configs.json", "w", encoding="ascii") as f:
        json.dump(configs, f)
    got = measured([sys.executable, f"{peers.HERE}/loop.py", folder, str(threads)], cpus, folder, f"{folder}/loop.json")
    with open(f"{folder}/loop.json", encoding="utf-8") as f:
        got.update(json.loads(f.read().splitlines()[-1]))
    return {**got, "test": score_of(row["metric"], np.load(f"{folder}/loop.npy"), folder)}


def compare(row, form, n, threads, pairs, most):
    folder, configs = table_make(row, most), draw(n)
    fair = [x for c in configs for x in along(c)] if form == "grid" else configs
    cpus = ",".join(str(c) for c in sorted(os.sched_getaffinity(0))[:threads])
    runs = []
    for _ in range(pairs):
        a = ours_run(row, folder, [free(c) for c in configs] if form == "grid" else configs, cpus)
        runs.append((a, peer_run(row, folder, fair, threads, cpus)))
    a, b = sorted(runs, key=lambda r: r[1]["cpu"] / r[0]["cpu"])[len(runs) // 2]
    print(f"{row['name']} {form}: {n} configurations, {len(fair)} fits x 5 folds of the loop, {threads} thread{'s' * (threads > 1)}: "
          f"processor time {b['cpu'] / a['cpu']:.1f}x, clock {b['wall'] / a['wall']:.1f}x")
    for who, r in (("ours", a), ("loop", b)):
        print(f"   {who}  cpu {r['cpu']:8.2f} s  wall {r['wall']:8.2f} s  peak {r['mb']:5.0f} MB  best {row['metric']} "
              f"{r['score']:.5g} ({r['family']}), on test rows {r['test']:.5g}")
    print("         of the loop's processor time: " + ", ".join(f"{k} {v:.2f} s" for k, v in b["by_family"].items()), flush=True)


def arguments():
    """What every kind of whole search takes."""
    args = argparse.ArgumentParser()
    args.add_argument("--only", default=os.environ.get("ONLY", ""), help="names of tables, with spaces")
    args.add_argument("--n", type=int, default=int(os.environ.get("N", "24")))
    args.add_argument("--rows", type=int, default=int(os.environ.get("ROWS", "30000")), help="at most so many to train on, about")
    return args


def main():
    args = arguments()
    args.add_argument("--threads", default=os.environ.get("THREADS", "1,2"))
    args.add_argument("form", choices=("list", "grid"))
    args.add_argument("--pairs", type=int, default=int(os.environ.get("PAIRS", "1")))
    args = args.parse_args()
    if not os.path.isdir(peers.DATASETS):
        print("skipped, no ../shared/datasets here")
        return
    rows = {r["name"]: r for r in peers.manifest()}
    for name in args.only.split() or TABLES[:5]:
        for threads in map(int, args.threads.split(",")):
            if threads <= len(os.sched_getaffinity(0)):
                compare(rows[name], args.form, args.n, threads, args.pairs, args.rows)
            else:
                print(f"{name}: {threads} threads skipped, this machine has fewer")
    print(f"load of the machine at the end {os.getloadavg()[0]:.1f}, before {os.getloadavg()[2]:.1f}")


if __name__ == "__main__":
    main()
