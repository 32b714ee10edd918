"""Small networks beside PyTorch: same rows, widths, batch and epochs, ours and the peer in turn, each in a process of its own on
one processor and one thread. A network 50-128-64-2 for 5 epochs of 100,000 rows in batches of 256, with Adam; then a group
of GROUP=32 such networks (EPOCHS_OF_GROUP=1 of them, to be done in minutes), beside PyTorch one by one and beside its vmap.

Then SEEDS=5 of one network with the same hyperparameters on both sides (nets_torch.py, mode same): only how good they are is
compared. PAIRS=5 of each; the peer runs in every mode of MODES (nets_torch.py), first once each, then only the fastest. `compile` runs
only when it is named: it needs a C++ compiler and minutes. Ratios are of processor time; VOID as in peers.py."""
import json
import os
import statistics
import subprocess
import sys

from peers import BUILT, HERE, make_data, mean, score

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
NETWORK = ["256", "128,64"]  # batch, hidden widths
# Ours starts from weights that are divided by sqrt(fan-in) where they are used, which asks for a larger rate: for each side
# the better of a few, by epochs. It falls along a cosine on both.
RATES = {1: ("0.2", "0.012"), 5: ("0.06", "0.006")}


def rates(epochs):
    return RATES.get(epochs, RATES[5])


def run(command, cpu, seed):
    out = subprocess.run(["taskset", "-c", cpu, *command], check=True, stdout=subprocess.PIPE, text=True,
                         env={**ENVIRONMENT, "SEED": str(seed)})
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


def compare_quality(folder, epochs, seeds):
    cpu = str(min(os.sched_getaffinity(0)))
    mine = [ours(folder, 1, epochs, cpu, s + 1) for s in range(seeds)]
    other = [run([sys.executable, f"{HERE}/nets_torch.py", folder, "same", "1", str(epochs), NETWORK[0], rates(epochs)[0],
                  NETWORK[1]], cpu, s + 1) | score(folder, "peer") for s in range(seeds)]
    gain = [a["accuracy"] - b["accuracy"] for a, b in zip(mine, other)]
    error = statistics.stdev(gain) / seeds ** .5 if seeds > 1 else float("nan")
    print(f"the same hyperparameters, {epochs} epochs, {seeds} seeds: accuracy {statistics.mean(gain):+.4f} +- {error:.4f}")
    line("ours", mine)
    line("PyTorch same", other)


def main():
    import torch

    pairs, group = int(os.environ.get("PAIRS", "5")), int(os.environ.get("GROUP", "32"))
    epochs = int(os.environ.get("EPOCHS_OF_GROUP", "1"))
    folder = make_data("100k")
    cpu = str(min(os.sched_getaffinity(0)))
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}")
    once = {m: peer(folder, m, 1, 5, cpu, 1) for m in os.environ.get("MODES", "plain foreach fused").split()}
    for mode, got in once.items():
        line(f"PyTorch {mode}", [got])
    best = min(once, key=lambda m: once[m]["cpu"])
    compare(folder, "one network", best, 1, 5, pairs)
    compare(folder, f"{group} networks", best, group, epochs, max(1, pairs // 2))
    compare(folder, f"{group} networks", "vmap", group, epochs, max(1, pairs // 2))
    for n in (epochs, 5):
        compare_quality(folder, n, int(os.environ.get("SEEDS", "5")))


if __name__ == "__main__":
    main()
