#!/bin/bash
# An ensemble from `assay fit` to the last command that reads it: it ships where it is better, or rows are too few to tell, says the score that it has on
# test rows, is one file with its members, is the same again after kill -9 of a worker and of the controller, and can be
# turned off and limited.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

# Straight lines and steps: neither linear models nor trees are right alone.
table() { # rows
    awk -v n="$1" 'BEGIN { srand(4); print "a,b,c,y"; for (i = 0; i < n; i++) { a = rand(); b = rand(); c = rand()
        print a "," b "," c "," 4 * a + 3 * (b > .5) + 2 * (c > .3) * (b < .2) + rand() } }'
}
table 900 >all.csv
head -601 all.csv >train.csv
{ head -1 all.csv && tail -300 all.csv; } >test.csv

fit_json() { "$ASSAY" fit train.csv --target y --validation kfold --folds 3 "$@" --json >fit.json; }
result() { jq -r ".study.result.$1" fit.json; }
refuses() { # words command...
    local words=$1 out
    shift
    out=$("$ASSAY" "$@" 2>&1) && return 1
    echo "$out"
    grep -qF "$words" <<<"$out"
}
near() { awk -v a="$1" -v b="$2" 'BEGIN { print a, b; d = a - b; exit !((d < 0 ? -d : d) <= 1e-5 * (b < 0 ? -b : b)) }'; }

ok "a fit ends with an ensemble" fit_json --trials 12 --test test.csv -o e.assay
ok "which ships in the place of the best single model" test "$(result ensemble.ships)" = true
ok "less than an error worse by its nested score, as rows are few" awk -v g="$(result ensemble.gain)" -v e="$(result ensemble.gain_se)" 'BEGIN { exit !(g > -e) }'
ok "what to expect of it is no better than its score" awk -v a="$(result ensemble.score)" -v e="$(result ensemble.estimate.score)" -v o="$(result ensemble.estimate.optimism)" 'BEGIN { print a, e, o; d = e - a - o; exit !(e >= a && o >= 0 && d * d < 1e-12) }'
ok "and its error allows for folds that share rows" awk -v a="$(result ensemble.se)" -v e="$(result ensemble.estimate.se)" 'BEGIN { print a, e; exit !(e > 1.4 * a) }'
ok "a fit that a person reads" "$ASSAY" fit train.csv --target y --trials 12 --test test.csv -o said.assay
cp out said
ok "which says what to expect" grep -q "the ensemble ships; expect .* on new rows" said
size() { awk -v b="$(stat -c %s said.assay)" 'BEGIN { printf "%.1f KiB\n", b / 1024 }'; }
ok "with the size of its file" grep -q "^members, $(size) in all: trial" said
ok "weights add up to 1" near "$(jq '[.study.result.ensemble.members[].weight] | add' fit.json)" 1
ok "the leaderboard shows them" near "$(jq '[.leaderboard.rows[].weight // 0] | add' fit.json)" 1
ok "its file predicts" "$ASSAY" predict e.assay test.csv -o p.csv
ok "one line per row" test "$(wc -l <p.csv)" -eq 301
ok "its score is found again" near "$("$ASSAY" score e.assay test.csv --json | jq '.scores[] | select(.metric == "rmse") | .score')" "$(result ensemble.test_score)"
ok "the file names its members" test "$("$ASSAY" predict e.assay --json | jq '.members | length')" = "$(jq '.study.result.ensemble.members | length' fit.json)"
ok "it is explained by columns" "$ASSAY" explain e.assay
ok "its pipelines are one JSON document" test "$("$ASSAY" explain e.assay --pipeline --json | jq -s 'length == 1 and (.[0].members | length >= 2 and all(.pipeline != null and .family != null))')" = true
ok "its rows by values" "$ASSAY" explain e.assay test.csv -o why.csv
ok "which add up to the prediction" awk -F, 'NR > 1 { s = 0; for (i = 3; i <= NF; i++) s += $i; d = s - $1; if (d > 1e-4 || d < -1e-4) bad++ } END { print NR, bad + 0; exit !(NR == 301 && !bad) }' why.csv
ok "and by permutation" "$ASSAY" explain e.assay test.csv --permutation --repeats 1
ok "two fits are equal" fit_json --trials 12 --test test.csv -o again.assay
ok "to the bit" cmp e.assay again.assay
ok "two members at most" fit_json --trials 12 --ensemble 2 -o two.assay
ok "are two" test "$(jq '.study.result.ensemble.members | length' fit.json)" -le 2
ok "off is off" fit_json --trials 12 --ensemble off -o off.assay
ok "without a trace" test "$(result ensemble)" = null
ok "a size that is none is refused" refuses "2 to 50" fit train.csv --target y --trials 2 --ensemble 1 -o x.assay
ok "a word that is none is refused" refuses "2 to 50" fit train.csv --target y --trials 2 --ensemble many -o x.assay

