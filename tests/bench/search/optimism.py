"""How much better the score that a study reports is than what its model scores on new rows.

  optimism.py [SECONDS] [SEED,...] [KIND,...]

For small generated tables: (reported - true) / reported standard error, above 0 = flattering; the
share beyond 2; and how often a table of noise ships the baseline.
"""
import math
import sys

from runs import Table, mean_error, terms

SMALL = "tiny,pure,pure_number,line,few,corners,words,wide"


def told(fit):
    """The score that the study tells of what it ships, and its error."""
    best = fit["study"]["best"]
    ensemble = (fit["study"].get("result") or {}).get("ensemble") or {}
    if ensemble.get("ships"):
        estimate = ensemble.get("estimate") or ensemble
        return "ensemble", estimate["score"], estimate["se"], best["score"]
    estimate = best.get("estimate") or best
    return best["family"], estimate["score"], estimate["se"], best["score"]


def optimism(kind, seed, seconds):
    table = Table(kind, seed)
    fit, predictions, took = table.fit(seconds)
    family, score, error, raw = told(fit)
    true, true_error = mean_error(terms(table, predictions))
    sign = -1 if table.metric in ("rmse", "logloss") else 1
    true = 1 - true if sign > 0 else true
    both = math.hypot(error or 0, true_error) or math.nan
    z, z_raw = sign * (score - true) / both, sign * (raw - true) / both
    n = sum(fit["study"]["trials"].get(k, 0) for k in ("completed", "pruned", "paused"))
    print(f"{kind} {seed}: said {score:.4f} +- {error or 0:.4f} (raw {raw:.4f}), true {true:.4f},"
          f" {z:+.2f} (raw {z_raw:+.2f}) errors, {family}, {n} trials, {took:.0f} s", flush=True)
    return (kind, family, z, z_raw)


def main():
    args = sys.argv[1:] + [""] * 3
    seconds = int(args[0] or 15)
    seeds = [int(s) for s in (args[1] or "1,2,3,4,5").split(",")]
    kinds = (args[2] or SMALL).split(",")
    results = [optimism(kind, seed, seconds) for seed in seeds for kind in kinds]
    for name, at in (("told", 2), ("best trial's own", 3)):
        z = [r[at] for r in results if not math.isnan(r[at])]
        mean, error = mean_error(z) if z else (math.nan, math.nan)
        print(f"{name}: optimism {mean:+.2f} +- {error:.2f} standard errors, beyond 2:"
              f" {sum(v > 2 for v in z)} of {len(z)}")
    noise = [r for r in results if r[0].startswith("pure")]
    print(f"noise ships the baseline: {sum(r[1] == 'baseline' for r in noise)} of {len(noise)}")


main()
