"""What each word of one choice of the preparation gives: scores of five folds, with all else at the family's defaults.

  words.py FAMILY PARAMETER WORD,WORD TABLE.csv TARGET METRIC [name=value]...

One line: word, score (its standard error), seconds of the fit. `name=value` fixes further parameters of the family, such as
leaves=63; those that it searches and that are not named stay at their defaults. ROWS=3000 takes so many rows by chance.
The figures of docs/DECISIONS.md, "Preparing columns", are from here."""
import gzip
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ASSAY = os.environ.get("ASSAY", f"{HERE}/../../../build/assay")
ROWS = int(os.environ.get("ROWS") or "0")
DENSE = {"prep_scale": "auto", "prep_missing": "auto"}
COMMON = {k: "auto" for k in ("prep_levels", "prep_few_levels", "prep_codes", "prep_effects", "prep_text", "prep_pairs")}
DEFAULTS = {
    "linear": {**COMMON, **DENSE},
    "boost": {**COMMON, "learning_rate": 0.15, "leaves": 63, "depth": 16, "min_leaf": 10, "row_sample": 0.9, "col_sample": 0.8,
              "col_level": 1, "l1": 1e-4, "l2": 1, "bins": 255, "grow": "leaf", "extra_random": "no", "cat_smooth": 30,
              "max_onehot": 16},
    "mlp": {**COMMON, **DENSE, "layers": 3, "width": 64, "activation": "gelu", "embedding": "none", "members": 1,
            "learning_rate": 0.03, "weight_decay": 0.02, "dropout": 0.1, "label_smoothing": 0, "batch": 128, "epochs": 31},
}


def rows_of(path, folder):
    """The table, or ROWS of its rows in a file of their own."""
    if not ROWS:
        return os.path.abspath(path)
    with gzip.open(path, "rt") if path.endswith("gz") else open(path, encoding="utf-8") as f:
        head, *rows = f.read().splitlines()
    random.Random(1).shuffle(rows)
    part = f"{folder}/table.csv"
    with open(part, "w", encoding="utf-8") as f:
        f.write("\n".join([head, *rows[:ROWS], ""]))
    return part


def scores(family, parameter, words, table, target, metric, fixed):
    with tempfile.TemporaryDirectory() as folder:
        space = {"family": family, **DEFAULTS[family], **fixed, parameter: words}
        spec = {"name": "words", "dataset": rows_of(table, folder), "target": target, "metric": metric, "seed": 1, "sampler": "grid",
                "budget": {"trials": len(words) + 1}, "validation": {"kind": "kfold", "folds": 5}, "space": [space]}
        with open(f"{folder}/spec.json", "w", encoding="utf-8") as f:
            json.dump(spec, f)
        run = subprocess.run([ASSAY, "run", f"{folder}/spec.json", "--json", "--dir", f"{folder}/data"], capture_output=True, text=True,
                             check=False)
        if run.returncode:
            sys.exit(run.stderr)
        rows = sqlite3.connect(f"{folder}/data/assay.db").execute("SELECT family, config, score, score_se, info FROM trial")
        return {json.loads(c).get(parameter, "auto"): (s, se, json.loads(i).get("fit_us", 0) / 1e6) for f, c, s, se, i in rows
                if f == family and s is not None}


def main():
    if len(sys.argv) < 7:
        sys.exit(__doc__)
    family, parameter, words, table, target, metric, *more = sys.argv[1:]
    fixed = {k: json.loads(v) if v[:1].isdigit() else v for k, v in (m.split("=", 1) for m in more)}
    got = scores(family, parameter, words.split(","), table, target, metric, fixed)
    for word in words.split(","):
        if word in got:
            print(f"{word:10} {got[word][0]:.6g} ({got[word][1]:.3g}) {got[word][2]:.1f} s")


main()
