"""Automatic search beside each of its families alone, at equal time, on generated tables.

  race.py [SECONDS] [KIND,...] [SEED,...] [FAMILY,...]

Prints for each table the error (1 - AUC, RMSE, 1 - R2 or log loss) on test rows of the automatic
search and of each family, the difference to the best single one in paired standard errors of the
rows (above 0: automatic is better), and the same over all seeds of a kind. The best family was picked
by the test rows, so that chance helped it; so it runs once more with another seed, and the same is
told of that run: against its first one it shows how far equal searches differ, and the search against
it is free of that choice.
"""
import json
import sys

from runs import Table, mean_error, terms


def share(study):
    """Shares of the computing time by family, where the study tells them."""
    told = study.get("families") or []
    return " ".join(f"{f['family']} {f['share']:.2f}" for f in told if f.get("share"))


def in_errors(gain, error):
    return gain / error if error > 0 else 0.0


def race(kind, seed, seconds, families):
    table = Table(kind, seed)
    fit, predictions, took = table.fit(seconds)
    own = terms(table, predictions)
    best = fit["study"]["best"]
    line = f"{kind} {seed}: auto {mean_error(own)[0]:.4f} ({best['family']}, {took:.0f} s)"
    result = {"kind": kind, "seed": seed, "auto": mean_error(own)[0], "family": best["family"],
              "took": took, "single": {}, "share": share(fit["study"])}
    paired, best_terms = {}, {}
    for family in families:
        one = best_terms[family] = terms(table, table.fit(seconds, family)[1])
        result["single"][family] = mean_error(one)[0]
        paired[family] = mean_error([b - a for a, b in zip(own, one)])
        line += f", {family} {mean_error(one)[0]:.4f}"
    first = min(result["single"], key=result["single"].get)
    result["first"] = first
    result["gain"] = paired[first][0]
    again = terms(table, table.fit(seconds, first, seed=seed + 5000)[1])
    result["again"] = mean_error(again)[0]
    result["errors"] = in_errors(*paired[first])
    # the second run beside the first, and the search beside the second
    result["chance"] = in_errors(*mean_error([b - a for a, b in zip(again, best_terms[first])]))
    result["fair"] = in_errors(*mean_error([b - a for a, b in zip(own, again)]))
    print(f"{line}; to {first} {result['errors']:+.1f} errors, which again has {result['again']:.4f},"
          f" {result['chance']:+.1f} to its first run; {result['share']}", flush=True)
    return result


def main():
    args = sys.argv[1:] + [""] * 4
    seconds = int(args[0] or 20)
    kinds = (args[1] or "noisy,holes,classes,wide,sparse,tiny").split(",")
    seeds = [int(s) for s in (args[2] or "1,2,3").split(",")]
    families = (args[3] or "linear,boost,extra_trees,mlp").split(",")
    for kind in kinds:
        results = [race(kind, seed, seconds, families) for seed in seeds]
        # the single family that is best over all seeds, not the luckiest of each
        mean = {f: mean_error([r["single"][f] for r in results])[0] for f in families}
        best = min(mean, key=mean.get)
        gain, error = mean_error([r["single"][best] - r["auto"] for r in results])
        print(f"{kind}: automatic before {best} by {gain:+.4f} +- {error:.4f}", flush=True)
        for name, than in (("each table's best", lambda r: r["single"][r["first"]]),
                           ("that one's second run", lambda r: r["again"])):
            gain, error = mean_error([than(r) - r["auto"] for r in results])
            print(f"  before {name} by {gain:+.4f} +- {error:.4f}")
        for name, key in (("automatic", "errors"), ("the best's second run", "chance")):
            low = sum(r[key] < -1 for r in results)
            print(f"  {name} is below -1 error of the best's first run on {low} of {len(results)}")
        low = sum(r["fair"] < -1 for r in results)
        print(f"  automatic is below -1 error of the second run on {low} of {len(results)}",
              flush=True)
        print(json.dumps(results), file=sys.stderr)


main()
