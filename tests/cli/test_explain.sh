#!/bin/bash
# `assay explain` as a person uses it: what a model holds important, why a row is predicted as it is, what a shuffle costs; and
# what it says when asked for what cannot be.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

# y = 9 x0 + 3 (kind is b), x1 is noise; the names need quotes in CSV
make_table() { # rows seed
    awk -v n="$1" -v seed="$2" 'BEGIN { srand(seed); print "\"x\"\"0\",x1,kind,y,who"; split("a b c", k, " ")
        for (i = 0; i < n; i++) { x = rand(); j = k[int(3 * rand()) + 1]; y = 9 * x + 3 * (j == "b")
            printf "%.4f,%.4f,%s,%.4f,%s\n", x, rand(), j, y, (y > 7 ? "big" : y > 3 ? "mid" : "tiny") } }'
}
make_table 400 1 >train.csv
make_table 100 2 >test.csv
cut -d, -f1,3-5 test.csv >less.csv
fit() { "$ASSAY" fit train.csv --trials 2 --seed 1 "$@" >/dev/null 2>&1; }
fit --target y --families boost --columns who=ignore -o r.assay
fit --target who --families boost --columns y=ignore -o m.assay
fit --target y --families linear --columns who=ignore -o l.assay
fit --target y --families forest --columns who=ignore -o f.assay

# adds_up FILE.csv: base and values of every row make the score; prediction = score where $2 is "same"
adds_up() {
    awk -F, -v same="${2:-}" 'NR == 1 { n = split($0, head, ","); for (i in head) if (head[i] == "base") b = i; next }
        { s = 0; for (i = b; i <= n; i++) s += $i; d = s - $(b - 1); if (same) d += 1e3 * ($1 - $(b - 1)) ^ 2
          if (d < -1e-5 || d > 1e-5) { print "row " NR ": " s " is not " $(b - 1); exit 1 } }
        END { if (NR != 101) { print NR " lines"; exit 1 } }' "$1"
}
first_is() { "$ASSAY" explain "$@" --json | jq -e '.columns[0].name == "x\"0" and .columns[-1].name == "x1"'; }
shares() { "$ASSAY" explain "$1" --json | jq -e --arg m "$2" '.measure == $m and ([.columns[].importance] | add) > 0.999'; }
refuses() { # code pattern command...
    local want=$1 pattern=$2 got
    shift 2
    "$@" >"$WORK/o" 2>"$WORK/e"
    got=$?
    cat "$WORK/e"
    [ "$got" -eq "$want" ] && grep -qiE "$pattern" "$WORK/e" && [ ! -e "$WORK/h.csv" ]
}

for m in r m f; do
    ok "$m: the column that decides comes first" first_is $m.assay
    ok "$m: shares of gains" shares $m.assay gain
done
ok "l: the column that decides comes first" first_is l.assay
ok "l: shares of weights" shares l.assay weight
told() { # model: its own description has the same shares
    awk -v a="$("$ASSAY" explain "$1" --json | jq '.columns[0].importance')" \
        -v b="$("$ASSAY" predict "$1" --json | jq '[.inputs[].importance] | max')" 'BEGIN { d = a - b; exit !(b > 0 && d * d < 1e-11) }'
}
for m in r m l f; do ok "$m: the model file tells the shares" told $m.assay; done
ok "people get a table" grep -q 'x"0 .*%.*█' <("$ASSAY" explain r.assay)
ok "importance as CSV" "$ASSAY" explain r.assay -o i.csv
ok "has one line per column, the first first" test "$(sed -n 2p i.csv | cut -d, -f1) $(wc -l <i.csv)" = '"x""0" 4'

# a person can predict with the weights: constant + weight * x0 + weight * x1 + the weight of the level
weights_predict() {
    "$ASSAY" explain l.assay --weights -o w.csv && "$ASSAY" predict l.assay test.csv -o p.csv &&
        awk -F, 'FNR == 1 { file++; next } file == 1 { w[$1] = $2; next } file == 2 { p[FNR] = $1; next }
            { s = w["(constant)"] + w["\"x\"\"0\""] * $1 + w["x1"] * $2 + w["kind = " $3]; d = s - p[FNR]
              if (d < -1e-4 || d > 1e-4) { print "row " FNR ": " s " is not " p[FNR]; exit 1 } n++ }
            END { exit !(n == 100) }' w.csv p.csv test.csv
}
ok "l: weights in units of the columns give the predictions" weights_predict
ok "l: one unit of x0 adds 9" "$ASSAY" explain l.assay --weights --json
ok "l: they stand by size" jq -e '[.terms[1:][].per_spread] == ([.terms[1:][].per_spread] | sort | reverse)' \
    <("$ASSAY" explain l.assay --weights --json)
ok "r: trees have no weights" refuses 1 "family boost has no weight for each column" "$ASSAY" explain r.assay --weights -o h.csv
ok "weights take no table" refuses 2 "needs the model only" "$ASSAY" explain l.assay test.csv --weights -o h.csv

for m in r l f; do
    ok "$m: values of rows" "$ASSAY" explain $m.assay test.csv -o $m.csv
    ok "$m: they add up to the prediction" adds_up $m.csv same
