"""Small networks beside PyTorch: same rows, widths, batch and epochs, ours and the peer in turn, each in a process of its own on
one processor and one thread. A network 50-128-64-2 for 5 epochs of 100,000 rows in batches of 256, with Adam; then a group
of GROUP=32 such networks (EPOCHS_OF_GROUP=1 of them, to be done in minutes), beside PyTorch one by one and beside its vmap.

Then how good they are, SEEDS=24 networks of each side for EPOCHS_OF_GROUP and for 5 epochs: `same` with the same start and
hyperparameters on both sides (nets_torch.py, mode same), `best` with each side's own at the better learning rate.

PAIRS=5 of what is timed; the peer runs in every mode of MODES (nets_torch.py), first once each, then only the fastest. `compile`
runs only when it is named: it needs a C++ compiler and minutes. Ratios are of processor time; VOID as in peers.py. ONLY="one group
vmap same best" picks some of the parts."""
import json
import os
import statistics
import subprocess
import sys

import numpy as np

from peers import BUILT, HERE, make_data, mean, score

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
NETWORK = ["256", "128,64"]  # batch, hidden widths
# By epochs, for each side the best of several (docs/measurements/2026-11-24.md). Ours are larger because weights are divided by
# sqrt(fan-in) where they are used. They fall along a cosine on both.
RATES = {1: ("0.12", "0.012"), 5: ("0.06", "0.006")}
PARTS = "one group vmap same best"


def rates(epochs):
    return RATES.get(epochs, RATES[5])


def run(command, cpu, seed, **environment):
    out = subprocess.run(["taskset", "-c", cpu, *command], check=True, stdout=subprocess.PIPE, text=True,
                         env={**ENVIRONMENT, "SEED": str(seed), **environment})
    return json.loads(out.stdout.strip().splitlines()[-1])


def ours(folder, group, epochs, cpu, seed):
    got = run([f"{BUILT}/nets", folder, str(group), str(epochs), NETWORK[0], rates(epochs)[0], NETWORK[1]], cpu, seed)
    return {**got, **score(folder, "ours")}


def peer(folder, mode, group, epochs, cpu, seed):
    got = run([sys.executable, f"{HERE}/nets_torch.py", folder, mode, str(group), str(epochs), NETWORK[0], rates(epochs)[1],
               NETWORK[1]], cpu, seed)
    return {**got, **score(folder, "peer")}


def line(who, runs):
    print(f"{'':>4}{who:<16} cpu {statistics.median(r['cpu'] for r in runs):7.3f} s  wall "
          f"{statistics.median(r['wall'] for r in runs):7.3f} s  accuracy {mean([r['accuracy'] for r in runs])}  "
          f"logloss {mean([r['logloss'] for r in runs])}", flush=True)


def compare(folder, what, mode, group, epochs, pairs):
    cpus = [str(c) for c in sorted(os.sched_getaffinity(0))]
    mine, other = [], []
    for i in range(pairs):
        cpu = cpus[i % len(cpus)]
        mine.append(ours(folder, group, epochs, cpu, i + 1))
        other.append(peer(folder, mode, group, epochs, cpu, i + 1))
    ratios = [b["cpu"] / a["cpu"] for a, b in zip(mine, other)]
    times = sorted(b["cpu"] for b in other)
    void = times[-1] - times[0] > .3 * statistics.median(times)
    print(f"{what} beside PyTorch ({mode}): {statistics.median(ratios):.2f}x (lowest {min(ratios):.2f}x, processor time, "
          f"{pairs} pairs){'  VOID: the peer varies by more than 30%' if void else ''}")
    line("ours", mine)
    line(f"PyTorch {mode}", other)


def of_each(folder, networks):
    """Scores of the predictions by every network that lie in peer.p one after another."""
    y = np.fromfile(f"{folder}/test.y", np.float32) > .5
    p = np.fromfile(f"{folder}/peer.p", np.float32).astype(float).reshape(networks, len(y))
    own = np.maximum(np.where(y, p, 1 - p), 1e-7)
    return [{"accuracy": np.mean((q > .5) == y), "logloss": -np.mean(np.log(o))} for q, o in zip(p, own)]


def compare_quality(folder, mode, epochs, seeds):
    cpu = str(min(os.sched_getaffinity(0)))
    mine = [ours(folder, 1, epochs, cpu, s + 1) for s in range(seeds)]
    got = run([sys.executable, f"{HERE}/nets_torch.py", folder, mode, str(seeds), str(epochs), NETWORK[0],
               rates(epochs)[0 if mode == "same" else 1], NETWORK[1]], cpu, 1, ALL="1")
    other = [{"cpu": got["cpu"] / seeds, "wall": got["wall"] / seeds, **one} for one in of_each(folder, seeds)]
    gains = []
    for what, sign in (("accuracy", 1), ("logloss", -1)):
        a, b = [r[what] for r in mine], [r[what] for r in other]
        error = ((statistics.variance(a) + statistics.variance(b)) / seeds) ** .5
        gains.append(f"{what} better by {sign * (statistics.mean(a) - statistics.mean(b)):+.4f} +- {error:.4f}")
    print(f"{'the same hyperparameters' if mode == 'same' else 'the better learning rate'}, {epochs} epochs, {seeds} seeds: "
          f"{', '.join(gains)}")
    line("ours", mine)
    line(f"PyTorch {mode}", other)


def main():
    import torch

    pairs, group = int(os.environ.get("PAIRS", "5")), int(os.environ.get("GROUP", "32"))
    epochs, seeds = int(os.environ.get("EPOCHS_OF_GROUP", "1")), int(os.environ.get("SEEDS", "24"))
    parts = (os.environ.get("ONLY") or PARTS).split()
    folder = make_data("100k")
    cpu = str(min(os.sched_getaffinity(0)))
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}")
    if "one" in parts or "group" in parts:
        once = {m: peer(folder, m, 1, 5, cpu, 1) for m in os.environ.get("MODES", "plain foreach fused").split()}
        for mode, got in once.items():
            line(f"PyTorch {mode}", [got])
        fastest = min(once, key=lambda m: once[m]["cpu"])
    if "one" in parts:
        compare(folder, "one network", fastest, 1, 5, pairs)
    if "group" in parts:
        compare(folder, f"{group} networks", fastest, group, epochs, max(1, pairs // 2))
    if "vmap" in parts:
        compare(folder, f"{group} networks", "vmap", group, epochs, max(1, pairs // 2))
    for part, mode in (("same", "same"), ("best", "fused")):
        for n in (epochs, 5) if part in parts else ():
            compare_quality(folder, mode, n, seeds)


if __name__ == "__main__":
    main()
