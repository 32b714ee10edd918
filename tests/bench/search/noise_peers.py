#!/usr/bin/env python3
"""The default sampler beside Optuna's and SMAC3 on the functions of noise.sh, and on public grids.

`make bench-noise PEERS=1` judges all as `assay simulate` does (docs/SIMULATE.md): the same tables,
and the noise of a trial is the same draw for every sampler, so a seed of ours and one of theirs are
a pair. One evaluation at a time; a configuration that fails is told as a failure.

- ours: `assay simulate`
- optuna-tpe, optuna-gp: Optuna's TPESampler and GPSampler with all defaults, in memory
- smac: SMAC3's HyperparameterOptimizationFacade by ask and tell, one evaluation a configuration; a
  failure costs the table's worst value, because infinity, its default, stops its model
- optuna-random: to see that both sides are judged alike

SEEDS=10, WHO="ours optuna-tpe optuna-gp smac", ONLY="bumps:1 lure:0" (table:noise), EVALUATIONS="200"
or with less for one of them: "200 smac=100". Regret is taken at a quarter, a half and all of 200.
UNTIL=07:55 starts no search after the next time that the clock shows this. One search is one line of RUNS (build/bench-noise.jsonl); those that
are there are not made again, so a measurement that was stopped goes on. SHOW=1 only prints the tables.
"""
from __future__ import annotations

import array
import json
import math
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable

from until import deadline

ROOT = Path(__file__).resolve().parents[3]
ASSAY = ROOT / os.environ.get("B", "build/gcc") / "assay"
FOLDER = ROOT / "build" / "search-functions"
TABLES = Path(os.environ.get("TABLES", ROOT.parent / "shared" / "search-tables"))
SEEDS = int(os.environ.get("SEEDS", 10))
WHO = os.environ.get("WHO", "ours optuna-tpe optuna-gp smac").split()
RUNS = Path(os.environ.get("RUNS", ROOT / "build" / "bench-noise.jsonl"))
MARKS = (50, 100, 200)
KINDS = {
    "noise": "bumps:0.3 bumps:1 bumps:3 mixed:0.3 mixed:1 mixed:3 few:0.3 few:1 few:3",
    "failing": "bumps_fail50:0 bumps_fail90:0 mixed_fail50:0 mixed_fail90:0 bumps_chance90:0",
    "misleading": "lure:0 lure:0.3 lure3:0 lure3:0.3",
    "grids": "hpobench_nn_blood_transfusion:0 hpobench_nn_car:0 hpobench_nn_vehicle:0 "
             "hpolib_parkinsons_telemonitoring:0 nasbench201_cifar10:0",
}
CELLS = os.environ.get("ONLY", " ".join(KINDS.values())).split()
MASK = (1 << 32) - 1
NOISE_TAG = 0x6e6f697365


def evaluations(who: str) -> int:
    words = os.environ.get("EVALUATIONS", "200").split()
    most = dict(w.split("=") for w in words if "=" in w)
    return int(most.get(who, next((w for w in words if "=" not in w), "200")))


# ---- the draws of base/rng.c and search/lab/simulate.c ----

def philox(seed: int, a: int, b: int, c: int) -> list[int]:
    k0, k1, c0, c1, c2, c3 = seed & MASK, seed >> 32, c & MASK, c >> 32, a, b
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
        k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
    return [c0, c1, c2, c3]


def mix(seed: int, tag: int) -> int:
    out = philox(seed ^ ((1 << 64) - 1), 0x6D697864, 0, tag)
    return out[1] << 32 | out[0]


