#!/bin/bash
# Calibration, thresholds and intervals from `assay fit` to new rows: probabilities of forests mean what they say, F1 is
# better than at one half, intervals hold their share of rows on several tables, a refit keeps them, the service gives what
# the command line gives, two fits are equal, and what cannot be asked for is one clear error.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v curl >/dev/null && command -v python3 >/dev/null || { echo "skipped: no curl or python3"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

python3 - <<'END'
import math, random
r = random.Random(7)
def table(name, n, row):
    with open(name, "w") as f:
        f.write("a,b,c,d,y\n")
        for _ in range(n):
            x = [r.gauss(0, 1) for _ in range(4)]
            f.write(",".join("%.4f" % v for v in x) + "," + row(x) + "\n")
def rare(x):
    return "yes" if r.random() < 1 / (1 + math.exp(2.8 - 1.2 * x[0] - x[1] * x[2])) else "no"
def kinds(x):
    z = [2 * x[0], x[1] + x[2] * x[3] - .5, 1.5 * abs(x[3]) - 2]
    return "pqr"[max(range(3), key=lambda k: z[k] - math.log(-math.log(r.random())))]
def mean(x):
    return 3 * x[0] + 2 * (x[1] > 0) + x[2] * x[3]
def even(x):
    return "%.5f" % (mean(x) + r.gauss(0, 1))
def spreads(x): # the spread follows the column that decides the mean
    return "%.5f" % (mean(x) + (.3 + abs(x[0])) * r.gauss(0, 1))
def skewed(x):
    return "%.5f" % (1e9 + mean(x) + r.expovariate(.5))
for name, row in (("rare", rare), ("kinds", kinds), ("even", even), ("spreads", spreads), ("skewed", skewed)):
    table(name + ".csv", 1200, row), table(name + "_new.csv", 4000, row)
END

fit() { # table metric families options...
    local t=$1 m=$2 f=$3
    shift 3
    "$ASSAY" fit "$t.csv" --target y --metric "$m" --families "$f" --trials 6 --seed 2 "$@"
}
value() { "$ASSAY" score "$1" "$2" --json | jq -r "$3"; }
metric_of() { value "$1" "$2" ".scores[] | select(.metric == \"$3\") | .score"; }
below() { awk -v a="$1" -v b="$2" 'BEGIN { print a, b; exit !(a < b) }'; }
between() { awk -v a="$1" -v b="$2" -v c="$3" 'BEGIN { print a, b, c; exit !(a <= b && b <= c) }'; }
refuses() { # words command...
    local words=$1 out
    shift
    out=$("$ASSAY" "$@" 2>&1) && return 1
    echo "$out"
    grep -qF -- "$words" <<<"$out"
}

# One configuration of extra trees whose probabilities are too unsure: each tree sees some rows and columns only.
unsure() { # table model
    cat >"$1.yaml" <<END
name: $1
dataset: $1.csv
target: y
metric: logloss
validation: {kind: kfold, folds: 5}
budget: {trials: 2}
seed: 2
ensemble: off
space: [{family: extra_trees, trees: 300, depth: 10, min_split: 6, max_features: 0.33, max_samples: 0.8, criterion: entropy}]
END
    "$ASSAY" run "$1.yaml" --dir "data-$1" -o "$2"
}

# ---- classes ----
ok "extra trees of two classes" unsure rare x.assay
ok "are calibrated" test "$("$ASSAY" predict x.assay --json | jq '.calibration.slope > 1')" = true
ok "so that probabilities mean what they say" between 0.85 "$(value x.assay rare_new.csv .calibration.slope)" 1.2
ok "the calibration is told" grep -q "probabilities are calibrated" <("$ASSAY" explain x.assay)
head -101 rare_new.csv >hundred.csv
ok "rows are explained with it" "$ASSAY" explain x.assay hundred.csv -o why.csv
ok "extra trees of three classes" unsure kinds k.assay
ok "are calibrated, too" between 0.85 "$(value k.assay kinds_new.csv .calibration.slope)" 1.2

ok "boosting for F1" fit rare f1 linear,boost --test rare_new.csv --json -o f.assay
t=$("$ASSAY" predict f.assay --json | jq .threshold)
ok "has a threshold of its own" between 0.05 "$t" 0.45
ok "with which F1 of new rows is better than at one half" below \
    "$("$ASSAY" score f.assay rare_new.csv --threshold 0.5 --json | jq '.scores[0].score + 0.05')" "$(metric_of f.assay rare_new.csv f1)"
ok "score and file say the same threshold" test "$(value f.assay rare_new.csv .threshold)" = "$t"
own() { "$ASSAY" predict f.assay rare_new.csv | cut -d, -f1 | grep -c yes; }
ok "predict uses it" test "$(own)" -gt "$("$ASSAY" predict f.assay rare_new.csv --threshold 0.5 | cut -d, -f1 | grep -c yes)"
ok "--threshold overrides it" cmp <("$ASSAY" predict f.assay rare_new.csv) <("$ASSAY" predict f.assay rare_new.csv --threshold "$t")
ok "explain predicts the same classes" cmp <("$ASSAY" predict f.assay rare_new.csv | cut -d, -f1) <("$ASSAY" explain f.assay rare_new.csv | cut -d, -f1)
ok "after a holdout" fit rare f1 boost --validation holdout --ensemble off -o h.assay
ok "the refit keeps the threshold" between 0.05 "$("$ASSAY" predict h.assay --json | jq .threshold)" 0.45

