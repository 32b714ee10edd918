#!/usr/bin/env python3
"""Ask and tell beside Optuna: N programs share one study whose objective takes 1 ms.

`make bench-peers ASK=1` prints, for each store in turn, the wall time from the start of the
programs to the end of the last one, its median over PAIRS runs, and its ratio to ours:

- alone: the objective without any store, as often; what it takes more is the store's overhead
- ours: assayd (every answer is on the disk first) and configs/clients/assay.py over TCP
- journal: Optuna with its journal file, written with fsync
- sqlite: Optuna with its RDB storage on SQLite, its own settings

OBJECTIVE="sleep spin": one that waits for 1 ms, as one that waits for a GPU, a cluster or a disk
does, and one that keeps a processor busy for 1 ms, each for itself. TRIALS=2000, CLIENTS=8,
SAMPLER=random (what is measured is the service) or tpe on both sides, PAIRS=3, WHO="alone ours
journal sqlite". JOURNAL_TRIALS, SQLITE_TRIALS: as many for those, whose time grows with the number
(SQLite's) or which are slow; ratios compare seconds per trial. AHEAD=0.1: that of our client; 0 = a call for each trial. Imports, the
making of the study and the ends of the interpreters are left out of every side: each program says
that it is ready, waits for the start, says that it is done, and ends when all are done.
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
TRIALS_OF = {"journal": int(os.environ.get("JOURNAL_TRIALS", TRIALS)),
             "sqlite": int(os.environ.get("SQLITE_TRIALS", TRIALS))}
CLIENTS = int(os.environ.get("CLIENTS", 8))
PAIRS = int(os.environ.get("PAIRS", 3))
SAMPLER = os.environ.get("SAMPLER", "random")
OBJECTIVES = os.environ.get("OBJECTIVE", "sleep spin").split()
WHO = os.environ.get("WHO", "alone ours journal sqlite").split()
AHEAD = float(os.environ.get("AHEAD", 0.1))


def value(x: float, y: float) -> float:
    end = time.perf_counter() + 0.001
    if OBJECTIVES[0] == "sleep":
        time.sleep(0.001)
    while time.perf_counter() < end:
        pass
    return (x - 1) ** 2 + (y + 2) ** 2


def wait_for_start() -> None:
    print("ready", flush=True)
    sys.stdin.readline()


def alone(trials: int) -> None:
    wait_for_start()
    for i in range(trials // CLIENTS):
        value(i, i)


def ours(url: str, name: str) -> None:
    sys.path.insert(0, str(ROOT / "configs" / "clients"))
    import assay

    study = assay.Study(url, name)
    wait_for_start()
    study.optimize(lambda t: value(t["x"], t["y"]), ahead=AHEAD)


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


def run(programs: list[list[str]], env: dict[str, str], objective: str) -> float:
    started = [subprocess.Popen([sys.executable, __file__, *p], stdin=subprocess.PIPE, text=True,
                                stdout=subprocess.PIPE, env={**env, "OBJECTIVE": objective})
               for p in programs]
    for p in started:
        if p.stdout.readline() != "ready\n":
            raise SystemExit("a program ended before the start")
    begin = time.perf_counter()
    for p in started:
        p.stdin.write("\n")
        p.stdin.flush()
    for p in started:
        if p.stdout.readline() != "done\n":
            raise SystemExit("a program failed")
    seconds = time.perf_counter() - begin
    for p in started:
        p.stdin.close()
        p.wait()
    return seconds


def time_ours(folder: Path, objective: str) -> float:
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
        seconds = run([["ours", url, "bench"]] * CLIENTS, env, objective)
        completed = sum(1 for t in study.trials() if t["state"] == "completed")
        if completed != TRIALS:
            raise SystemExit(f"ours: {completed} trials of {TRIALS} are completed")
        return seconds / TRIALS
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait()


def time_theirs(folder: Path, kind: str, objective: str) -> float:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    store = f"sqlite:///{folder}/s.db" if kind == "sqlite" else str(folder / "s.journal")
    trials = TRIALS_OF[kind]
    optuna.create_study(study_name="s", storage=storage(store))
    seconds = run([["theirs", store, str(trials)]] * CLIENTS, dict(os.environ), objective)
    return seconds / (trials // CLIENTS * CLIENTS)


def time_one(kind: str, objective: str) -> float:
    folder = Path(tempfile.mkdtemp(prefix="assay-bench-ask-"))
    try:
        if kind == "alone":
            return run([["alone", str(TRIALS)]] * CLIENTS, dict(os.environ), objective) / TRIALS
        return (time_ours(folder, objective) if kind == "ours"
                else time_theirs(folder, kind, objective))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(objective: str) -> None:
    taken: dict[str, list[float]] = {k: [] for k in WHO}
    print(f"{CLIENTS} programs, {TRIALS} trials of 1 ms, of the peers {TRIALS_OF}, "
          f"sampler {SAMPLER}, objective {objective}, {PAIRS} runs of each in turn")
    for _ in range(PAIRS):
        for kind in WHO:
            taken[kind].append(time_one(kind, objective))
            print(f"  {kind:8} {1 / taken[kind][-1]:8.1f} trials a second", flush=True)
    for kind in WHO:
        line = f"{kind:8} {statistics.median(taken[kind]) * 1000:8.3f} ms a trial"
        if "alone" in taken and kind != "alone":
            more = [t - a for t, a in zip(taken[kind], taken["alone"])]
            line += f", {statistics.median(more) * 1000:8.3f} ms beyond the objective"
        if "ours" in taken and kind not in ("alone", "ours"):
            ratios = [t / o for t, o in zip(taken[kind], taken["ours"])]
            line += f", {statistics.median(ratios):6.1f} times ours (lowest {min(ratios):.1f})"
        print(line, flush=True)


PROGRAMS = {"alone": lambda a: alone(int(a[0])), "ours": lambda a: ours(a[0], a[1]),
            "theirs": lambda a: theirs(a[0], int(a[1]))}


if __name__ == "__main__":
    if len(sys.argv) > 1:
        PROGRAMS[sys.argv[1]](sys.argv[2:])
        print("done", flush=True)
        sys.stdin.readline()  # the end of an interpreter takes 10 ms of the others' processor
    else:
        for o in OBJECTIVES:
            measure(o)
