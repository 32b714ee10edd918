"""Assay beside scikit-learn, XGBoost and LightGBM: same data, same parameters, ours and the peer in turn, each in a process of its own.

  peers.py [--only TEXT] [--pairs N] [--threads 1,2] [--small]

Per case: seconds of processor time and of the clock (matrix in memory to fitted model: binning counts; loading does not),
the median of the ratios peer / ours with the lowest, accuracy and log loss on the test rows (each pair has its own seed:
the mean and its standard error), peak memory. One thread: both
are pinned to one processor. Two: the peer may use two, ours uses as many as its family does; then the clock decides.
EXPLAIN=1000: SHAP values of so many test rows, too (XGBoost's pred_contribs), in processor time.
A case where the peer's own times vary by more than 30% says VOID. To add a row: CASES."""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.normpath(f"{HERE}/../../..")
BUILT = f"{ROOT}/{os.environ.get('B', 'build/gcc')}/tests/bench/peers"
OURS = f"{BUILT}/ours"
MAKE_DATA = f"{BUILT}/make_data"
DATASETS = os.environ.get("DATASETS", f"{ROOT}/../shared/datasets")
SCRATCH = os.environ.get("SCRATCH", "/tmp/assay-peers")

WHOLE_DEPTH = 100  # no limit: FOREST_WHOLE_DEPTH
BOOST = {"learning_rate": .1, "l1": 0, "l2": 1, "min_leaf": 1, "row_sample": 1, "col_sample": 1, "bins": 255}
XGB = {"eta": .1, "lambda": 1, "min_child_weight": 1, "rounds": 100}


def boost_case(name, data, ours, peer, rounds=100):
    return {"name": name, "data": data, "family": "boost", "steps": rounds, "ours": {**BOOST, **ours},
            "model": "xgboost", "peer": {**XGB, **peer, "rounds": rounds}}


def light_case(name, data, leaves):
    """LightGBM splits leaf by leaf; the parameters are those of `leaf`."""
    return {**boost_case(name, data, *leaf(leaves)), "model": "lightgbm",
            "peer": {"learning_rate": .1, "num_leaves": leaves, "lambda_l2": 1, "min_data_in_leaf": 1, "min_sum_hessian_in_leaf": 1, "rounds": 100}}


def level(depth):
    return {"grow": "depth", "depth": depth}, {"grow_policy": "depthwise", "max_depth": depth}


def leaf(leaves):
    return ({"grow": "leaf", "leaves": leaves, "depth": 64},
            {"grow_policy": "lossguide", "max_leaves": leaves, "max_depth": 0})


def forest_case(data, trees, family, peer):
    """Trees grown to their end, the square root of the columns a node."""
    return {"name": family.replace("_", " "), "data": data, "family": family, "steps": trees,
            "ours": {"trees": trees, "depth": WHOLE_DEPTH, "min_split": 2, "min_leaf": 1}, "model": "sklearn",
            "peer": {"model": peer, "n_estimators": trees, "max_features": "sqrt"}}


# name, data, ours (family, steps, parameters), the peer (model of fit.py, parameters)
CASES = [boost_case(f"boost {what}", data, *how)
         for data in ("100k", "1m", "covertype", "letter")
         for what, how in (("depth 6", level(6)), ("31 leaves", leaf(31)), ("63 leaves", leaf(63)))]
CASES += [light_case(f"boost {leaves} leaves, light", data, leaves) for data in ("100k", "1m", "covertype", "letter") for leaves in (31, 63)]
CASES += [forest_case(data, trees, *which)
          for data, trees in (("100k", 20), ("1m", 10), ("covertype", 50))
          for which in (("forest", "RandomForestClassifier"), ("extra_trees", "ExtraTreesClassifier"))]


def manifest():
    with open(f"{DATASETS}/MANIFEST.json", encoding="utf-8") as f:
        return json.load(f)


def make_data(name, small=False, most=0):
    """Written once per name and form (done-N); a later run finds it. most: of a shared table so many training rows at most."""
    folder = f"{SCRATCH}/{name}{'-small' if small else ''}{f'-{most}' if most else ''}"
    done = f"{folder}/done-2"
    if os.path.exists(done):
        return folder
    os.makedirs(folder, exist_ok=True)
    if name in ("100k", "1m"):
        rows = {"100k": 100000, "1m": 1000000}[name] // (10 if small else 1)
        subprocess.run([MAKE_DATA, "synth", str(rows), "50", folder], check=True)
    elif name == "images":
        subprocess.run([MAKE_DATA, "images", str(1280 if small else 12800), folder], check=True)
    elif ":" in name:
        subprocess.run([MAKE_DATA, "smooth", *name.split(":"), folder], check=True)
    else:
        row = next(r for r in manifest() if r["name"].startswith(name))
        subprocess.run([MAKE_DATA, "table", f"{DATASETS}/{row['file']}", row["target"], row["task"],
                        ",".join(row["categorical"]) or "-", str(most), folder], check=True)
    with open(done, "w", encoding="ascii"):
        pass
    return folder


