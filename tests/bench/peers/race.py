"""Seconds to the same quality: our default search beside random search with scikit-learn and XGBoost (loop.py).

  race.py [--only TABLES] [--n 24] [--seeds 5] [--time 16] [--rows 30000]

The peer: n configurations a seed (half boosting, a sixth each of forests, extra trees, linear models) on five folds; its time is
that at which it had its final best, and that model fitted on all rows; files read and libraries loaded before its clock runs.
Ours: `assay fit --time T` with everything else at its default, reading the CSV included, for T = 1, 1.5, 2, 3, 4, 6, 8, ... up to --time.
The mark is the median over seeds of what the peer's best scores on the test rows; ours takes the least T whose model has that,
and twice --time where none has. One processor for each side. The clock decides, so the machine must be quiet; processor seconds
of the peer stand beside."""
import json
import os
import statistics

import peers
import search


def fit(row, folder, seed, seconds, cpus):
    columns = ["--columns", ",".join(f"{c}=categorical" for c in row["categorical"])] if row["categorical"] else []
    got = search.measured([search.ASSAY, "fit", "train.csv", "--target", row["target"], "--metric", row["metric"], "--task", row["task"],
                           "--time", f"{seconds * 1000:.0f}ms", "--seed", str(seed), "--json", "-o", "best.assay", *columns], cpus, folder,
                          f"{folder}/fit.json")
    with open(f"{folder}/fit.json", encoding="utf-8") as f:
        best = json.load(f)["leaderboard"]["rows"][0]
    return {**got, "T": seconds, "family": best["family"], "test": search.ours_test(row, folder)}


def reach(row, folder, seed, most, mark, cpus):
    """Runs until the mark is reached; what did, or the last with twice the time."""
    up, seconds, further = row["metric"] == "auc", 1, 1.5
    while True:
        got = fit(row, folder, seed, seconds, cpus)
        if got["test"] >= mark if up else got["test"] <= mark:
            return got
        if further > most:
            return {**got, "T": most * 2}
        seconds, further = further, seconds * 2


def race(row, n, seeds, most_s, most):
    folder = search.table_make(row, most)
    cpus = str(min(os.sched_getaffinity(0)))
    search.ours_run(row, folder, search.draw(6, 1), cpus)  # leaves the folds
    loops = [search.peer_run(row, folder, search.draw(n, seed), 1, cpus) for seed in range(1, seeds + 1)]
    mark = statistics.median(r["test"] for r in loops)
    ours = [reach(row, folder, seed, most_s, mark, cpus) for seed in range(1, seeds + 1)]
    took = statistics.median(r["T"] for r in ours)
    found, whole = (statistics.median(r[k] for r in loops) for k in ("found", "wall"))
    print(f"{row['name']} {row['metric']}: mark {mark:.5g}; assay fit --time {took}s has it, the loop its best after {found:.1f} s of "
          f"{whole:.1f} s: {found / took:.1f}x, of the whole {whole / took:.1f}x")
    print("   ours  " + ", ".join(f"{r['T']} s ({r['test']:.5g}, {r['family']}, cpu {r['cpu']:.1f} s)" for r in ours) +
          f"; peak {max(r['mb'] for r in ours):.0f} MB")
    print("   loop  " + ", ".join(f"{r['test']:.5g} (found {r['found']:.1f} s of {r['wall']:.1f} s, cpu {r['cpu']:.1f} s, {r['family']})"
                                  for r in loops) + f"; peak {max(r['mb'] for r in loops):.0f} MB", flush=True)


def main():
    args = search.arguments()
    args.add_argument("--seeds", type=int, default=int(os.environ.get("SEEDS", "5")))
    args.add_argument("--time", type=int, default=int(os.environ.get("TIME", "16")))
    args = args.parse_args()
    if not os.path.isdir(peers.DATASETS):
        print("skipped, no ../shared/datasets here")
        return
    rows = {r["name"]: r for r in peers.manifest()}
    for name in args.only.split() or search.TABLES[:5]:
        race(rows[name], args.n, args.seeds, args.time, args.rows)
    print(f"load of the machine at the end {os.getloadavg()[0]:.1f}, before {os.getloadavg()[2]:.1f}")


if __name__ == "__main__":
    main()
