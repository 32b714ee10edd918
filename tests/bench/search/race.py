"""Automatic search beside each of its families alone, at equal time, on generated tables.

  race.py [SECONDS] [KIND,...] [SEED,...] [FAMILY,...]

Prints for each table the error (1 - AUC, RMSE, 1 - R2 or log loss) on test rows of the automatic
search and of each family, the difference to the best single one in paired standard errors of the
rows (above 0: automatic is better), and the same over all seeds of a kind.
"""
import json
import sys

from runs import Table, mean_error, terms


def share(study):
    """Shares of the computing time by family, where the study tells them."""
    told = study.get("families") or []
    return " ".join(f"{f['family']} {f['share']:.2f}" for f in told if f.get("share"))


def race(kind, seed, seconds, families):
    table = Table(kind, seed)
    fit, predictions, took = table.fit(seconds)
    own = terms(table, predictions)
    best = fit["study"]["best"]
    line = f"{kind} {seed}: auto {mean_error(own)[0]:.4f} ({best['family']}, {took:.0f} s)"
    result = {"kind": kind, "seed": seed, "auto": mean_error(own)[0], "family": best["family"],
              "took": took, "single": {}, "share": share(fit["study"])}
    paired = {}
    for family in families:
        one = terms(table, table.fit(seconds, family)[1])
        result["single"][family] = mean_error(one)[0]
        paired[family] = mean_error([b - a for a, b in zip(own, one)])
        line += f", {family} {mean_error(one)[0]:.4f}"
    first = min(result["single"], key=result["single"].get)
    gain, error = paired[first]
    result["gain"], result["errors"] = gain, gain / error if error > 0 else 0.0
    print(f"{line}; to {first} {result['errors']:+.1f} errors; {result['share']}", flush=True)
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
        print(f"{kind}: automatic before {best} by {gain:+.4f} +- {error:.4f}"
              f" ({sum(r['errors'] >= -1 for r in results)} of {len(results)} within one paired"
              f" error of the best single family)", flush=True)
        print(json.dumps(results), file=sys.stderr)


main()
