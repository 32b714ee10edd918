#!/bin/bash
# Rows of one group in several folds promised far too much and nobody said so (validation .67, test 2.25), and so did folds that
# ignore time (.69, 3.50). The table's key is named as a hint; with --groups and --time-column validation is near the test score.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

grouped() { # groups seed: 20 rows each, which resemble one another
    awk -v n="$1" -v seed="$2" 'function g() { return sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()) }
        BEGIN { srand(seed); print "who,a,b,c,y"
            for (i = 0; i < n; i++) { e = 2.2 * g(); a = g(); b = g(); c = g()
                for (j = 0; j < 20; j++)
                    printf "p%d_%d,%.4f,%.4f,%.4f,%.4f\n", seed, i, a + .02 * g(), b + .02 * g(), c + .02 * g(), e + .6 * g() } }'
}
wandering() { # rows: the level of the target wanders and comes back
    awk -v n="$1" 'function g() { return sqrt(-2 * log(1 - rand())) * cos(6.2831853 * rand()) }
        BEGIN { srand(5); print "day,x,w,y"
            for (i = 0; i < n; i++) { l = .9875 * l + .32 * g(); x = g(); printf "%d.5,%.4f,%d,%.4f\n", i, x, i % 3, l + .5 * x + .5 * g() } }'
}
number() { # file key: of the best trial
    sed -n "s/.*\"$2\": *\([-0-9.e]*\).*/\1/p" "$1" | head -1
}
between() { # value low high
    awk -v v="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(v >= a && v <= b) }'
}
fit() { # name arguments: boosting alone, as JSON
    local name=$1
    shift
    "$ASSAY" fit "$@" --target y --families boost --trials 2 --json -o "$name.assay" >"$name.json" 2>"$name.err" || cat "$name.err"
}

grouped 100 1 >train.csv
grouped 60 2 >test.csv
fit naive train.csv --columns who=ignore --test test.csv
fit hinted train.csv
fit honest train.csv --groups who --test test.csv
ok "dividing groups promises too much" between "$(number naive.json score)" 0.5 1.1
ok "the key is named" grep -q '"code": "grouped"' hinted.json
ok "with the option to give" grep -q 'then give groups: who' hinted.json
ok "nothing is said of groups that are named" sh -c '! grep -q "\"code\": \"grouped\"" honest.json'
ok "with groups validation is honest" between "$(number honest.json score)" 1.8 3
ok "and near the test" between "$(number honest.json test_score)" 1.8 3

wandering 2000 >t.csv
head -1501 t.csv >past.csv
{ head -1 t.csv; tail -500 t.csv; } >future.csv
fit unordered past.csv --test future.csv
fit ordered past.csv --test future.csv --time-column day --gap 2 --weights w
ok "ignoring time promises too much" between "$(number unordered.json score)" 0.5 1.2
ok "the order is named" grep -q 'then give time: day' unordered.json
ok "forward in time validation is honest" between "$(number ordered.json score)" 1.5 3.2
ok "the winner is refitted on all rows" test -s ordered.assay
"$ASSAY" predict ordered.assay future.csv -o p.csv >/dev/null 2>&1
ok "and predicts" test "$(wc -l <p.csv)" -eq 501

"$ASSAY" fit train.csv --target y --groups nobody --trials 1 -o x.assay 2>e.txt
ok "a missing column is one error" grep -q -- '--groups: [a-z.]* has no column "nobody"' e.txt
"$ASSAY" fit t.csv --target y --weights x --trials 1 -o x.assay 2>e.txt
ok "a negative weight is one error" grep -q 'weights: column "x" goes down to' e.txt
"$ASSAY" fit t.csv --target y --groups w --time-column day --trials 1 -o x.assay 2>e.txt
ok "groups and time together are one error" grep -q -- '--groups: does not go with --time-column' e.txt
"$ASSAY" fit train.csv --target y --families linear --trials 2 -o x.assay 2>e.txt >/dev/null
ok "warnings are printed" grep -q '^warning: Rows with the same "who"' e.txt
finish