done
ok "the header names the columns" test "$(head -1 r.csv)" = 'prediction,score,base,"x""0",x1,kind'
ok "classes: values of rows" "$ASSAY" explain m.assay test.csv -o m.csv
ok "classes: they add up to the score" adds_up m.csv
ok "classes: the predicted one is explained" awk -F, 'NR > 1 && $1 != $2 { exit 1 }' m.csv
"$ASSAY" predict m.assay test.csv -o p.csv
ok "classes: predictions are those of predict" cmp <(cut -d, -f1 m.csv) <(cut -d, -f1 p.csv)
ok "a class that was asked for" "$ASSAY" explain m.assay test.csv --class tiny -o t.csv
ok "is the one explained" test "$(cut -d, -f2 t.csv | sort -u | tr '\n' ' ')" = "class tiny "
ok "some rows as JSON" "$ASSAY" explain m.assay test.csv --rows 7 --json -o rows.json
ok "hold what the CSV holds" test "$(jq -r '.rows | length' rows.json) $(jq -r '.rows[6] | [.prediction, .class] | join(",")' rows.json)" = "7 $(sed -n 8p m.csv | cut -d, -f1,2)"
ok "the target need not be there" "$ASSAY" explain r.assay <(cut -d, -f1-3 test.csv)

for m in r m l f; do
    ok "$m: by mean values: the column that decides comes first" first_is $m.assay test.csv --mean
done
ok "mean values are those of the rows" awk -F, -v want="$("$ASSAY" explain r.assay test.csv --mean --json | jq '.columns[0].total')" \
    'NR > 1 { s += $4 < 0 ? -$4 : $4 } END { d = s / 100 - want; exit !(d * d < 1e-12) }' r.csv
ok "mean values without a table" refuses 2 'table' "$ASSAY" explain r.assay --mean

ok "by shuffling: the column that decides comes first" first_is r.assay test.csv --permutation
ok "by shuffling: it costs most of the spread" jq -e '.columns[0].loss > 1 and .columns[0].se > 0 and .metric == "rmse" and .rows == 100' <("$ASSAY" explain r.assay test.csv --permutation --json)
ok "by shuffling, classes" first_is m.assay test.csv --permutation
ok "the same seed gives the same" cmp <("$ASSAY" explain m.assay test.csv --permutation --json --seed 3) <("$ASSAY" explain m.assay test.csv --permutation --json --seed 3)
ok "people get a table of it" grep -q 'x"0 .*█' <("$ASSAY" explain r.assay test.csv --permutation --repeats 1)

fit --target y --families mlp --columns who=ignore -o n.assay
ok "a network: shuffling says which column decides" first_is n.assay test.csv --permutation
ok "a network does not say it by itself, and how to measure it" \
    refuses 1 'family mlp does not say .*--permutation' "$ASSAY" explain n.assay
ok "a network: rows cannot be explained, columns can" \
    refuses 1 'family mlp cannot be explained; --permutation' "$ASSAY" explain n.assay test.csv -o h.csv

ok "a missing column is named" refuses 1 'less.csv lacks .*"x1"' "$ASSAY" explain r.assay less.csv -o h.csv
ok "or it is missing in every row" "$ASSAY" explain r.assay less.csv --missing-columns missing -o missing.csv
ok "with a value for it" test "$(head -1 missing.csv)" = 'prediction,score,base,"x""0",x1,kind'
ok "also where columns are shuffled" "$ASSAY" explain r.assay less.csv --missing-columns missing --permutation
ok "a missing target is named" refuses 1 'test.csv: .*"x9"' "$ASSAY" explain r.assay test.csv --permutation --target x9 -o h.csv
ok "a target of text" refuses 1 'who|number' "$ASSAY" explain r.assay test.csv --permutation --target who -o h.csv
ok "a target that is an input" refuses 1 'reads the column "kind" as an input' "$ASSAY" explain r.assay test.csv --permutation --target kind
ok "a class without a table" refuses 2 'class needs a table' "$ASSAY" explain m.assay --class tiny
ok "a class where columns are shuffled" refuses 2 'without --permutation' "$ASSAY" explain m.assay test.csv --permutation --class tiny
ok "rows without a table" refuses 2 'rows needs a table' "$ASSAY" explain r.assay --rows 3
ok "a word that is none" refuses 2 'is error or missing' "$ASSAY" explain r.assay test.csv --missing-columns no
ok "a class that is none" refuses 1 '"huge"' "$ASSAY" explain m.assay test.csv --class huge -o h.csv
ok "no model" refuses 1 'test.csv' "$ASSAY" explain test.csv
ok "no table to shuffle" refuses 2 'table' "$ASSAY" explain r.assay --permutation
ok "a target without --permutation" refuses 2 'permutation' "$ASSAY" explain r.assay test.csv --target y
ok "nowhere to write" refuses 1 'no/such' "$ASSAY" explain r.assay test.csv -o no/such/place.csv
ok "explanations do not replace the table" refuses 1 'is the file that is read' "$ASSAY" explain r.assay test.csv -o test.csv
ok "nothing is left behind" test -z "$(ls -A "$TMPDIR")"
finish
