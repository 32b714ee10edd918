#!/bin/bash
# `assay fit` and `assay predict` as a person uses them, on problems made here: score, agreement of the leaderboard with the
# written predictions, time limits, Ctrl-C, a killed parent, determinism, and what is left behind (nothing).
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

"$ASSAY" data make twonorm --rows 2000 --seed 3 -o train.csv --test-output test.csv --test-rows 1500 2>/dev/null
"$ASSAY" data make friedman1 --rows 1500 --seed 3 -o reg.csv --test-output reg-test.csv 2>/dev/null

# agreement METRIC FIT.json PREDICTIONS.csv TEST.csv: the leaderboard's best test score = the score computed here
agreement() {
    local want got
    want=$(jq -r 'if .study.result.ensemble.ships then .study.result.ensemble.test_score else .leaderboard.rows[0].test_score end' "$2")
    got=$(paste -d, "$3" "$4" | awk -F, -v m="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "prediction") p = i; if ($i == "class" || $i == "y") y = i } next }
        { n++; hit += $p == $y; se += ($p - $y) ^ 2; pin += $y > $p ? .9 * ($y - $p) : .1 * ($p - $y) }
        END { printf "%.10f", m == "accuracy" ? hit / n : m == "pinball_90" ? pin / n : sqrt(se / n) }')
    echo "leaderboard $want, written $got"
    awk -v a="$want" -v b="$got" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(d <= 1e-6 * (b > 1 ? b : 1)) }'
}

at_most() { awk -v a="$1" -v b="$2" 'BEGIN { print a; exit !(a <= b) }'; }
at_least() { awk -v a="$1" -v b="$2" 'BEGIN { print a; exit !(a >= b) }'; }

timed_fit() { # limit-ms arguments...
    local limit=$1 start end
    shift
    start=$(now_ms)
    "$ASSAY" fit "$@" || return 1
    end=$(now_ms)
    echo "took $((end - start)) ms, may take $limit"
    [ $((end - start)) -le "$limit" ]
}

nobody_works_in() { ! pgrep -f "$1/assay-" >/dev/null; }
somebody_works_in() { pgrep -f "$1/assay-" >/dev/null; }

nothing_left() { [ -z "$(ls -A "$TMPDIR")" ]; }

fit_json() { "$ASSAY" fit "$@" --json >fit.json; }

ok "a classifier fits within its time" timed_fit 5500 train.csv --target class --metric accuracy --time 5s -o a.assay
ok "it predicts every row, in order" "$ASSAY" predict a.assay test.csv -o a.csv
ok "one line per row and a header" test "$(wc -l <a.csv)" -eq 1501
ok "the header names the classes" test "$(head -1 a.csv)" = "prediction,p_minus,p_plus"
ok "trials without time, with a test table" fit_json train.csv --target class --metric accuracy --trials 6 --test test.csv -o b.assay
ok "predictions of that model" "$ASSAY" predict b.assay test.csv -o b.csv
ok "the leaderboard agrees with the written predictions" agreement accuracy fit.json b.csv test.csv
ok "near the best possible accuracy" at_least "$(jq '.leaderboard.rows[0].test_score' fit.json)" 0.95
ok "regression with a test table" fit_json reg.csv --target y --trials 6 --test reg-test.csv -o r.assay
ok "its predictions" "$ASSAY" predict r.assay reg-test.csv -o r.csv
ok "its leaderboard agrees, too" agreement rmse fit.json r.csv reg-test.csv
ok "near the best possible error" at_most "$(jq '.leaderboard.rows[0].test_score' fit.json)" 1.6

ok "a quantile is a goal of its own" fit_json reg.csv --target y --metric pinball_90 --families boost --trials 3 --test reg-test.csv -o q.assay
ok "its predictions, too" "$ASSAY" predict q.assay reg-test.csv -o q.csv
ok "and its leaderboard agrees" agreement pinball_90 fit.json q.csv reg-test.csv

"$ASSAY" data make twonorm --rows 500 --seed 3 -o same.csv 2>/dev/null # small: 24 trials, networks among them
ok "same seed, first run" "$ASSAY" fit same.csv --target class --trials 8 --seed 5 -o s1.assay
ok "same seed, second run" "$ASSAY" fit same.csv --target class --trials 8 --seed 5 -o s2.assay
ok "the model files are equal bit for bit" cmp s1.assay s2.assay
ok "three runners" "$ASSAY" fit same.csv --target class --trials 8 --seed 5 --runners 3 -o s3.assay
ok "the model file is equal with three runners" cmp s1.assay s3.assay

ok "three seconds mean three seconds" timed_fit 3500 train.csv --target class --time 3s -o t.assay
ok "and leave a usable model" "$ASSAY" predict t.assay test.csv -o t.csv

interrupted() { # one Ctrl-C: a model all the same, quickly
    local pid start end rc
    "$ASSAY" fit train.csv --target class --time 60s -o i.assay &
    pid=$!
    sleep 3
    start=$(now_ms)
    kill -INT $pid
    wait $pid
    rc=$?
    end=$(now_ms)
    echo "rc $rc after $((end - start)) ms"
    [ $rc -eq 0 ] && [ $((end - start)) -le 5000 ] && [ -s i.assay ]
}
ok "Ctrl-C ends with the best model so far" interrupted
ok "nothing is left running" within 20 nobody_works_in "$TMPDIR"
ok "nothing is left in the temporary folder" nothing_left

killed() { # SIGKILL of the parent: its children end by themselves
    local pid
    "$ASSAY" fit train.csv --target class --time 60s -o k.assay &
    pid=$!
    within 30 somebody_works_in "$TMPDIR" || return 1
    sleep 1
    kill -KILL $pid
    wait $pid 2>/dev/null
    within 20 nobody_works_in "$TMPDIR"
}
ok "killing the parent leaves no orphan" killed
swept() { "$ASSAY" fit train.csv --target class --trials 1 -o k.assay && nothing_left; }
ok "the next fit removes the folder that the kill left" swept

refuses() { # exit-status text arguments...
    local want=$1 text=$2 rc
    shift 2
    "$ASSAY" "$@" >o 2>e
    rc=$?
    cat e
    [ $rc -eq "$want" ] && grep -qi -- "$text" e && [ "$(grep -c . e)" -le 3 ]
}
printf 'a,b\n1,2\n' >one.csv
printf 'a,b,y\n1,2,x\n3,4\n' >ragged.csv
: >empty.csv
ok "no target is a usage error" refuses 2 target fit train.csv
ok "a file that is not there" refuses 3 "no such file" fit nowhere.csv --target y
ok "an unknown target names the nearest" refuses 1 class fit train.csv --target clas --time 60s
ok "an unknown metric names the nearest" refuses 2 accuracy fit train.csv --target class --metric acuracy --time 60s
ok "a ragged row names line and file" refuses 1 "line 3" fit ragged.csv --target y --time 60s
ok "an empty file" refuses 1 empty fit empty.csv --target y --time 60s
ok "a missing column is named" refuses 1 'one.csv lacks .*"x1"' predict a.assay one.csv
ok "a constraint on no column names its own option" refuses 1 "monotone: train.csv has no column" fit train.csv --target class --trials 2 --monotone nix=increasing
ok "two constraints on a column" refuses 2 '"x1" is named twice' fit train.csv --target class --trials 2 --monotone x1=increasing,x1=decreasing
ok "a constraint on nothing" refuses 2 "monotone: names no column" fit train.csv --target class --trials 2 --monotone ,
ok "a model that is none" refuses 1 "one.csv" predict one.csv train.csv
finish
