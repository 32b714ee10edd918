#!/usr/bin/env python3
"""The defaults beside Optuna's TPE with its pruners, and SMAC3, on the curves of ../shared/search-tables.

`make bench-noise PEERS=1 CURVES=1` judges all as `assay simulate` does (docs/SIMULATE.md): eight
workers have the time of 40 mean full trainings, a proposal is replaced by the nearest configuration
that was not started yet, and the best so far counts every epoch that has ended. Regret is taken at a
quarter, a half and all of the clock.

- ours: `assay simulate` with the defaults, `auto` and `auto`
- hyperband, halving, median, none: Optuna's TPESampler with HyperbandPruner (1 to the last epoch),
  SuccessiveHalvingPruner, MedianPruner or NopPruner, all else by default; a trial reports each epoch
- smac-mf: SMAC3's MultiFidelityFacade (Hyperband with a random forest), budgets of 1 to the last epoch,
  by ask and tell; a configuration with a larger budget goes on where it stopped, at no cost. It is told
  to expect 240 trials, as it sizes its first design by that
- smac: its HyperparameterOptimizationFacade, every trial in full length, told to expect 60

SEEDS=10, WHO="ours hyperband halving median none smac-mf smac", UNTIL=22:00 starts no search after the
next time that the clock shows this. TABLES=../shared/search-tables. One search is one
line of RUNS (build/bench-curves.jsonl); those that are there are not made again. SHOW=1 only prints.
"""
from __future__ import annotations

import heapq
import json
import math
import os
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

from until import deadline

ROOT = Path(__file__).resolve().parents[3]
ASSAY = ROOT / os.environ.get("B", "build/gcc") / "assay"
TABLES = Path(os.environ.get("TABLES", ROOT.parent / "shared" / "search-tables"))
SEEDS = int(os.environ.get("SEEDS", 10))
WHO = os.environ.get("WHO", "ours hyperband halving median none smac-mf smac").split()
RUNS = Path(os.environ.get("RUNS", ROOT / "build" / "bench-curves.jsonl"))
WORKERS, FULL_TRAININGS = 8, 40
SHARES = (.25, .5, 1)


class Curves:
    """A table as search/lab/tabular.c judges it; larger is better."""

    def __init__(self, path: Path) -> None:
        said = json.loads(path.read_text("utf-8"))
        self.params, self.epochs = said["params"], said["epochs"]
        data = np.fromfile(path.parent / said["data"], "<f4").astype(float)
        data = data.reshape(said["n"], said["epochs"], 2)
        self.values = data[:, :, 0] * (1 if said["direction"] == "maximize" else -1)
        self.seconds = data[:, :, 1]
        points = np.array(said["configurations"], float)
        self.place = np.stack([self.scaled(p, points[:, i]) for i, p in enumerate(self.params)], 1)
        self.best = float(np.nanmax(self.values))
        last = self.values[:, -1]
        self.median, self.worst = float(np.nanmedian(last)), float(np.nanmin(last))
        self.clock = FULL_TRAININGS * float(np.mean(self.seconds[:, -1])) / WORKERS

    @staticmethod
    def scaled(p: dict, v: Any) -> Any:
        low, high = p["lower"], p["upper"]
        if p["log"]:
            low, high, v = math.log(low), math.log(high), np.log(v)
        return (v - low) / (high - low)

    def nearest(self, point: list[float], taken: np.ndarray) -> int:
        at = np.array([self.scaled(p, v) for p, v in zip(self.params, point)])
        far = ((self.place - at) ** 2).sum(1)
        far[taken] = math.inf
        return int(far.argmin())

    def regret(self, value: float) -> float:
        value = self.worst if math.isnan(value) else value
        return (self.best - value) / (self.best - self.median)


