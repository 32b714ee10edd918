"""Boosting on a GPU: gpu.py [DATA ...] (100k 1m covertype), `make bench-peers GPU=1`. One model of ours beside XGBoost on the same GPU
and LightGBM on all cores, with the same rows and parameters, each in a process of its own; then LANES=16 of ours that train together,
as the folds and trials of a search do. Seconds from the matrix in memory to the fitted model: copying to the GPU and binning count,
starting it does not. PAIRS=3 of each, in turn; medians. Needs xgboost, lightgbm and cupy in the Python that runs it."""
import importlib.util
import os
import shutil
import statistics
import subprocess
import sys

from peers import HERE, OURS, leaf, level, light_case, boost_case, make_data, mean, run, score, words

LANES = os.environ.get("LANES", "16")
PAIRS = int(os.environ.get("PAIRS", "3"))


def ours(folder, case, cpus, seed, lanes):
    os.environ.update(DEVICE="cuda", LANES=lanes)
    return {**run([OURS, "fit", folder, "boost", str(case["steps"]), *words(case["ours"])], cpus, seed), **score(folder, "ours")}


def peer(folder, case, cpus, seed, **more):
    command = [sys.executable, f"{HERE}/fit.py", folder, case["model"], str(cpus.count(",") + 1), *words({**case["peer"], **more})]
    return {**run(command, cpus, seed), **score(folder, "peer")}


def compare(data, what, boost, light):
    folder = make_data(data)
    cpus = ",".join(str(c) for c in sorted(os.sched_getaffinity(0)))
    sides = {"ours": lambda s: ours(folder, boost, cpus, s, "1"),
             "xgboost": lambda s: peer(folder, boost, cpus, s, device="cuda"),
             "lightgbm, cores": light and (lambda s: peer(folder, light, cpus, s)),
             f"ours, {LANES}": lambda s: ours(folder, boost, cpus, s, LANES)}
    got = {name: [] for name, side in sides.items() if side}
    for seed in range(1, PAIRS + 1):
        for name in got:
            got[name].append(sides[name](seed))
    print(f"{data} {what}, {boost['steps']} rounds", flush=True)
    base = statistics.median(r["wall"] for r in got["ours"])
    for name, runs in got.items():
        models = int(LANES) if name.startswith("ours,") else 1
        wall = statistics.median(r["wall"] for r in runs)
        train = statistics.median(r["train_wall"] for r in runs)
        print(f"    {name:<16} {wall:8.3f} s, of it training {train:8.3f} s; a model {wall / models:8.4f} s, {wall / models / base:6.2f} times "
              f"one of ours; log loss {mean([r['logloss'] for r in runs])}  accuracy {mean([r['accuracy'] for r in runs])}", flush=True)


def main():
    if not shutil.which("nvidia-smi") or not importlib.util.find_spec("cupy"):
        print("gpu.py: skipped, there is no GPU, or CuPy is not installed")
        return
    subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], check=True)
    for data in sys.argv[1:] or ["100k", "1m", "covertype"]:
        compare(data, "depth 6", boost_case("", data, *level(6)), None)
        compare(data, "63 leaves", boost_case("", data, *leaf(63)), light_case("", data, 63))


if __name__ == "__main__":
    main()
