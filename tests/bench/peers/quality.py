"""Boosting on the shared tables, test rows by their split rule: how good, not how fast.

  quality.py equal [TABLE...]       equal parameters (learning rate .1, 31 leaves, 200 rounds): ours - XGBoost lossguide, in
                                    standard errors of the paired difference over the test rows; above 0 = ours is better. The
                                    median of SEEDS=1,2,3 (rounding and thinning are drawn); XGBoost draws nothing
  quality.py defaults [TABLE...]    our default trial (five folds, early stopping, the bag), SEEDS=1,2,3, against the better
                                    boosted column of the datasets' README, in standard errors of our own score

AUC: DeLong's variance; log loss and RMSE: from the rows."""
import os
import re
import subprocess
import sys

import numpy as np

import peers

XGB = {"eta": .1, "lambda": 1, "min_child_weight": 1, "rounds": 200, "grow_policy": "lossguide", "max_leaves": 31,
       "max_depth": 0}
OURS = {"learning_rate": .1, "l1": 0, "l2": 1, "row_sample": 1, "col_sample": 1, "min_leaf": 1, "min_hessian": 1,
        "leaves": 31, "depth": 64}
SEEDS = os.environ.get("SEEDS", "1,2,3").split(",")


def placements(p, y):
    """DeLong: share of the other class that a row stands right to, ties half."""
    pos, neg = p[y == 1], p[y == 0]

    def below(a, b):
        b = np.sort(b)
        return (np.searchsorted(b, a, "left") + np.searchsorted(b, a, "right")) / 2 / len(b)

    return below(pos, neg), 1 - below(neg, pos)


def parts(metric, p, y):
    """(score, larger is better, arrays whose means make the score and its error)."""
    if metric == "auc":
        v = placements(p, y)
        return v[0].mean(), True, v
    if metric == "rmse":
        e = (p - y) ** 2
        return np.sqrt(e.mean()), False, (e / (2 * np.sqrt(e.mean())),)
    p = p.reshape(len(y), -1)
    p = np.concatenate([1 - p, p], axis=1) if p.shape[1] == 1 else p
    e = -np.log(np.maximum(p[np.arange(len(y)), y.astype(int)], 1e-7))
    return e.mean(), False, (e,)


def error(arrays):
    return np.sqrt(sum(np.var(a, ddof=1) / len(a) for a in arrays))


def predictions(folder, who):
    return np.fromfile(f"{folder}/{who}.p", np.float32).astype(float), np.fromfile(f"{folder}/test.y", np.float32)


def equal(rows):
    total = []
    for row in rows:
        folder = peers.make_data(row["name"])
        found = []
        for cats in ("codes", "native") if row["categorical"] else ("codes",):
            peers.run([sys.executable, f"{peers.HERE}/fit.py", folder, "xgboost", "1", *peers.words({**XGB, "cats": cats})], "0")
            found.append((parts(row["metric"], *predictions(folder, "peer")), cats))
        peer, cats = max(found, key=lambda f: f[0][0] * (1 if f[0][1] else -1))
        tries = []
        for seed in SEEDS:
            subprocess.run([peers.OURS, "fit", folder, "boost", "200", *peers.words(OURS), *os.environ.get("SET", "").split()],
                           check=True, stdout=subprocess.PIPE, env={**os.environ, "SEED": seed})
            tries.append(parts(row["metric"], *predictions(folder, "ours")))
        ours = sorted(tries, key=lambda t: t[0])[len(tries) // 2]
        sign = 1 if ours[1] else -1
        se = error([a - b for a, b in zip(ours[2], peer[2])])
        total.append(sign * (ours[0] - peer[0]) / se)
        print(f"{row['name']:<20} {row['metric']:<8} ours {ours[0]:<10.5g} XGBoost {peer[0]:<10.5g} ({cats})  "
              f"better by {sign * (ours[0] - peer[0]):+.5f} = {total[-1]:+.2f} standard errors", flush=True)
    print(f"within one standard error or better: {sum(t >= -1 for t in total)} of {len(total)}, mean {np.mean(total):+.2f}")


def reference():
    """The better of the two boosted columns, by table."""
    found = {}
    with open(f"{peers.DATASETS}/README.md", encoding="utf-8") as f:
        for line in f:
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            if len(cells) != 11 or cells[0] in found:
                continue
            values = [float(re.match(r"\**([\d.e+]+)", c).group(1)) for c in cells[9:] if re.match(r"\**[\d.]", c) and "!" not in c]
            if values:
                found[cells[0]] = max(values) if cells[5] == "auc" else min(values)
    return found


def defaults(rows):
    bars, worst = reference(), []
    for row in rows:
        folder = peers.make_data(row["name"])
        scores, cpu = [], 0
        for seed in SEEDS:
            out = subprocess.run([peers.OURS, "bag", folder, "boost", row["metric"], seed, *os.environ.get("SET", "").split()],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout
            cpu += float(re.search(r'"cpu": ([\d.]+)', out).group(1))
            steps = int(re.search(r'"steps": (\d+)', out).group(1))
            ours = parts(row["metric"], *predictions(folder, "ours"))
            scores.append(ours[0])
        middle = np.median(scores)
        gain = (middle - bars[row["name"]]) * (1 if ours[1] else -1)
        worst.append(gain / error(ours[2]))
        print(f"{row['name']:<20} {row['metric']:<8} ours {middle:<9.5g} ({min(scores):.5g} to {max(scores):.5g}, {steps} rounds, "
              f"cpu {cpu / len(scores):.2f} s)  bar {bars[row['name']]:<9.5g} {worst[-1]:+.2f} standard errors", flush=True)
    print(f"within one standard error or better: {sum(t >= -1 for t in worst)} of {len(worst)}, worst {min(worst):+.2f}")


def main():
    wanted = sys.argv[2:]
    rows = [r for r in peers.manifest() if r["task"] != "image" and r["file"].endswith((".csv", ".csv.gz"))]
    rows = [r for r in rows if not wanted or r["name"] in wanted]
    {"equal": equal, "defaults": defaults}[sys.argv[1]](rows)


if __name__ == "__main__":
    main()
