#!/usr/bin/env python3
"""Ask and tell beside Optuna: N programs share one study whose objective takes 1 ms.

`make bench-peers ASK=1` prints, for each store in turn, the wall time from the start of the
programs to the end of the last one, its median over PAIRS runs, and its ratio to ours:

- ours: assayd (every answer is on the disk first) and configs/clients/assay.py over TCP
- journal: Optuna with its journal file, written with fsync
- sqlite: Optuna with its RDB storage on SQLite, its own settings

TRIALS=2000, CLIENTS=8, SAMPLER=random (what is measured is the service) or tpe on both sides,
OBJECTIVE=spin (it keeps a processor busy for 1 ms) or sleep (as one that waits for a GPU does),
PAIRS=3, SQLITE_TRIALS: as many for SQLite, whose time grows with the number; the ratio compares
seconds per trial. Imports and the making of the study are left out of every side: each program says
that it is ready and then waits for the start.
"""
from __future__ import annotations

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
ASSAY = ROOT / os.environ.get("B", "build/gcc") / "assay"
TRIALS = int(os.environ.get("TRIALS", 2000))
SQLITE_TRIALS = int(os.environ.get("SQLITE_TRIALS", 0)) or TRIALS
CLIENTS = int(os.environ.get("CLIENTS", 8))
PAIRS = int(os.environ.get("PAIRS", 3))
SAMPLER = os.environ.get("SAMPLER", "random")
OBJECTIVE = os.environ.get("OBJECTIVE", "spin")


def value(x: float, y: float) -> float:
    end = time.perf_counter() + 0.001
    if OBJECTIVE == "sleep":
        time.sleep(0.001)
    while time.perf_counter() < end:
        pass
    return (x - 1) ** 2 + (y + 2) ** 2


def wait_for_start() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def ours(url: str, name: str) -> None:
    sys.path.insert(0, str(ROOT / "configs" / "clients"))
    import assay

    study = assay.Study(url, name)
    wait_for_start()
    study.optimize(lambda t: value(t["x"], t["y"]))


def theirs(store: str, trials: int) -> None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = (optuna.samplers.RandomSampler() if SAMPLER == "random"
               else optuna.samplers.TPESampler(constant_liar=True))
    study = optuna.load_study(study_name="s", storage=storage(store), sampler=sampler)
    share = trials // CLIENTS  # counting all trials after each would be charged to the store
    wait_for_start()
    study.optimize(lambda t: value(t.suggest_float("x", -5, 5), t.suggest_float("y", -5, 5)),
                   n_trials=share)


def storage(store: str):
    import optuna

    if store.startswith("sqlite"):
        return optuna.storages.RDBStorage(store, engine_kwargs={"connect_args": {"timeout": 600}})
    from optuna.storages.journal import JournalFileBackend
    return optuna.storages.JournalStorage(JournalFileBackend(store))


def run(programs: list[list[str]], env: dict[str, str]) -> float:
    started = [subprocess.Popen([sys.executable, __file__, *p], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, text=True, env=env) for p in programs]
    for p in started:
        if p.stdout.readline() != "ready\n":
            raise SystemExit("a program ended before the start")
    begin = time.perf_counter()
    for p in started:
        p.stdin.write("\n")
        p.stdin.flush()
    for p in started:
        if p.wait() != 0:
            raise SystemExit("a program failed")
    return time.perf_counter() - begin


def time_ours(folder: Path) -> float:
    out = open(folder / "out", "w+")
    daemon = subprocess.Popen([ASSAY, "serve", "--data-dir", folder / "data", "--listen",
                               "127.0.0.1:0"], stdout=out, stderr=subprocess.DEVNULL)
    try:
        while not (line := (folder / "out").read_text()).startswith("assayd: http"):
            time.sleep(0.02)
        url = line.split()[1]
        env = dict(os.environ, ASSAY_TOKEN=(folder / "data" / "admin-token").read_text().strip())
        os.environ["ASSAY_TOKEN"] = env["ASSAY_TOKEN"]
        sys.path.insert(0, str(ROOT / "configs" / "clients"))
        import assay

        study = assay.Study(url, "bench", trials=TRIALS, sampler=SAMPLER, scheduler="none",
                            space={"x": assay.uniform(-5, 5), "y": assay.uniform(-5, 5)})
        seconds = run([["ours", url, "bench"]] * CLIENTS, env)
        completed = sum(1 for t in study.trials() if t["state"] == "completed")
        if completed != TRIALS:
            raise SystemExit(f"ours: {completed} trials of {TRIALS} are completed")
        return seconds / TRIALS
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()


def time_theirs(folder: Path, kind: str) -> float:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    store = f"sqlite:///{folder}/s.db" if kind == "sqlite" else str(folder / "s.journal")
    trials = SQLITE_TRIALS if kind == "sqlite" else TRIALS
    optuna.create_study(study_name="s", storage=storage(store))
    seconds = run([["theirs", store, str(trials)]] * CLIENTS, dict(os.environ))
    return seconds / (trials // CLIENTS * CLIENTS)


def main() -> None:
    kinds = ["ours", "journal", "sqlite"]
    taken: dict[str, list[float]] = {k: [] for k in kinds}
    print(f"{CLIENTS} programs, {TRIALS} trials of 1 ms ({SQLITE_TRIALS} with SQLite), "
          f"sampler {SAMPLER}, objective {OBJECTIVE}, {PAIRS} runs of each in turn")
    for _ in range(PAIRS):
        for kind in kinds:
            folder = Path(tempfile.mkdtemp(prefix="assay-bench-ask-"))
            try:
                taken[kind].append(time_ours(folder) if kind == "ours"
                                   else time_theirs(folder, kind))
            finally:
                shutil.rmtree(folder, ignore_errors=True)
            print(f"  {kind:8} {1 / taken[kind][-1]:8.1f} trials a second", flush=True)
    for kind in kinds:
        ratios = [t / o for t, o in zip(taken[kind], taken["ours"])]
        print(f"{kind:8} {statistics.median(taken[kind]) * 1000:8.2f} ms a trial, "
              f"{statistics.median(ratios):6.1f} times ours (lowest {min(ratios):.1f})")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "ours":
        ours(sys.argv[2], sys.argv[3])
    elif len(sys.argv) > 1:
        theirs(sys.argv[2], int(sys.argv[3]))
    else:
        main()
