#!/bin/bash
# What trials were promised of a worker's memory, beside what the process then took, over short whole searches of real tables.
# *trial* = what was said of it / growth of the resident memory since it was admitted, without pages of files (code, mapped
# tables) that were touched meanwhile; *process* = the same with what the process held before. A trial counts by its own
# figures from FLOOR MB on (said or true), below by the process's: there a worker's fixed cost is the most of it.
# Of each level of a trial: *promised*: all its promises, each beside what was taken until the next one or the end (the share
# of levels of which every promise is within 20%, and the range of all promises); *planned*: the whole level in one guess as
# it was admitted; *first*: the same as soon as it had trees; *held*: no estimate, what the trial itself counted.
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

# Lines "kind family level trial before missing said... peak resident" of a search's logs, in bytes; peak without files.
levels() {
    grep -rhsE 'trial\.memory |memory\.promise ' "$TMPDIR" | awk '{
        kind = /memory\.promise/ ? "promise" : "level"
        delete v
        for (i = 1; i <= NF; i++) { split($i, p, "="); v[p[1]] = p[2] }
        key = v["device"] " " v["trial"] " " v["level"]
        peak = v["peak"] - v["file"]
        if (kind == "promise") {
            promises[key] = promises[key] " " v["promise"] " " v["before"] + v["missing"] " " peak
            next
        }
        print v["family"], v["level"], v["trial"], v["before"] + v["missing"], v["admitted"], v["first"], v["held"], peak, v["resident"] promises[key]
        promises[key] = "" }'
}

sum_up() { # name < lines of levels
    awk -v floor="$((FLOOR << 20))" '
        function ratio(said, base, peak, own, all) {
            own = peak - base > 1 ? peak - base : 1
            all = base + said > $9 ? base + said : $9
            return said > floor || own > floor ? said / own : all / peak
        }
        { lo = hi = 1; n = 0
          for (i = 10; i <= NF; i += 3) {
              r = ratio($i, $(i + 1), $(i + 2))
              lo = n == 0 || r < lo ? r : lo; hi = n == 0 || r > hi ? r : hi; n++ }
          own = $8 - $4
          print $1, lo, hi, n, ratio($5, $4, $8), ratio($6, $4, $8), ratio($7, $4, $8), own / 1048576, $3, $2 }' >ratios
    for family in $(cut -d' ' -f1 ratios | sort -u) all; do
        awk -v f="$family" -v name="$1" -v floor="$FLOOR" 'f == "all" || $1 == f {
            n++; big += $8 > floor; if ($8 > most) most = $8
            kept += $2 > 1 / 1.2 && $3 < 1.2; count += $4
            if (!least || $2 < least) least = $2
            if ($3 > top) top = $3
            for (i = 5; i <= 7; i++) {
                good[i] += $i > 1 / 1.2 && $i < 1.2
                if (!lo[i] || $i < lo[i]) lo[i] = $i
                if ($i > hi[i]) hi[i] = $i } }
            END { if (!n) exit
                  printf "%-12s %-12s levels %3d (large %2d, to %4.0f MB)  promised %3d%% (%.2f..%.2f) in %d", name, f, n, big,
                      most, 100 * kept / n, least, top, count
                  split(". . . . planned first held", word, " ")
                  for (i = 5; i <= 7; i++) printf "  %s %3d%% (%.2f..%.2f)", word[i], 100 * good[i] / n, lo[i], hi[i]
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
