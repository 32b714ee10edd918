"""Optuna's samplers on the functions of noise.sh, judged in the same way (docs/SIMULATE.md).

  noise_peers.py SEEDS TABLE:NOISE...     the Python of PEERS, with optuna==5.0.0 and numpy;
                                          SAMPLERS=tpe,random,gp (gp needs torch)
The noise is drawn anew: its standard deviation is equal, its draws are not. Prints regret after 50,
100 and 200 evaluations with its standard error, and the seconds of one suggestion.
"""
import array
import json
import math
import os
import random
import sys
import time

import optuna

FOLDER = "build/search-functions"
TRIALS, MARKS = 200, (50, 100, 200)


class Table:
    def __init__(self, name):
        with open(f"{FOLDER}/{name}.table.json", encoding="ascii") as f:
            self.params = json.load(f)["params"]
        self.values = array.array("f")
        with open(f"{FOLDER}/{name}.f32", "rb") as f:
            self.values.frombytes(f.read())
        good = sorted(v for v in self.values if not math.isnan(v))
        last = len(good) - 1
        self.best, self.worst, self.median = good[0], good[-1], (good[last // 2] + good[(last + 1) // 2]) / 2
        self.spread = (good[int(.84 * last + .5)] - good[int(.16 * last + .5)]) / 2

    def ask(self, trial):
        at, chosen = 0, {}
        for p in self.params:
            n, cell = len(p["choices"]), 0
            if all(chosen.get(k) in v for k, v in p.get("when", {}).items()):
                if p["kind"] == "ordinal":
                    cell = trial.suggest_int(p["name"], 0, n - 1)
                else:
                    chosen[p["name"]] = trial.suggest_categorical(p["name"], p["choices"])
                    cell = p["choices"].index(chosen[p["name"]])
            at = at * n + cell
        return self.values[at]

    def regret(self, value):
        return ((self.worst if value is None else value) - self.best) / (self.median - self.best)


def search(table, noise, kind, seed):
    made = {"tpe": optuna.samplers.TPESampler, "gp": optuna.samplers.GPSampler, "random": optuna.samplers.RandomSampler}
    study = optuna.create_study(sampler=made[kind](seed=seed))
    draws, told_best, best, marks, spent = random.Random(seed), math.inf, None, [], 0.0
    for n in range(1, TRIALS + 1):
        began = time.process_time()
        trial = study.ask()
        value = table.ask(trial)
        if math.isnan(value):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            told = value + noise * table.spread * draws.gauss(0, 1)
            study.tell(trial, told)
            if told < told_best:
                told_best, best = told, value
        spent += time.process_time() - began
        if n in MARKS:
            marks.append(table.regret(best))
    return marks, spent / TRIALS


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    seeds = int(sys.argv[1])
    for cell in sys.argv[2:]:
        name, noise = cell.split(":")
        table = Table(name)
        for kind in os.environ.get("SAMPLERS", "tpe").split(","):
            runs = [search(table, float(noise), kind, 1 + s) for s in range(seeds)]
            text = []
            for k in range(len(MARKS)):
                v = [r[0][k] for r in runs]
                mean = sum(v) / len(v)
                se = math.sqrt(sum((x - mean) ** 2 for x in v) / max(len(v) - 1, 1) / len(v))
                text.append(f"{mean:.4f}+-{se:.4f}")
            print(cell, f"optuna {kind}", *text, f"{sum(r[1] for r in runs) / seeds * 1000:.2f} ms a suggestion", flush=True)


if __name__ == "__main__":
    main()
