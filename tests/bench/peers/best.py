#!/usr/bin/env python3
"""The best value after 200 trials, beside Optuna's TPE and its Gaussian process.

`make bench-peers BEST=1` lets each side minimise five functions, one trial after another:

- ours: a study of assayd through configs/clients/assay.py, with all defaults
- tpe, gp: Optuna's TPESampler and GPSampler with all defaults, in memory
- gp-exact: its GPSampler that is told that the values have no noise, only where WHO names it

SEEDS=30 of each, TRIALS=200, WHO="ours tpe gp", ONLY="branin ackley". One run is one line of
build/bench-best.jsonl; runs that are there already are not made again, so a measurement that was
stopped goes on. RUNS=file names another file. The table at the end has the regret (best value
minus the function's minimum) and, beside each peer, the share of pairs of one run of ours and one
of theirs in which ours is better (ties count half), with the two-sided p of the Mann-Whitney test.
"""
from __future__ import annotations

import json
import math
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable

ROOT = Path(__file__).resolve().parents[3]
ASSAY = ROOT / os.environ.get("B", "build/gcc") / "assay"
TRIALS = int(os.environ.get("TRIALS", 200))
SEEDS = int(os.environ.get("SEEDS", 30))
WHO = os.environ.get("WHO", "ours tpe gp").split()
ONLY = os.environ.get("ONLY", "").split()
RUNS = Path(os.environ.get("RUNS", ROOT / "build" / "bench-best.jsonl"))
MARKS = [m for m in (50, 100, TRIALS) if m <= TRIALS]

Values = dict[str, Any]


def branin(v: Values) -> float:
    x, y = v["x0"], v["x1"]
    bend = y - 5.1 / (4 * math.pi ** 2) * x * x + 5 / math.pi * x - 6
    return bend ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


HARTMANN_A = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
              [17, 8, 0.05, 10, 0.1, 14]]
HARTMANN_P = [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
              [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]


def hartmann(v: Values) -> float:
    total = 0.0
    for weight, a, p in zip((1.0, 1.2, 3.0, 3.2), HARTMANN_A, HARTMANN_P):
        total += weight * math.exp(-sum(a[i] * (v[f"x{i}"] - p[i] / 1e4) ** 2 for i in range(6)))
    return -total


def rosenbrock(v: Values) -> float:
    x = [v[f"x{i}"] for i in range(4)]
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(3))


ACKLEY_SHIFT = [3.1, -7.4, 11.8, -2.3, 5.9]  # so that the best point is not the middle of the space


def ackley(v: Values) -> float:
    x = [v[f"x{i}"] - ACKLEY_SHIFT[i] for i in range(5)]
    return (-20 * math.exp(-0.2 * math.sqrt(sum(a * a for a in x) / 5))
            - math.exp(sum(math.cos(2 * math.pi * a) for a in x) / 5) + 20 + math.e)


def training(v: Values) -> float:
    """What tuning a network may look like: logarithms, whole numbers, choices, conditions."""
    rate = math.log10(v["rate"])
    loss = 0.02 * (v["layers"] - 3) ** 2 + 0.1 * abs(math.log2(v["width"] / 96))
    loss += {"relu": 0.0, "tanh": 0.15, "gelu": 0.05}[v["activation"]]
    if v["optimizer"] == "sgd":
        return loss + 0.1 + 0.3 * (rate + 1.3) ** 2 + 2 * (v["momentum"] - 0.9) ** 2
    return loss + 0.25 * (rate + 3.1) ** 2 + 0.05 * (math.log10(v["decay"]) + 4) ** 2


def floats(n: int, low: float, high: float) -> dict[str, tuple]:
    return {f"x{i}": ("uniform", low, high) for i in range(n)}


# name: function, its minimum, its space; the fourth of a parameter's tuple is its condition
FUNCTIONS: dict[str, tuple[Callable[[Values], float], float, dict[str, tuple]]] = {
    "branin": (branin, 0.39788735772973816,
               {"x0": ("uniform", -5, 10), "x1": ("uniform", 0, 15)}),
    "hartmann6": (hartmann, -3.3223680114155147, floats(6, 0, 1)),
    "rosenbrock4": (rosenbrock, 0.0, floats(4, -5, 10)),
    "ackley5": (ackley, 0.0, floats(5, -32.768, 32.768)),
    "training": (training, 0.0, {
        "rate": ("log", 1e-6, 1), "layers": ("int", 1, 8), "width": ("int_log", 8, 1024),
        "activation": ("choice", "relu", "tanh", "gelu"), "optimizer": ("choice", "sgd", "adam"),
        "momentum": ("uniform", 0, 0.99, {"optimizer": "sgd"}),
        "decay": ("log", 1e-8, 1e-1, {"optimizer": "adam"})}),
}


def marks_of(values: list[float]) -> list[float]:
    return [min(values[:m]) for m in MARKS]


# ---- the sides ----

def domain(assay: Any, kind: str, *args: Any) -> Any:
    when = args[-1] if isinstance(args[-1], dict) else None
    args = args[:-1] if when else args
    if kind == "int_log":
        return assay.integer(*args, log=True, when=when)
    make = {"uniform": assay.uniform, "log": assay.log, "int": assay.integer,
            "choice": assay.choice}[kind]
    return make(*args, when=when)