def study_of(kind: str, epochs: int, seed: int) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pruners = {"hyperband": lambda: optuna.pruners.HyperbandPruner(max_resource=epochs),
               "halving": optuna.pruners.SuccessiveHalvingPruner,
               "median": optuna.pruners.MedianPruner, "none": optuna.pruners.NopPruner}
    return optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed), pruner=pruners[kind](),
                               direction="maximize", study_name=f"curves {seed}")


def ask(study: Any, table: Curves) -> tuple[Any, list[float]]:
    trial = study.ask()
    return trial, [(trial.suggest_int if p["kind"] == "int" else trial.suggest_float)
                   (p["name"], p["lower"], p["upper"], log=p["log"]) for p in table.params]


def peer_search(table: Curves, kind: str, seed: int) -> tuple[list[float], int, float]:
    """Events in order of time; a trial is told of each epoch at the moment when it ends."""
    from optuna.trial import TrialState

    began = time.process_time()
    study, events, number = study_of(kind, table.epochs, seed), [], 0
    taken = np.zeros(len(table.values), bool)
    marks, best = [math.nan] * len(SHARES), math.nan

    def start(now: float) -> None:
        nonlocal number
        trial, point = ask(study, table)
        config = table.nearest(point, taken)
        taken[config] = True
        number += 1
        heapq.heappush(events, (now + table.seconds[config, 0], number, 1, config, now, trial))

    for _ in range(WORKERS):
        start(0)
    while events and events[0][0] <= table.clock:
        now, order, epoch, config, since, trial = heapq.heappop(events)
        value = float(table.values[config, epoch - 1])
        best = value if math.isnan(best) or value > best else best
        for k, share in enumerate(SHARES):
            if now <= share * table.clock:
                marks[k] = best
        trial.report(value, epoch)
        if epoch == table.epochs:
            study.tell(trial, value)
        elif trial.should_prune():
            study.tell(trial, state=TrialState.PRUNED)
        else:
            at = since + table.seconds[config, epoch]
            heapq.heappush(events, (at, order, epoch + 1, config, since, trial))
            continue
        start(now)
    return [table.regret(v) for v in marks], number, time.process_time() - began


def smac_facade(table: Curves, kind: str, seed: int) -> Any:
    import logging
    import warnings

    import ConfigSpace as cs
    from smac import HyperparameterOptimizationFacade, MultiFidelityFacade, Scenario

    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    space = cs.ConfigurationSpace(seed=seed)
    for p in table.params:
        made = cs.Integer if p["kind"] == "int" else cs.Float
        space.add(made(p["name"], (p["lower"], p["upper"]), log=p["log"]))
    expected = 240 if kind == "smac-mf" else 60
    more = {"min_budget": 1, "max_budget": table.epochs} if kind == "smac-mf" else {}
    scenario = Scenario(space, deterministic=True, n_trials=expected, seed=seed, **more,
                        output_directory=ROOT / "build" / "smac3" / str(os.getpid()))
    if kind == "smac-mf":
        return MultiFidelityFacade(scenario, logging_level=False, overwrite=True)
    made = HyperparameterOptimizationFacade
    return made(scenario, lambda config, seed=0: 0.0, logging_level=False, overwrite=True,
                intensifier=made.get_intensifier(scenario, max_config_calls=1))