def run(command, cpus, seed=1):
    out = subprocess.run(["taskset", "-c", cpus, *command], check=True, stdout=subprocess.PIPE, text=True,
                         env={**os.environ, "OMP_NUM_THREADS": str(1 + cpus.count(",")), "SEED": str(seed)})
    got = json.loads(out.stdout.strip().splitlines()[-1])
    for clock in ("wall", "cpu"):
        got[clock] = got[f"prepare_{clock}"] + got[f"train_{clock}"]
    return got


def score(folder, who):
    """Scores of the predictions that lie in the folder, by name."""
    import numpy as np

    with open(f"{folder}/meta.json", encoding="ascii") as f:
        meta = json.load(f)
    y = np.fromfile(f"{folder}/test.y", np.float32)
    p = np.fromfile(f"{folder}/{who}.p", np.float32).astype(float)
    if meta["task"] == "regression":
        return {"rmse": np.sqrt(np.mean((p - y) ** 2))}
    p = p.reshape(len(y), -1)
    p = np.concatenate([1 - p, p], axis=1) if p.shape[1] == 1 else p
    own = np.maximum(p[np.arange(len(y)), y.astype(int)], 1e-7)
    return {"accuracy": np.mean(p.argmax(1) == y), "logloss": -np.mean(np.log(own))}


def mean(values):
    """With its standard error over the seeds."""
    if len(values) < 2 or max(values) == min(values):
        return f"{values[0]:.4f}"
    return f"{statistics.mean(values):.4f}+-{statistics.stdev(values) / len(values) ** .5:.4f}"


def words(params):
    return [f"{k}={v}" for k, v in params.items()]


def compare(case, threads, pairs, small):
    folder = make_data(case["data"], small)
    cpus = [str(c) for c in sorted(os.sched_getaffinity(0))]
    ours, peer = [], []
    for i in range(pairs):
        at = cpus[i % len(cpus)] if threads == 1 else ",".join(cpus[:threads])
        ours.append(run([OURS, "fit", folder, case["family"], str(case["steps"]), *words(case["ours"])], at, i + 1))
        peer.append(run([sys.executable, f"{HERE}/fit.py", folder, case["model"], str(threads), *words(case["peer"])], at, i + 1))
        ours[i]["scores"], peer[i]["scores"] = score(folder, "ours"), score(folder, "peer")
    clock = "cpu" if threads == 1 else "wall"
    ratios = [p[clock] / o[clock] for o, p in zip(ours, peer)]
    times = sorted(p[clock] for p in peer)
    void = times[-1] - times[0] > .3 * statistics.median(times)

    def middle(runs, key):
        return statistics.median(r[key] for r in runs)

    def explaining(cpu):
        return f"explaining {cpu:.3f} s  " if cpu else ""

    print(f"{case['data']:>9} {case['name']:<18} {threads} thread{'s' if threads > 1 else ' '}  "
          f"{statistics.median(ratios):5.2f}x (lowest {min(ratios):.2f}x, {clock} time, {pairs} pairs)"
          f"{'  VOID: the peer varies by more than 30%' if void else ''}")
    for who, runs in (("ours", ours), (case["model"], peer)):
        print(f"{'':>10}{who:<8} cpu {middle(runs, 'cpu'):8.3f} s  wall {middle(runs, 'wall'):8.3f} s  "
              f"of it preparing {middle(runs, 'prepare_cpu'):.3f} s  predicting {middle(runs, 'predict_cpu'):.3f} s  "
              f"{explaining(middle(runs, 'explain_cpu'))}"
              f"peak {middle(runs, 'rss_mb'):6.0f} MB  "
              f"{'  '.join(f'{s} ' + mean([r['scores'][s] for r in runs]) for s in runs[0]['scores'])}", flush=True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--only", default=os.environ.get("ONLY", ""), help="cases whose data and name hold this text")
    args.add_argument("--pairs", type=int, default=int(os.environ.get("PAIRS", "5")))
    args.add_argument("--threads", default=os.environ.get("THREADS", "1,2"))
    args.add_argument("--small", action="store_true", help="a tenth of the synthetic rows")
    args = args.parse_args()
    for threads in map(int, args.threads.split(",")):
        if threads > len(os.sched_getaffinity(0)):
            print(f"{threads} threads: skipped, this machine has fewer")
            continue
        for case in CASES:
            if args.only not in f"{case['data']} {case['name']}":
                continue
            if case["data"] not in ("100k", "1m") and not os.path.isdir(DATASETS):
                print(f"{case['data']}: skipped, no ../shared/datasets here")
                continue
            compare(case, threads, args.pairs, args.small)
    load = os.getloadavg()
    print(f"load of the machine at the end {load[0]:.1f}, before {load[2]:.1f}")


if __name__ == "__main__":
    main()
