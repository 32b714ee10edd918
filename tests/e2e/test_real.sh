#!/bin/bash
# Real tables, judged on rows the search never saw (datasets' split rule: row i is test if i * 2654435761 mod 2^32 is below
# 2^30). Short limits here: the full bars are `make bench-real`. Skips when the tables are not there.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
[ -d "$DATA" ] || { echo "no ../shared/datasets here"; exit 77; }

beats() { # file target metric bar time: the model that is delivered reaches the bar on rows it never saw
    split_table "$DATA/$1"
    "$ASSAY" fit train.csv --target "$2" --metric "$3" --time "$5" --test test.csv --json -o m.assay >fit.json || return 1
    local got
    got=$("$ASSAY" score m.assay test.csv --json | jq --arg m "$3" '.scores[] | select(.metric == $m) | .score')
    echo "$1 $3 $got, bar $4"
    awk -v a="$got" -v b="$4" -v m="$3" 'BEGIN { exit !(m ~ /rmse|logloss/ ? a <= b : a >= b) }'
}

ok "iris" beats iris.csv class accuracy 0.9 4s
ok "wine" beats wine.csv class accuracy 0.9 4s
ok "breast cancer" beats breast_cancer_wdbc.csv diagnosis auc 0.98 5s
ok "concrete" beats concrete.csv strength rmse 7 6s
ok "mammography" beats mammography.csv class auc 0.92 8s
ok "abalone" beats abalone.csv rings rmse 2.35 6s
ok "adult" beats adult.csv.gz income auc 0.918 15s
finish