# A service says the same.
served() {
    start_service && cat >s.yaml <<Y && "$ASSAY" submit s.yaml --follow >served && "$ASSAY" show ens >shown && "$ASSAY" leaderboard ens >board && "$ASSAY" export ens -o served.assay
name: ens
dataset: train.csv
target: y
validation: {kind: kfold, folds: 3}
budget: {trials: 12}
Y
}
ok "a study on a service ends with one" served
bytes() { awk -v b="$(stat -c %s served.assay)" 'BEGIN { printf "%.1f KiB\n", b / 1024 }'; }
ok "show says that it ships, and its size" grep -qE "^ensemble +[0-9.]+ ± [0-9.]+ \([2-5] members, $(bytes)\), ships$" shown
ok "the leaderboard has its size, too" grep -q "^members, $(bytes) in all: trial" board

# Of 1,000 rows and more it has to be better.
table 1500 >many.csv
ok "so does a fit of many rows" "$ASSAY" fit many.csv --target y --validation kfold --folds 3 --trials 12 -o many.assay --json
cp out fit.json
ok "which ships" test "$(result ensemble.ships)" = true
ok "and is better by its nested score" awk -v a="$(result ensemble.score)" -v b="$(result ensemble.single)" 'BEGIN { print a, b; exit !(a < b) }'

# Of classes a log-linear pool is tried beside the mean. Where classes follow a sum of smooth parts, what a weak model says is
# best taken away from what a strong one says.
awk 'BEGIN { srand(3); print "a,b,c,d,y"; for (i = 0; i < 1800; i++) { a = 2 * rand() - 1; b = 2 * rand() - 1; c = 2 * rand() - 1; d = 2 * rand() - 1
    print a "," b "," c "," d ",c" int((a + b * b + sin(3 * c) + .3 * d + .3 * rand() + 2.85) * 1.5) } }' >all.csv
head -1201 all.csv >train.csv
{ head -1 all.csv && tail -600 all.csv; } >test.csv
of_classes() { fit_json --trials 12 --families linear,boost,extra_trees --test test.csv "$@"; }
ok "a fit of classes ends with one, too" of_classes -o c.assay
ok "it ships as a pool" test "$(result ensemble.ships) $(result ensemble.rule)" = "true pool"
ok "which is better than the best single model by its nested score" awk -v a="$(result ensemble.score)" -v b="$(result ensemble.single)" 'BEGIN { print a, b; exit !(a < b) }'
ok "and on test rows than the best trial" awk -v a="$(result ensemble.test_score)" -v b="$(jq .leaderboard.rows[0].test_score fit.json)" 'BEGIN { print a, b; exit !(a < b) }'
ok "its score is found again" near "$("$ASSAY" score c.assay test.csv --json | jq '.scores[] | select(.metric == "logloss") | .score')" "$(result ensemble.test_score)"
ok "the file says the rule and the weights" test "$("$ASSAY" predict c.assay --json | jq -c '[.rule, (.members | map(.weight) | add > 0)]')" = '["pool",true]'
ok "it is explained by columns" "$ASSAY" explain c.assay
ok "its rows by values" "$ASSAY" explain c.assay test.csv -o why.csv
ok "two fits are equal" of_classes -o again.assay
ok "to the bit" cmp c.assay again.assay
table 900 >all.csv
head -601 all.csv >train.csv
{ head -1 all.csv && tail -300 all.csv; } >test.csv

# After a holdout the rows held out are dealt out to parts.
held() { "$ASSAY" fit train.csv --target y --trials 12 --families linear,boost,extra_trees --validation holdout --test test.csv "$@" --json >fit.json; }
ok "a fit with a holdout ends with one, too" held -o h.assay
ok "which is better by its nested score" awk -v a="$(result ensemble.score)" -v b="$(result ensemble.single)" 'BEGIN { print a, b; exit !(a < b) }'
ok "it ships in the place of a refit" test "$(result ensemble.ships) $(result refit)" = "true false"
ok "its score is found again" near "$("$ASSAY" score h.assay test.csv --json | jq '.scores[] | select(.metric == "rmse") | .score')" "$(result ensemble.test_score)"
ok "two fits are equal" held -o again.assay
ok "to the bit" cmp h.assay again.assay
ok "without one" held --ensemble off -o h.assay
ok "the best model is refitted" test "$(result ensemble) $(result refit)" = "null true"
ok "without --json" "$ASSAY" fit train.csv --target y --trials 3 --families linear --validation holdout --ensemble off -o r.assay
cp out said
ok "fit says so" grep -q "^trial [0-9]*, refitted on all rows, ships" said
# Of a thousand rows held out, a refit on all rows is worth more than members that are not refitted, unless these gain much.
table 6000 >many.csv
ok "after a holdout of many rows" "$ASSAY" fit many.csv --target y --trials 8 --families linear,boost --validation holdout -o m.assay --json
cp out fit.json
ok "the best model is refitted, and no ensemble ships" test "$(result ensemble.ships) $(result refit)" = "false true"
ok "within 6 s it ends in time" timeout 20 "$ASSAY" fit train.csv --target y --time 6s -o t.assay
finish
