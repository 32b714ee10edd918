#!/bin/bash
# `assay score`: scores, confusion, calibration and residuals of a saved model on rows whose truth is known; rows that do not
# count; weights and thresholds; errors.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

# y is about x; far is y on 1.7e9; who is two classes, kind three
awk 'BEGIN { srand(1); print "x,y,far,who,kind,w"
    for (i = 0; i < 600; i++) { x = rand() * 4 - 2; y = x + rand()
        printf "%.4f,%.3f,%.3f,%s,%s,%d\n", x, y, 1.7e9 + 50 * y, (y > 0.5 ? "yes" : "no"), (y < -0.5 ? "low" : y < 1 ? "mid" : "top"), 1 + i % 3 } }' >all.csv
head -401 all.csv >train.csv
{ head -1 all.csv; tail -200 all.csv; } >test.csv
fit() { "$ASSAY" fit train.csv --trials 2 --seed 1 --families boost "$@" >fit.log 2>&1; }
fit --target who --columns y=ignore,far=ignore,kind=ignore,w=ignore -o c.assay
fit --target kind --columns y=ignore,far=ignore,who=ignore,w=ignore -o k.assay
fit --target far --columns y=ignore,who=ignore,kind=ignore,w=ignore -o f.assay
get() { python3 -c 'import json,sys; v = json.load(open(sys.argv[1]))
for k in sys.argv[2].split("."): v = v[int(k)] if k.lstrip("-").isdigit() else v[k]
print(v)' "$1" "$2"; }
score_of() { python3 -c 'import json,sys; print({s["metric"]: s["score"] for s in json.load(open(sys.argv[1]))["scores"]}[sys.argv[2]])' "$1" "$2"; }

agrees_with_predict() { # accuracy, counted from what predict writes
    "$ASSAY" score c.assay test.csv --json >c.json && "$ASSAY" predict c.assay test.csv >p.csv
    paste -d, p.csv test.csv | awk -F, 'NR > 1 { hit += $1 == $7; n++ } END { printf "%.12f\n", hit / n }' >want
    printf '%.12f\n' "$(score_of c.json accuracy)" | diff - want
}
counts_the_matrix() { # rows of the matrix add up to the rows of the classes, all of them to the rows scored
    python3 - c.json <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["rows"] == 200 == sum(map(sum, r["confusion"]))
for row, c in zip(r["confusion"], r["classes"]):
    assert sum(row) == c["rows"], c
assert sum(g["rows"] for g in r["calibration"]["groups"]) == 200
assert abs(r["classes"][1]["recall"] - r["confusion"][1][1] / r["classes"][1]["rows"]) < 1e-12
END
}
weights_are_copies() { # a row of weight 3 is three rows, for every score
    awk -F, 'NR == 1 { print; next } { for (k = 0; k < $6; k++) print }' test.csv >copies.csv
    for m in c k; do
        "$ASSAY" score $m.assay test.csv --weights w --json >w.json && "$ASSAY" score $m.assay copies.csv --json >n.json || return 1
        python3 - w.json n.json <<'END' || return 1
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
for x, y in zip(a["scores"], b["scores"]):
    assert abs(x["score"] - y["score"]) < 1e-9, (x, y)
for x, y in zip(a["classes"], b["classes"]):
    assert abs(x["precision"] - y["precision"]) < 1e-9 and abs(x["recall"] - y["recall"]) < 1e-9
assert a["rows"] == 200 and b["rows"] > 350
END
    done
}
threshold() { # at 0 every row is positive; what looks at probabilities alone stays
    "$ASSAY" score c.assay test.csv --threshold 0 --json >t.json
    [ "$(get t.json classes.1.recall)" = 1.0 ] && [ "$(get t.json classes.0.predicted)" = 0 ] &&
        [ "$(score_of t.json logloss)" = "$(score_of c.json logloss)" ]
}
shifted() { # errors of a target near 1.7e9 are small; its shares are, too
    "$ASSAY" score f.assay test.csv --json >f.json
    python3 - f.json <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
s = {x["metric"]: x["score"] for x in r["scores"]}
assert 5 < s["rmse"] < 30 and s["r2"] > .9 and 0 < s["mape"] < 1e-6, s
assert abs(r["calibration"]["groups"][0]["observed"] - 1.7e9) < 200
assert .9 < r["calibration"]["slope"] < 1.1
END
}
leaves_out() { # rows without a target and of unknown classes are counted, not scored
    { cat test.csv; echo "1,1,1,,mid,1"; echo "1,1,1,never,mid,1"; } >odd.csv
    "$ASSAY" score c.assay odd.csv >said && cat said && grep -F '200 rows scored' said &&
        grep -F '1 rows without a value of "who"' said && grep -F 'such as "never"' said
}
text_is_readable() {
    "$ASSAY" score k.assay test.csv >said && cat said
    for w in 'true \ predicted' 'precision' 'expected calibration error' 'quadratic_kappa' ' ± '; do grep -qF -- "$w" said || return 1; done
}
refuses() { # pattern command...
    local pattern=$1
    shift
    "$@" >o 2>said && return 1
    cat said
    grep -F -- "$pattern" said && [ ! -s o ]
}
# classes that are dates, or numbers with a sign, are read as they were for the training
read_as_trained() { # printf's form of class 0, 1, 2
    awk -v form="$1" 'BEGIN { srand(4); print "x,what"; for (i = 0; i < 240; i++) printf "%.3f," form "\n", i % 3 + rand() * 1.4, i % 3 + 1 }' >read.csv
    "$ASSAY" fit read.csv --target what --families linear --trials 2 -o read.assay >fit.log 2>&1 &&
        "$ASSAY" score read.assay read.csv >said && cat said && grep -F '240 rows scored; logloss' said &&
        "$ASSAY" explain read.assay read.csv --permutation | grep -F 'on 240 rows'
}
ok "classes that are dates are known again" read_as_trained '2024-%02d-15'
ok "classes that are shares" read_as_trained '%d0%%'
ok "classes that are amounts" read_as_trained '$%d'
ok "accuracy is what predict's rows say" agrees_with_predict
ok "confusion, classes and groups add up" counts_the_matrix
ok "weights count as copies of rows" weights_are_copies
ok "a threshold moves classes, not probabilities" threshold
ok "a target far from 0 is scored in its own unit" shifted
ok "rows without a known target are left out and counted" leaves_out
ok "the text shows all parts" text_is_readable
ok "a table without the target is refused" refuses '"who"' "$ASSAY" score c.assay <(cut -d, -f1 test.csv)
ok "a weight that is no number is refused" refuses 'who' "$ASSAY" score k.assay test.csv --weights who
ok "a threshold for three classes is refused" refuses '--threshold is for a target of two classes' "$ASSAY" score k.assay test.csv --threshold 0.3
ok "a table without rows is refused" refuses 'no' "$ASSAY" score c.assay <(head -1 test.csv)
finish
