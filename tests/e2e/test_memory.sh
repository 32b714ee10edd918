#!/bin/bash
# A search under a tight limit of memory, with real workers: nobody is killed for memory it was promised, what does not fit is
# refused before it takes anything, and what truly takes more than it said fails alone, after a second try, while the
# study goes on. One processor, so that the limit is one worker's.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
case ${SAN:-}${B:-} in *address* | *thread* | *undefined*) echo "a sanitizer takes memory of its own"; exit 77 ;; esac
cpu=$(taskset -cp $$ 2>/dev/null | grep -o '[0-9]*' | sed -n 2p)
[ -n "$cpu" ] || { echo "no taskset here"; exit 77; }
export TMPDIR=$WORK/tmp ASSAY_KEEP_TEMP=1 ASSAY_LOG_LEVEL=debug
mkdir -p "$TMPDIR"

"$ASSAY" data make friedman1 --rows 6000 --seed 3 -o train.csv 2>/dev/null
cat >spec.yaml <<'END'
name: tight
dataset: train.csv
target: y
metric: rmse
validation: {kind: kfold, folds: 3}
budget: {trials: 9}
scheduler: none
seed: 5
space:
  - {family: linear}
  - {family: forest, trees: 300}
  - {family: boost, rounds: 60, leaves: {int_log: [8, 31]}, learning_rate: 0.1}
END

search() { # name memory
    rm -rf "${TMPDIR:?}"/*
    ASSAY_MEMORY=$2 taskset -c "$cpu" "$ASSAY" run spec.yaml --dir "data-$1" --device cpu --json -o "$1.assay" >"$1.json" 2>"$1.err"
    local rc=$?
    grep -rhs . "$TMPDIR" >"$1.log"
    return $rc
}

# The most that a worker held, in MB, from its own words.
peak() { grep -o 'trial\.memory .*peak=[0-9]*' "$1.log" | sed 's/.*peak=//' | sort -n | tail -1 | awk '{ printf "%d\n", $1 / 1048576 }'; }
within() { echo "peak $(peak "$1") MB"; [ "$(peak "$1")" -gt 0 ] && [ "$(peak "$1")" -lt "$2" ]; }
count() { grep -c -- "$2" "$1.log"; }
none() { ! grep -- "$2" "$1.log"; }
some() { grep -q -- "$2" "$1.log"; }
trials() { # name: how many were completed, of each family
    grep -o 'trial\.complete .*' "$1.log" | wc -l
}

ok "without a limit" search free 0
ok "forests would take more than the limit" test "$(peak free)" -gt 64
ok "with a limit below that" search tight 64MiB
ok "nobody was killed for memory" none tight 'of memory, limit'
ok "nor was anybody refused" none tight 'needs at least'
ok "the worker stayed below the limit" within tight 64
ok "every trial was completed" test "$(trials tight)" = "$(trials free)"
ok "a forest ended early, with its best so far" some tight 'memory.full .*family=forest'

export ASSAY_DEV=true ASSAY_FAULT=worker.model.forest:4
ok "a forest too large for a model file" search large 256MiB
unset ASSAY_DEV ASSAY_FAULT
ok "ends early" some large 'model.full .*family=forest'
ok "with its best so far, where it had any" test "$(trials large)" -ge $(($(trials free) - 1))

"$ASSAY" data make friedman1 --rows 100000 --seed 4 -o train.csv 2>/dev/null
ok "a table too large for forests" search narrow 48MiB
ok "they are refused, and why is said" some narrow 'forest needs at least .* of memory for this table'
ok "before they took anything" none narrow 'of memory, limit'
ok "the worker stayed below this limit, too" within narrow 48
ok "linear models were completed" test "$(trials narrow)" -gt 1

"$ASSAY" data make friedman1 --rows 1000 --seed 5 -o train.csv 2>/dev/null
export ASSAY_DEV=true ASSAY_FAULT=worker.hoard.linear
ok "trials that take more than anybody thought" search greedy 64MiB
ok "are killed and tried again, once" test "$(count greedy 'trial.fail .*reason=crashed_alone')" -gt 0
ok "twice as many kills as such trials" test "$(count greedy 'worker.dead .*of memory, limit')" -eq $((2 * $(count greedy 'trial.fail .*reason=crashed_alone')))
ok "all others were completed" test "$(trials greedy)" -eq $(($(trials free) - $(count greedy 'trial.fail .*reason=crashed_alone')))
ok "with a model" test -s greedy.assay
finish
