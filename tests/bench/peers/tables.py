"""The family `mlp` as it is by default, beside RealMLP-TD, TabM-D and scikit-learn's MLP: how good, in how many processor seconds.

  tables.py tables [TABLE...]   the shared tables, test rows by their split rule; of more than 5,000 training rows a sample of ROWS=2000,
                              evenly spaced (0 = all). Every side makes one fit that chooses its epoch on a fifth of the training rows, on one thread
  tables.py smooth [KIND...]    generated tables on which trees are weak, SEEDS=1,..,10: mlp beside our boosting

PEERS=realmlp,sklearn picks the peers (tabm takes minutes a table), SET="width=64 layers=2" sets our parameters, BAG=5 lets ours make
the bag of five folds that a trial makes (smooth does, BAG=0: one fit there too). Differences are in standard errors of the paired difference over the test rows, above 0 =
ours is better. What a peer made is kept beside the build by its version, so that it is fitted once."""
import hashlib
import importlib.metadata
import json
import os
import re
import subprocess
import sys

import numpy as np

import peers
from quality import error, parts

ROWS = int(os.environ.get("ROWS", "2000"))
PEERS = os.environ.get("PEERS", "realmlp,sklearn").split(",")
HUGE = 5000
BAGS = os.environ.get("BAG", "5") != "0"  # of smooth
KEPT = f"{peers.ROOT}/build/peers-kept"
KINDS = {"rotated": "auc", "oblique": "auc", "sine": "rmse", "ratio": "rmse", "ridges": "rmse"}


def version(peer):
    return importlib.metadata.version("scikit-learn" if peer == "sklearn" else "pytabkit")


def kept(folder, key, fit):
    """What `fit` returns and the predictions it writes, from the last time when the data and the program were the same."""
    with open(f"{folder}/train.x", "rb") as f:
        data = hashlib.sha256(f.read()).hexdigest()[:8]
    base = f"{KEPT}/{os.path.basename(folder).removesuffix(f'-{ROWS}')}-{data}-{key}"
    os.makedirs(KEPT, exist_ok=True)
    if not os.path.exists(f"{base}.json"):
        got = fit(f"{base}.p")
        with open(f"{base}.json", "w", encoding="ascii") as f:
            json.dump(got, f)
    with open(f"{base}.json", encoding="ascii") as f:
        return json.load(f), np.fromfile(f"{base}.p", np.float32).astype(float)


def peer(folder, name, metric, seed="1"):
    def fit(out):
        done = subprocess.run(["nice", "-n", "1", sys.executable, f"{peers.HERE}/fit_net.py", folder, name, metric, out], check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "SEED": seed})
        return json.loads(done.stdout.strip().splitlines()[-1])

    return kept(folder, f"{name}-{version(name)}-{seed}", fit)


def ours(folder, family, metric, seed="1", bag=False):
    more = {} if bag else {"HOLDOUT": "1"}
    done = subprocess.run([peers.OURS, "bag", folder, family, metric, seed, *(os.environ.get("SET", "").split() if family == "mlp" else [])],
                          check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **more})
    return json.loads(done.stdout), np.fromfile(f"{folder}/ours.p", np.float32).astype(float)


def better(metric, y, one, other):
    """Ours less the peer's in standard errors of the paired difference, above 0 = ours is better."""
    a, b = parts(metric, one, y), parts(metric, other, y)
    gain = (a[0] - b[0]) * (1 if a[1] else -1)
    return gain / max(error([p - q for p, q in zip(a[2], b[2])]), 1e-12), a[0], b[0]


def tables(rows):
    count, cpu = {p: [] for p in PEERS}, {p: [0, 0] for p in PEERS}
    for row in rows:
        folder = peers.make_data(row["name"], most=ROWS if row["train_rows"] > HUGE else 0)
        y = np.fromfile(f"{folder}/test.y", np.float32)
        got, p = ours(folder, "mlp", row["metric"], bag="BAG" in os.environ)
        line = f"{row['name']:<20} {row['metric']:<8} mlp {parts(row['metric'], p, y)[0]:<8.5g} {got['cpu']:6.2f} s {got['steps']:4d} epochs"
        for name in PEERS:
            its, q = peer(folder, name, row["metric"])
            by, _, score = better(row["metric"], y, p, q)
            count[name].append(by)
            cpu[name][0] += got["cpu"]
            cpu[name][1] += its["cpu"]
            line += f"   {name} {score:<8.5g} {its['cpu']:6.1f} s ({its['cpu'] / got['cpu']:4.1f}x) {by:+6.2f} se"
        print(line, flush=True)
    for name in PEERS:
        print(f"{name}: ours at or above less one standard error on {sum(b >= -1 for b in count[name])} of {len(count[name])}, mean "
              f"{np.mean(np.clip(count[name], -5, 5)):+.2f}; processor time {cpu[name][1] / cpu[name][0]:.1f} times ours")


def smooth(kinds):
    for kind in kinds:
        won, by, cpu = 0, [], [0, 0]
        scores = []
        seeds = os.environ.get("SEEDS", "1,2,3,4,5,6,7,8,9,10").split(",")
        for seed in seeds:
            folder = peers.make_data(f"{kind}:{seed}")
            y = np.fromfile(f"{folder}/test.y", np.float32)
            got, p = ours(folder, "mlp", KINDS[kind], bag=BAGS)
            key = ("boost-bag-" if BAGS else "boost-one-") + boost_version()
            its, q = kept(folder, key, lambda out, folder=folder, kind=kind: boost(folder, kind, out))
            gain, a, b = better(KINDS[kind], y, p, q)
            print(f"  {kind} seed {seed}: mlp {a:.5g}  boost {b:.5g}  {gain:+.1f} se", flush=True)
            by.append(gain)
            scores.append((a, b))
            won += gain > 0
            cpu[0] += got["cpu"]
            cpu[1] += its["cpu"]
        a, b = np.mean(scores, axis=0)
        print(f"{kind:<8} {KINDS[kind]:<5} mlp {a:.5g}  boost {b:.5g}  mlp better on {won} of {len(seeds)} seeds, by {min(by):+.1f} to "
              f"{max(by):+.1f} standard errors; cpu {cpu[0] / len(seeds):.2f} s, boost {cpu[1] / len(seeds):.2f} s", flush=True)


def boost(folder, kind, out):
    got, _ = ours(folder, "boost", KINDS[kind], bag=BAGS)
    os.replace(f"{folder}/ours.p", out)
    return got


def boost_version():
    """Of the source of the family: what was kept of an older one is not taken."""
    text = b""
    for at in ("ml/boost", "ml/fit"):
        for name in sorted(os.listdir(f"{peers.ROOT}/{at}")):
            if re.search(r"\.[ch]$", name):
                with open(f"{peers.ROOT}/{at}/{name}", "rb") as f:
                    text += f.read()
    return hashlib.sha256(text).hexdigest()[:8]


def main():
    wanted = sys.argv[2:]
    if sys.argv[1] == "smooth":
        smooth([k for k in KINDS if not wanted or k in wanted])
        return
    if not os.path.isdir(peers.DATASETS):
        print("tables: skipped, no ../shared/datasets here")
        return
    rows = [r for r in peers.manifest() if r["task"] != "image" and (not wanted or r["name"] in wanted)]
    tables(sorted(rows, key=lambda r: r["rows"]))


if __name__ == "__main__":
    main()
