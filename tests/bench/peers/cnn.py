"""The step of a small convolutional network beside PyTorch: 28 x 28 pixels, two blocks of 3 x 3 convolutions with 16 and 32 filters,
ReLU and pooling of 2 x 2, a dense layer of 128, ten classes; batches of 64 and of 256, forward, backward and Adam, from rows in
memory to the trained network. The same 12,800 generated images on both sides, in turn, each in a process of its own on one
processor and one thread. ONLY=64 or ONLY=256 picks one batch.

The peer runs in every mode of MODES (cnn_torch.py) once for each batch, then PAIRS=5 times in the fastest. `compile` and
`compile_last` need a C++ compiler; what cannot run is said and left out. Ratios are of processor time; VOID as in peers.py."""
import os
import statistics
import subprocess
import sys

from nets import BUILT, HERE, run
from peers import make_data, mean, score

SHAPE = "c16,c32,128"
ROWS = 12800
# Learning rates of ours and of the peer, for which both are near their best after one epoch.
RATES = {64: ("0.03", "0.002"), 256: ("0.06", "0.004")}


def ours(folder, batch, cpu, seed):
    got = run([f"{BUILT}/nets", folder, "1", "1", str(batch), RATES[batch][0], SHAPE], cpu, seed)
    return {**got, **score(folder, "ours")}


def peer(folder, mode, batch, cpu, seed):
    got = run([sys.executable, f"{HERE}/cnn_torch.py", folder, mode, "1", str(batch), RATES[batch][1], SHAPE], cpu, seed)
    return {**got, **score(folder, "peer")}


def line(who, runs, batch):
    steps = ROWS / batch
    print(f"    {who:<22} {1000 * statistics.median(r['cpu'] for r in runs) / steps:7.2f} ms a step of processor time, "
          f"{1000 * statistics.median(r['wall'] for r in runs) / steps:7.2f} ms of wall time, accuracy "
          f"{mean([r['accuracy'] for r in runs])}", flush=True)


def fastest(folder, batch, cpu):
    once = {}
    for mode in os.environ.get("MODES", "contiguous last native compile compile_last").split():
        try:
            once[mode] = peer(folder, mode, batch, cpu, 1)
        except subprocess.CalledProcessError:
            print(f"    PyTorch {mode}: does not run here")
            continue
        line(f"PyTorch {mode}", [once[mode]], batch)
    return min(once, key=lambda m: once[m]["cpu"])


def compare(folder, batch, pairs):
    cpus = [str(c) for c in sorted(os.sched_getaffinity(0))]
    print(f"batch {batch}")
    mode = fastest(folder, batch, cpus[0])
    mine, other = [], []
    for i in range(pairs):
        mine.append(ours(folder, batch, cpus[i % len(cpus)], i + 1))
        other.append(peer(folder, mode, batch, cpus[i % len(cpus)], i + 1))
    ratios = [b["cpu"] / a["cpu"] for a, b in zip(mine, other)]
    times = sorted(b["cpu"] for b in other)
    void = times[-1] - times[0] > .3 * statistics.median(times)
    print(f"  step of batch {batch} beside PyTorch ({mode}): {statistics.median(ratios):.2f}x (lowest {min(ratios):.2f}x, "
          f"processor time, {pairs} pairs){'  VOID: the peer varies by more than 30%' if void else ''}")
    line("ours", mine, batch)
    line(f"PyTorch {mode}", other, batch)


def main():
    import torch

    folder = make_data("images")
    print(f"PyTorch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}, oneDNN {torch.backends.mkldnn.is_available()}")
    only = os.environ.get("ONLY", "").split()
    for batch in [b for b in RATES if not only or str(b) in only]:
        compare(folder, batch, int(os.environ.get("PAIRS", "5")))


if __name__ == "__main__":
    main()
