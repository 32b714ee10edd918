#!/bin/bash
# What trials were promised of a worker's memory, beside what the process then took, over short whole searches of real tables.
# Of each level of a trial: *trial* = estimate of what it holds / growth of the resident memory while it ran; *process* = the
# same with what the process held before it. A trial counts by its own figures from FLOOR MB on (estimate or truth), below
# by the process's: there a worker's fixed cost is the most of it. *admitted*: as it began; *first*: as soon as it had trees;
# *last*: before it reached the level; *held*: no estimate, what the trial itself counted.
# Usage: [TRIALS=40] [SEED=1] [FLOOR=32] [MEMORY=BYTES of all workers] tests/bench/bench_memory.sh [TABLE...]
B=${B:-build/gcc}
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
[ -d "$DATA" ] || { echo "no ../shared/datasets here"; exit 77; }
TRIALS=${TRIALS:-40}
SEED=${SEED:-1}
FLOOR=${FLOOR:-32}
[ -n "${MEMORY:-}" ] && export ASSAY_MEMORY=$MEMORY
export TMPDIR=$WORK/tmp ASSAY_KEEP_TEMP=1 ASSAY_LOG_LEVEL=debug
mkdir -p "$TMPDIR"

# Lines "family level before missing admitted first last held peak resident" of a search's logs, in bytes.
levels() {
    grep -rhs 'trial\.memory ' "$TMPDIR" | sed 's/.*trial\.memory//' | awk '{
        for (i = 1; i <= NF; i++) { split($i, p, "="); v[p[1]] = p[2] }
        print v["family"], v["level"], v["before"], v["missing"], v["admitted"], v["first"], v["last"], v["held"], v["peak"], v["resident"] }'
}

sum_up() { # name < lines of levels
    awk -v floor="$((FLOOR << 20))" '{
        own = $9 - $3 - $4 > 1 ? $9 - $3 - $4 : 1
        line = $1
        for (i = 5; i <= 8; i++) {
            all = $3 + $4 + $i > $10 ? $3 + $4 + $i : $10
            line = line " " ($i > floor || own > floor ? $i / own : all / $9)
        }
        print line, (own > floor), own / 1048576 }' >ratios
    for family in $(cut -d' ' -f1 ratios | sort -u) all; do
        awk -v f="$family" -v name="$1" 'f == "all" || $1 == f {
            n++; big += $6; if ($7 > most) most = $7
            for (i = 2; i <= 5; i++) {
                good[i] += $i > 1 / 1.2 && $i < 1.2
                if (!lo[i] || $i < lo[i]) lo[i] = $i
                if ($i > hi[i]) hi[i] = $i } }
            END { printf "%-12s %-12s levels %3d (large %2d, to %4.0f MB)", name, f, n, big, most
                  split(". admitted first last held", word, " ")
                  for (i = 2; i <= 5; i++) printf "  %s %3d%% (%.2f..%.2f)", word[i], 100 * good[i] / n, lo[i], hi[i]
                  print "" }' ratios
    done
}

table() { # name file target metric
    case " ${WANT:-$1} " in *" $1 "*) ;; *) return ;; esac
    cat >spec.yaml <<SPEC
name: search
dataset: $DATA/$2
target: $3
metric: $4
validation: {kind: kfold, folds: 5}
seed: $SEED
budget: {trials: $TRIALS}
scheduler: ${SCHEDULER:-asha}
space: [{family: boost}, {family: forest}, {family: extra_trees}, {family: linear}]
SPEC
    rm -rf "${TMPDIR:?}"/* data
    "$ASSAY" run spec.yaml --dir data -o m.assay >run.txt 2>&1 || cat run.txt
    levels >levels.txt
    [ -n "${KEEP:-}" ] && cp levels.txt "$KEEP/$1.levels" && cp -r "$TMPDIR" "$KEEP/$1.logs"
    sum_up "$1" <levels.txt
    echo "$1: killed for memory $(grep -rhs 'of memory, limit' "$TMPDIR" | wc -l), ended for it $(grep -rhs 'reason=memory' "$TMPDIR" | wc -l)"
}
WANT="$*"
[ -n "$WANT" ] || unset WANT
table concrete concrete.csv strength rmse
table mammography mammography.csv class auc
table satimage satimage.csv class logloss
table california california_housing.csv.gz median_house_value rmse
table letter letter.csv class logloss
table adult adult.csv.gz income auc
table covertype covertype_150k.csv.gz Cover_Type logloss