# ---- numbers ----
for t in even spreads skewed; do
    ok "a fit of $t" fit $t rmse linear,boost -o $t.assay
    for level in 0.8 0.9 0.95; do # 1,200 residuals and 4,000 new rows: a standard error of 1.0 % at 0.9; 3 of them
        se=$(awk -v p=$level 'BEGIN { print 3 * sqrt(p * (1 - p) * (1 / 1200 + 1 / 4000)) }')
        is=$(value $t.assay ${t}_new.csv ".intervals[] | select(.level == $level) | .inside")
        ok "$t: $level of the rows are inside" between "$(awk -v p=$level -v s="$se" 'BEGIN { print p - s }')" "$is" "$(awk -v p=$level -v s="$se" 'BEGIN { print p + s }')"
    done
done
ok "predict writes the bounds" test "$("$ASSAY" predict even.assay even_new.csv --interval 0.9 | head -1)" = prediction,lower,upper
inside() { paste -d, <("$ASSAY" predict "$1.assay" "$1_new.csv" --interval 0.9) <(cut -d, -f5 "$1_new.csv") | awk -F, 'NR > 1 { n += $4 >= $2 && $4 <= $3; bad += !($2 <= $1 && $1 <= $3) } END { print bad + 0, n / (NR - 1) }'; }
ok "around the prediction, also where the target is shifted" test "$(inside skewed | cut -d' ' -f1)" -lt 4001
ok "as score counts them" between "$(value skewed.assay skewed_new.csv '.intervals[] | select(.level == 0.9) | .inside - 0.0005')" "$(inside skewed | cut -d' ' -f2)" \
    "$(value skewed.assay skewed_new.csv '.intervals[] | select(.level == 0.9) | .inside + 0.0005')"
ok "after a holdout" fit even rmse boost --validation holdout --ensemble off -o he.assay
ok "the refit keeps the intervals" between 0.84 "$(value he.assay even_new.csv '.intervals[] | select(.level == 0.9) | .inside')" 0.96
ok "two fits are equal" fit spreads rmse linear,boost -o again.assay
ok "to the bit" cmp spreads.assay again.assay

# ---- over REST ----
start_service
cat >even.yaml <<END
{name: even, dataset: even.csv, target: y, metric: rmse, budget: {trials: 4}, seed: 3, space: [{family: linear}, {family: boost}]}
END
ok "a study of a service" "$ASSAY" submit even.yaml --follow -o rest.assay
api() { patient_curl --unix-socket data/sock "$@"; }
ask() { api -H "Content-Type: text/csv" --data-binary @even_new.csv "http://localhost/api/v1/models/even/predict?$1"; }
ok "CSV with bounds is that of assay predict" cmp <(ask interval=0.8) <("$ASSAY" predict rest.assay even_new.csv --interval 0.8)
ok "JSON has them, too" cmp <(ask "interval=0.8&format=json" | jq -r '[.lower, .upper] | transpose | .[] | @csv' | awk -F, '{ printf "%.6g %.6g\n", $1, $2 }') \
    <("$ASSAY" predict rest.assay even_new.csv --interval 0.8 | awk -F, 'NR > 1 { printf "%.6g %.6g\n", $2, $3 }')
says() { # words query
    ask "$2" >said 2>/dev/null
    cat said
    grep -qF "$1" said
}
ok "a level that is none is refused" says "between 0 and 1" interval=1
ok "a threshold for numbers is refused" says "two classes" threshold=0.4

# ---- what cannot be ----
for level in 0 1 -0.5 1.5 nan 90% ""; do
    ok "an interval of \"$level\" is refused" refuses "--interval is a number between 0 and 1" predict even.assay even_new.csv --interval "$level"
done
ok "one wider than the rows allow is refused" refuses "the 1200 rows that were held out" predict even.assay even_new.csv --interval 0.9999
ok "one for classes is refused" refuses "only for a target of numbers" predict f.assay rare_new.csv --interval 0.9
ok "a threshold for numbers is refused" refuses "only for a target of two classes" predict even.assay even_new.csv --threshold 0.4
ok "a threshold beyond 1 is refused" refuses "--threshold is a number from 0 to 1" predict f.assay rare_new.csv --threshold 1.2
(head -1 even.csv && sed -n 2,6p even.csv) >five.csv
ok "five rows make a model" "$ASSAY" fit five.csv --target y --trials 2 --families linear -o five.assay
ok "which has no interval of 90 %" refuses "allow no interval of more than 0.6667" predict five.assay even_new.csv --interval 0.9
(head -1 rare.csv && grep -m 40 ',no$' rare.csv && grep -m 2 ',yes$' rare.csv) >few.csv
ok "two rows of a class are no harm" "$ASSAY" fit few.csv --target y --metric f1 --trials 3 --families linear -o few.assay
ok "and the model predicts" "$ASSAY" predict few.assay rare_new.csv -o few.out
awk -F, -v OFS=, 'NR > 1 { $5 = 3 } { print }' even.csv >equal.csv
awk -F, -v OFS=, 'NR == 2 { $5 = 3.5 } { print }' equal.csv >nearly.csv
ok "nearly all targets equal are no harm" "$ASSAY" fit nearly.csv --target y --task regression --trials 2 --families linear,boost -o nearly.assay
ok "intervals are as small" "$ASSAY" predict nearly.assay even_new.csv --interval 0.9 -o nearly.out
finish
