#!/bin/bash
# The bars of the real tables: `assay fit` for 60 s (covertype 120 s), three seeds, scored by `assay predict` on the test rows of the
# datasets' split rule. Prints score per seed and the median beside the bar. Usage: tests/bench/bench_real.sh [TABLE...]
B=${B:-build/gcc}
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
[ -d "$DATA" ] || { echo "no ../shared/datasets here"; exit 77; }
SEEDS=${SEEDS:-1 2 3}

table() { # name file target metric bar time
    local scores="" got took start
    case " ${WANT:-$1} " in *" $1 "*) ;; *) return ;; esac
    split_table "$DATA/$2"
    for seed in $SEEDS; do
        start=$(now_ms)
        "$ASSAY" fit train.csv --target "$3" --metric "$4" --time "$6" --seed "$seed" --test test.csv --json -o m.assay >fit.json 2>err || cat err
        took=$(($(now_ms) - start))
        "$ASSAY" predict m.assay test.csv -o p.csv
        got=$(jq -r '.leaderboard.rows[0].test_score // "null"' fit.json)
        echo "  seed $seed: $4 $got, $(jq '.leaderboard.rows | length' fit.json) trials, $(jq -r '.leaderboard.rows[0].family' fit.json), ${took} ms"
        scores="$scores $got"
    done
    echo "$1: median $(tr ' ' '\n' <<<"${scores# }" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'), bar $5 ($4, $6)"
}
WANT="$*"
[ -n "$WANT" ] || unset WANT
table adult adult.csv.gz income auc 0.927 60s
table bank bank_marketing.csv.gz y auc 0.936 60s
table satimage satimage.csv class accuracy 0.915 60s
table california california_housing.csv.gz median_house_value rmse 47500 60s
table letter letter.csv class accuracy 0.955 60s
table covertype covertype_150k.csv.gz Cover_Type accuracy 0.90 120s
