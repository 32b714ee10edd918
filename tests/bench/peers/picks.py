"""Whole searches of ours, as a user makes them: does a searched network stand beside searched boosting, and does `assay fit` pick
the family that suits the table?

  picks.py searched [TABLE...]   the shared tables (of more than 5,000 training rows a sample of ROWS=2000): `assay fit` with only
                                 mlp and with only boost, in turn, TIME=60s each; paired standard errors over the test rows, above
                                 0 = the network is better
  picks.py picks [KIND...]       generated tables on which trees are weak, SEEDS=1,..,10: `assay fit` as it is, TIME=60s, and what
                                 family the best trial has; beside it, with FAMILIES=boost (or more, with commas), searches of
                                 only these

MORE="--parallel 1" adds options. The best trial's own predictions may be an ensemble's: a model ships whatever the search found
best."""
import json
import os
import subprocess
import sys

import numpy as np

import peers
from quality import parts
from tables import HUGE, KINDS, ROWS, better

ASSAY = f"{peers.ROOT}/{os.environ.get('B', 'build/gcc')}/assay"
TIME = os.environ.get("TIME", "60s")


def csv_write(folder, part, meta, path):
    """The floats of make_data.c as a CSV. A category is the text of its code, so that it is read as a level."""
    x = np.fromfile(f"{folder}/{part}.x", np.float32).reshape(-1, meta["columns"])
    y = np.fromfile(f"{folder}/{part}.y", np.float32)
    levels = set(meta["categorical"])
    with open(path, "w", encoding="ascii") as f:
        f.write(",".join(f"x{c}" for c in range(meta["columns"])) + ",target\n")
        for row, t in zip(x, y):
            cells = ["" if np.isnan(v) else f"L{v:.0f}" if c in levels else f"{v:.9g}" for c, v in enumerate(row)]
            f.write(",".join(cells) + (f",{t:.9g}\n" if meta["task"] == "regression" else f",c{t:.0f}\n"))


def tables_of(folder):
    with open(f"{folder}/meta.json", encoding="ascii") as f:
        meta = json.load(f)
    for part in ("train", "test"):
        path = f"{folder}/{part}.csv"
        if not os.path.exists(path):
            csv_write(folder, part, meta, f"{path}.tmp")
            os.replace(f"{path}.tmp", path)
    return meta


def search(folder, meta, metric, seed, families=None):
    """The best trial's family, trials by family and the predictions of the model on the test rows."""
    model, out = f"{folder}/picked.assay", f"{folder}/picked.csv"
    command = [ASSAY, "fit", f"{folder}/train.csv", "--target", "target", "--metric", metric, "--time", TIME, "--seed", seed,
               "-o", model, "--json", *os.environ.get("MORE", "").split()]
    if meta["task"] != "regression":
        command += ["--columns", "target=label"]
    if meta["task"] == "binary":
        command += ["--positive", "c1"]
    if families:
        command += ["--families", families]
    if os.path.exists(model):
        os.remove(model)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if not os.path.exists(model):
        sys.exit(f"picks: {' '.join(command)}\n{done.stderr[-2000:]}")
    got = json.loads(done.stdout)
    subprocess.run([ASSAY, "predict", model, f"{folder}/test.csv", "-o", out], check=True, stdout=subprocess.DEVNULL)
    p = np.genfromtxt(out, delimiter=",", skip_header=1, dtype=str)
    with open(out, encoding="utf-8") as f:
        head = f.readline().strip().split(",")
    if meta["task"] == "regression":
        return got, (p if p.ndim == 1 else p[:, 0]).astype(float)
    classes = sorted((h for h in head if h.startswith("p_c")), key=lambda h: int(h[3:]))
    columns = [p[:, head.index(h)].astype(float) for h in classes]
    return got, columns[-1] if meta["task"] == "binary" else np.stack(columns, axis=1).ravel()


def board(got):
    """Best score (* = of a trial that was cut) and number of complete trials of each family, the best family first."""
    best = {}
    for row in (got.get("leaderboard") or {}).get("rows", []):  # null if the server ended first
        best.setdefault(row["family"], [row["score"], "*" if row["cut"] else "", 0])[2] += 1
    return "  ".join(f"{f} {s:.5g}{cut} ({n})" for f, (s, cut, n) in best.items())


def searched(rows):
    gains = []
    for row in rows:
        folder = peers.make_data(row["name"], most=ROWS if row["train_rows"] > HUGE else 0)
        meta = tables_of(folder)
        y = np.fromfile(f"{folder}/test.y", np.float32)
        net, p = search(folder, meta, row["metric"], "1", "mlp")
        trees, q = search(folder, meta, row["metric"], "1", "boost")
        by, a, b = better(row["metric"], y, p, q)
        gains.append(by)
        print(f"{row['name']:<20} {row['metric']:<8} mlp {a:<9.5g} boost {b:<9.5g} {by:+6.2f} se   trials {board(net)} | {board(trees)}",
              flush=True)
    print(f"a searched mlp at or above searched boosting less one paired standard error on {sum(g >= -1 for g in gains)} of {len(gains)}")


def picks(kinds):
    beside = [f for f in os.environ.get("FAMILIES", "").split(",") if f]
    for kind in kinds:
        won, seeds = {}, os.environ.get("SEEDS", "1,2,3,4,5,6,7,8,9,10").split(",")
        for seed in seeds:
            folder = peers.make_data(f"{kind}:{seed}")
            meta = tables_of(folder)
            y = np.fromfile(f"{folder}/test.y", np.float32)
            got, p = search(folder, meta, KINDS[kind], seed)
            family = board(got).split(" ")[0]
            won[family] = won.get(family, 0) + 1
            line = f"{kind:<8} seed {seed:<3} picks {family:<12} test {parts(KINDS[kind], p, y)[0]:.5g}   {board(got)}"
            for other in beside:
                _, q = search(folder, meta, KINDS[kind], seed, other)
                by, _, score = better(KINDS[kind], y, p, q)
                line += f"   {other} alone {score:.5g} ({by:+.1f} se)"
            print(line, flush=True)
        print(f"{kind}: " + ", ".join(f"{f} {n}" for f, n in sorted(won.items(), key=lambda w: -w[1])), flush=True)


def main():
    wanted = sys.argv[2:]
    if sys.argv[1] == "picks":
        picks([k for k in KINDS if not wanted or k in wanted])
        return
    if not os.path.isdir(peers.DATASETS):
        print("picks: skipped, no ../shared/datasets here")
        return
    rows = [r for r in peers.manifest() if r["task"] != "image" and (not wanted or r["name"] in wanted)]
    searched(sorted(rows, key=lambda r: r["rows"]))


if __name__ == "__main__":
    main()