def smac_search(table: Curves, kind: str, seed: int) -> tuple[list[float], int, float]:
    from smac.runhistory import TrialValue

    began = time.process_time()
    facade, events, rows, reached, order = smac_facade(table, kind, seed), [], {}, {}, 0
    taken = np.zeros(len(table.values), bool)
    marks, best = [math.nan] * len(SHARES), math.nan

    def start(now: float) -> None:
        nonlocal order
        info = facade.ask()
        key = tuple(info.config[p["name"]] for p in table.params)
        if key not in rows:
            rows[key] = table.nearest(list(key), taken)
            taken[rows[key]] = True
        row, order = rows[key], order + 1
        had = reached.get(row, 0)
        since = now - (table.seconds[row, had - 1] if had else 0)
        upto = round(info.budget) if info.budget else table.epochs
        first = min(had + 1, upto)
        heapq.heappush(events, (max(now, since + table.seconds[row, first - 1]), order, first, upto, row,
                                since, info))

    for _ in range(WORKERS):
        start(0)
    while events and events[0][0] <= table.clock:
        now, number, epoch, upto, row, since, info = heapq.heappop(events)
        value = float(table.values[row, epoch - 1])
        best = value if math.isnan(best) or value > best else best
        for k, share in enumerate(SHARES):
            if now <= share * table.clock:
                marks[k] = best
        reached[row] = max(reached.get(row, 0), epoch)
        if epoch >= upto:
            facade.tell(info, TrialValue(cost=-value, time=float(table.seconds[row, epoch - 1])))
            start(now)
        else:
            heapq.heappush(events, (since + table.seconds[row, epoch], number, epoch + 1, upto, row, since,
                                    info))
    return [table.regret(v) for v in marks], len(rows), time.process_time() - began


def our_search(path: Path, seed: int) -> tuple[list[float], int, float]:
    began = os.times()
    out = subprocess.run([ASSAY, "simulate", "--table", path, "--sampler", "auto", "--scheduler", "auto",
                          "--workers", str(WORKERS), "--seeds", "1", "--seed", str(seed), "--json"],
                         check=True, capture_output=True, text=True).stdout
    spent, run = os.times(), json.loads(out)["runs"][0]
    seconds = spent.children_user + spent.children_system - began.children_user - began.children_system
    return run["each"][0], round(run["trials"]["started"]), seconds


def runs_read() -> dict[tuple[str, str, int], dict]:
    found = {}
    for line in RUNS.read_text("ascii").splitlines() if RUNS.exists() else []:
        run = json.loads(line)
        found[run["table"], run["who"], run["seed"]] = run
    return found


def measure(paths: list[Path]) -> None:
    done, until = runs_read(), deadline()
    tables = {p: Curves(p) for p in paths}
    for seed in range(1, SEEDS + 1):
        for path in paths:
            for who in WHO:
                name = path.name.split(".")[0]
                if (name, who, seed) in done or time.time() >= until:
                    continue
                if who == "ours":
                    marks, trials, seconds = our_search(path, seed)
                else:
                    search = smac_search if who.startswith("smac") else peer_search
                    marks, trials, seconds = search(tables[path], who, seed)
                run = {"table": name, "who": who, "seed": seed, "regret": marks, "trials": trials,
                       "seconds": seconds}
                with RUNS.open("a", encoding="ascii") as f:
                    f.write(json.dumps(run) + "\n")


def show() -> None:
    """Mean regret, and z: ours minus theirs in standard errors of the paired difference."""
    runs = runs_read()
    names = sorted({t for t, _, _ in runs})
    for cell in [*names, "all"]:
        for who in WHO:
            mine = {(t, s): r for (t, w, s), r in runs.items() if w == who and cell in (t, "all")}
            if not mine:
                continue
            text = []
            for k, share in enumerate(SHARES):
                pairs = [(runs[t, "ours", s]["regret"][k], r["regret"][k]) for (t, s), r in mine.items()
                         if (t, "ours", s) in runs]
                gap = [a - b for a, b in pairs]
                error = statistics.stdev(gap) / math.sqrt(len(gap)) if len(gap) > 1 else 0
                z = f" z{statistics.fmean(gap) / error:+.1f}" if error > 0 else ""
                text.append(f"{share:4.0%} {statistics.fmean(r['regret'][k] for r in mine.values()):.3f}{z}")
            trials = statistics.fmean(r["trials"] for r in mine.values())
            seconds = statistics.fmean(r["seconds"] for r in mine.values())
            print(f"{cell:14} {who:10} n={len(mine):3d}  {'  '.join(text)}  {trials:.0f} trials, "
                  f"{seconds:.2f} s a search", flush=True)


if __name__ == "__main__":
    if not os.environ.get("SHOW"):
        measure(sorted(TABLES.glob("*.curves.json")))
    show()