def normal(seed: int, trial: int) -> float:
    """The noise of a trial of a grid, in standard deviations."""
    stream = mix(trial, 1)
    low, high, *_ = philox(mix(seed, NOISE_TAG), stream & MASK, stream >> 32, 0)
    return statistics.NormalDist().inv_cdf(((high << 32 | low) // (1 << 12) + .5) * 2.0 ** -52)


# ---- the tables ----

def path_of(name: str) -> Path:
    """Functions that functions.py makes, or a public table."""
    made = FOLDER / f"{name}.table.json"
    return made if made.exists() else TABLES / f"{name}.table.json"


class Table:
    """A grid as search/lab/tabular.c judges it; its values are losses."""

    def __init__(self, name: str) -> None:
        said = json.loads(path_of(name).read_text("utf-8"))
        self.params = said["params"]
        self.values = array.array("f")
        self.values.frombytes((path_of(name).parent / said["data"]).read_bytes())
        if sys.byteorder == "big":
            self.values.byteswap()
        if said["direction"] == "maximize":
            self.values = array.array("f", [-v for v in self.values])
        gains = sorted(-v for v in self.values if not math.isnan(v))
        last = len(gains) - 1
        self.best, self.worst = gains[-1], gains[0]
        self.median = (gains[last // 2] + gains[(last + 1) // 2]) / 2
        self.spread = (gains[int(.84 * last + .5)] - gains[int(.16 * last + .5)]) / 2

    def value(self, cells: dict[str, int]) -> float:
        """cells: the index of each active parameter's choice."""
        at = 0
        for p in self.params:
            at = at * len(p["choices"]) + cells.get(p["name"], 0)
        return self.values[at]

    def regret(self, loss: float | None) -> float:
        return (self.best - (self.worst if loss is None else -loss)) / (self.best - self.median)


# ---- the sides: each gives ask() -> cells and tell(cells' token, loss or None) ----

Side = tuple[Callable[[], tuple[Any, dict[str, int]]], Callable[[Any, float | None], None]]


def optuna_side(table: Table, kind: str, seed: int) -> Side:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    made = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler,
            "random": optuna.samplers.RandomSampler}
    study = optuna.create_study(sampler=made[kind](seed=seed))

    def ask() -> tuple[Any, dict[str, int]]:
        trial, cells, chosen = study.ask(), {}, {}
        for p in table.params:
            if not all(chosen.get(k) in v for k, v in p.get("when", {}).items()):
                continue
            if p["kind"] == "ordinal":
                cells[p["name"]] = trial.suggest_int(p["name"], 0, len(p["choices"]) - 1)
            else:
                chosen[p["name"]] = trial.suggest_categorical(p["name"], p["choices"])
                cells[p["name"]] = p["choices"].index(chosen[p["name"]])
        return trial, cells

    def tell(trial: Any, loss: float | None) -> None:
        if loss is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, loss)
    return ask, tell


def smac_side(table: Table, seed: int) -> Side:
    import logging
    import warnings

    import ConfigSpace as cs
    from smac import HyperparameterOptimizationFacade as Facade
    from smac import Scenario
    from smac.runhistory import StatusType, TrialValue

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    space = cs.ConfigurationSpace(seed=seed)
    for p in table.params:
        n = len(p["choices"])
        space.add(cs.Integer(p["name"], (0, n - 1)) if p["kind"] == "ordinal" else
                  cs.Categorical(p["name"], p["choices"]))
    for p in table.params:
        for parent, values in p.get("when", {}).items():
            space.add(cs.InCondition(space[p["name"]], space[parent], values))
    scenario = Scenario(space, deterministic=True, n_trials=MARKS[-1], seed=seed,
                        output_directory=ROOT / "build" / "smac3" / str(os.getpid()))
    facade = Facade(scenario, lambda config, seed=0: 0.0, logging_level=False, overwrite=True,
                    intensifier=Facade.get_intensifier(scenario, max_config_calls=1))

    def ask() -> tuple[Any, dict[str, int]]:
        info = facade.ask()
        cells = {p["name"]: info.config[p["name"]] for p in table.params if p["name"] in info.config}
        for p in table.params:
            if p["kind"] != "ordinal" and p["name"] in cells:
                cells[p["name"]] = p["choices"].index(cells[p["name"]])
        return info, {k: int(v) for k, v in cells.items()}

    def tell(info: Any, loss: float | None) -> None:
        facade.tell(info, TrialValue(cost=-table.worst if loss is None else loss, time=.1,
                                     status=StatusType.CRASHED if loss is None else StatusType.SUCCESS))
    return ask, tell


def peer_search(table: Table, noise: float, who: str, seed: int) -> tuple[list[float], float]:
    ask, tell = smac_side(table, seed) if who == "smac" else optuna_side(table, who[7:], seed)
    told_best, best, marks, spent, most = math.inf, None, [], 0.0, evaluations(who)
    for n in range(1, most + 1):
        began = time.process_time()
        token, cells = ask()
        spent += time.process_time() - began
        loss = table.value(cells)
        told = None if math.isnan(loss) else loss - noise * table.spread * normal(seed, n)
        if told is not None and told < told_best:
            told_best, best = told, loss
        began = time.process_time()
        tell(token, told)
        spent += time.process_time() - began
        if n in MARKS:
            marks.append(table.regret(best))
    return marks, spent / most


def our_simulation(name: str, noise: float, seed: int, trials: int) -> tuple[dict, float]:
    began = os.times()
    out = subprocess.run([ASSAY, "simulate", "--table", path_of(name), "--noise",
                          str(noise), "--scheduler", "none", "--seeds", "1", "--seed", str(seed), "--trials",
                          str(trials), "--json"], check=True, capture_output=True, text=True).stdout
    spent = os.times()
    seconds = spent.children_user + spent.children_system - began.children_user - began.children_system
    return json.loads(out), seconds


def our_search(name: str, noise: float, seed: int) -> tuple[list[float], float]:
    """Reading the table takes longer than the search; the peers' seconds are without it, and so are
    ours: those of a search of one trial are taken away."""
    found, seconds = our_simulation(name, noise, seed, MARKS[-1])
    _, start = our_simulation(name, noise, seed, 1)
    return found["runs"][0]["each"][0], max(0.0, seconds - start) / MARKS[-1]


# ---- running and showing ----

def runs_read() -> dict[tuple[str, str, int], dict]:
    found = {}
    for line in RUNS.read_text("ascii").splitlines() if RUNS.exists() else []:
        run = json.loads(line)
        found[run["cell"], run["who"], run["seed"]] = run
    return found


def measure() -> None:
    done, until = runs_read(), deadline()
    for seed in range(1, SEEDS + 1):
        for cell in CELLS:
            name, noise = cell.split(":")
            for who in WHO:
                if (cell, who, seed) in done or time.time() >= until:
                    continue
                if who == "ours":
                    marks, seconds = our_search(name, float(noise), seed)
                else:
                    marks, seconds = peer_search(Table(name), float(noise), who, seed)
                run = {"cell": cell, "who": who, "seed": seed, "regret": marks, "seconds": seconds}
                with RUNS.open("a", encoding="ascii") as f:
                    f.write(json.dumps(run) + "\n")


def mean_error(values: list[float]) -> tuple[float, float]:
    error = statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return statistics.fmean(values), error


def show() -> None:
    """Regret of all, and z: ours minus theirs in standard errors of the paired difference."""
    runs = runs_read()
    for kind, cells in {k: v.split() for k, v in KINDS.items()}.items():
        for cell in [c for c in cells if c in CELLS] + [kind]:
            for who in WHO:
                mine = {(c, s): r for (c, w, s), r in runs.items() if w == who and c in (cells if cell == kind else [cell])}
                if not mine:
                    continue
                text = []
                for k in range(min(len(r["regret"]) for r in mine.values())):
                    m, e = mean_error([r["regret"][k] for r in mine.values()])
                    both = [(runs[c, "ours", s]["regret"][k], r["regret"][k]) for (c, s), r in mine.items()
                            if (c, "ours", s) in runs]
                    d, de = mean_error([a - b for a, b in both]) if len(both) > 1 else (0, math.nan)
                    z = f" z{d / de:+.1f}" if who != "ours" and de > 0 else ""
                    text.append(f"@{MARKS[k]} {m:.3f}+-{e:.3f}{z}")
                ms = 1000 * statistics.fmean(r["seconds"] for r in mine.values())
                print(f"{cell:16} {who:13} n={len(mine):3d}  {'  '.join(text)}  {ms:.2f} ms a suggestion", flush=True)


if __name__ == "__main__":
    if not os.environ.get("SHOW"):
        measure()
    show()