class Ours:
    """A controller of its own, which serves all the runs."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="assay-bench-best-"))
        with open(self.folder / "out", "w") as out:
            self.daemon = subprocess.Popen(
                [ASSAY, "serve", "--data-dir", self.folder / "data", "--listen", "127.0.0.1:0",
                 "--no-sync"], stdout=out, stderr=subprocess.DEVNULL)
        while not (line := (self.folder / "out").read_text()).startswith("assayd: http"):
            if self.daemon.poll() is not None:
                raise SystemExit("assayd did not start")
            time.sleep(0.02)
        self.url = line.split()[1]
        os.environ["ASSAY_TOKEN"] = (self.folder / "data" / "admin-token").read_text().strip()
        sys.path.insert(0, str(ROOT / "configs" / "clients"))
        import assay
        self.assay = assay

    def run(self, name: str, seed: int) -> list[float]:
        f, _, space = FUNCTIONS[name]
        study = self.assay.Study(
            self.url, f"{name}-{seed}", trials=TRIALS, seed=seed,
            sampler=os.environ.get("SAMPLER", "auto"),
            space={k: domain(self.assay, *v) for k, v in space.items()})
        values: list[float] = []

        def objective(trial: Any) -> float:
            values.append(f(trial.params))
            return values[-1]

        study.optimize(objective, catch=())
        return marks_of(values)

    def close(self) -> None:
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def suggest(trial: Any, space: dict[str, tuple]) -> Values:
    v: Values = {}
    for name, (kind, *args) in space.items():
        if isinstance(args[-1], dict):
            (other, wanted), = args.pop().items()
            if v[other] != wanted:
                continue
        if kind == "choice":
            v[name] = trial.suggest_categorical(name, args)
        elif kind.startswith("int"):
            v[name] = trial.suggest_int(name, *args, log=kind == "int_log")
        else:
            v[name] = trial.suggest_float(name, *args, log=kind == "log")
    return v


def theirs(who: str, name: str, seed: int) -> list[float]:
    import warnings

    import optuna

    warnings.simplefilter("ignore")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if who == "tpe":
        sampler = optuna.samplers.TPESampler(seed=seed)
    else:
        import torch

        torch.set_num_threads(1)
        sampler = optuna.samplers.GPSampler(seed=seed, deterministic_objective=who == "gp-exact")
    f, _, space = FUNCTIONS[name]
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda t: f(suggest(t, space)), n_trials=TRIALS)
    return marks_of([t.value for t in study.trials])


# ---- the table ----

def better_share(ours: list[float], peer: list[float]) -> tuple[float, float]:
    """Mann and Whitney's statistic as a share of pairs, and its two-sided p (normal, with ties)."""
    n, m = len(ours), len(peer)
    wins = sum((a < b) + 0.5 * (a == b) for a in ours for b in peer)
    both = sorted(ours + peer)
    ties = [both.count(x) for x in set(both)]
    spread = n * m / 12 * (n + m + 1 - sum(t ** 3 - t for t in ties) / ((n + m) * (n + m - 1)))
    z = (wins - n * m / 2) / math.sqrt(spread) if spread else 0.0
    return wins / (n * m), math.erfc(abs(z) / math.sqrt(2))


def table(rows: list[dict[str, Any]]) -> None:
    print(f"{'function':12} {'who':9} {'runs':>4} " +
          " ".join(f"{f'median @{m}':>12}" for m in MARKS) + f" {'mean':>10} {'seconds':>8}"
          "  ours is better in (p)")
    for name, (_, least, _) in FUNCTIONS.items():
        of = {w: [r for r in rows if r["function"] == name and r["who"] == w] for w in WHO}
        mine = [r["best"][-1] - least for r in of.get("ours", [])]
        for who, runs in of.items():
            if not runs:
                continue
            regret = [[r["best"][k] - least for r in runs] for k in range(len(MARKS))]
            line = (f"{name:12} {who:9} {len(runs):4} " +
                    " ".join(f"{statistics.median(x):12.3g}" for x in regret) +
                    f" {statistics.mean(regret[-1]):10.3g}"
                    f" {statistics.mean(r['seconds'] for r in runs):8.1f}")
            if who != "ours" and mine:
                share, p = better_share(mine, regret[-1])
                line += f"  {100 * share:5.1f}% ({p:.2g})"
            print(line)


def load() -> list[dict[str, Any]]:
    rows = [json.loads(s) for s in RUNS.read_text().splitlines()] if RUNS.exists() else []
    return [r for r in rows if r["trials"] == TRIALS and r["seed"] <= SEEDS]


def main() -> None:
    mine = Ours() if "ours" in WHO else None
    done = {(r["who"], r["function"], r["seed"]) for r in load()}
    RUNS.parent.mkdir(parents=True, exist_ok=True)
    try:
        for seed in range(1, SEEDS + 1):
            for name in ONLY or FUNCTIONS:
                for who in WHO:
                    if (who, name, seed) in done:
                        continue
                    begin = time.perf_counter()
                    best = mine.run(name, seed) if who == "ours" else theirs(who, name, seed)
                    row = {"who": who, "function": name, "seed": seed, "trials": TRIALS,
                           "best": best, "seconds": round(time.perf_counter() - begin, 3)}
                    with open(RUNS, "a") as f:
                        f.write(json.dumps(row) + "\n")
    finally:
        if mine:
            mine.close()
    table(load())


if __name__ == "__main__":
    main()
