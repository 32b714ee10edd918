#!/bin/bash
# `make test-training`: the training scripts of configs/programs/, of scikit-learn and PyTorch, tuned by ASHA. A study runs
# through on one runner. The same study is paused and resumed, its controller killed once and its runner twice, each time
# another runner takes over; every trial must end at the same level with the same score, bit for bit.
# Not a part of `make test`: a start of a program that imports PyTorch takes seconds. PYTHON has the libraries.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
PYTHON=${PYTHON:-$ROOT/build/training/bin/python}
LIMIT=${LIMIT:-1800} # seconds that a study may take

spec() { # library name: the example with fewer trials, one at a time, on this Python
    sed -e "s/^name: .*/name: $2/" -e 's/^budget: .*/budget: {trials: 6}/' -e "s|^command: \[python3|command: [$PYTHON|" \
        "$ROOT/configs/programs/$1.yaml"
    echo "sampler: tpe"
    echo "parallel: 1"
}
serve() {
    "$ASSAY" serve --data-dir data --no-tcp --lease-ms 1500 >>serve.log 2>&1 &
    SERVE=$!
    PIDS="${PIDS:-} $SERVE"
    until "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done
}
agent() { # name
    "$ASSAY" agent --controller "$ASSAY_URL" --devices cpu:1 --name "$1" --cache-dir "cache-$1" --checkpoint 100ms \
        --allow-command --command-uids self --backoff-max 200ms >>"agent-$1.log" 2>&1 &
    AGENT=$!
    PIDS="$PIDS $AGENT"
}
drop() { # pid
    { kill -9 "$1" && wait "$1"; } 2>/dev/null
}
field() { "$ASSAY" show "$1" --json | jq -r "$2"; }
until_true() { # study jq-condition seconds
    for _ in $(seq $(($3 * 5))); do
        [ "$(field "$1" "$2" 2>/dev/null)" = true ] && return 0
        sleep 0.2
    done
    "$ASSAY" show "$1"
    return 1
}
ends() { "$ASSAY" trials "$1" --limit 1000 --json | jq -c '[.trials[] | [.number, .state, .level, .score]] | sort'; }
# How often a trial went on from its checkpoint; "elsewhere": on another runner than the one that it had before.
went_on() { # study [elsewhere]
    local n
    for n in $(seq "$(field "$1" .trials.total)"); do
        "$ASSAY" trial show "$1/$n" --json
    done | jq -s --arg where "${2:-}" '[.[] | .attempts | sort_by(.fence) | range(1; length) as $i |
        select(.[$i].from > 0 and ($where == "" or .[$i].runner != .[$i - 1].runner))] | length'
}
values() { # study: levels that all its trials have reported together
    local n sum=0
    for n in $(seq "$(field "$1" .trials.total 2>/dev/null)"); do
        sum=$((sum + $("$ASSAY" trial show "$1/$n" --json | jq .level)))
    done
    echo "$sum"
}
until_values() { # study so-many
    for _ in $(seq $((LIMIT * 2))); do
        [ "$(values "$1")" -ge "$2" ] && return 0
        sleep 0.3
    done
    return 1
}

library() { # name module
    if ! "$PYTHON" -c "import $2" 2>import.err; then
        skip "$1" "$PYTHON: $(tail -n 1 import.err)"
        return
    fi
    cp "$ROOT/configs/programs/$1_train.py" .
    spec "$1" "$1-plain" >plain.yaml
    ok "$1: the example is taken" "$ASSAY" submit plain.yaml
    ok "$1: a study with ASHA ends" until_true "$1-plain" '.state == "completed"' "$LIMIT"
    ok "$1: some trials were pruned, some went to the top" test "$(field "$1-plain" '.trials.pruned > 0 and .trials.completed > 0')" = true
    ok "$1: some went on from a checkpoint" test "$(went_on "$1-plain")" -ge 1

    spec "$1" "$1-broken" >broken.yaml
    "$ASSAY" submit broken.yaml >/dev/null
    until_true "$1-broken" '.trials.running > 0' 60
    "$ASSAY" pause "$1-broken" >/dev/null # its program is stopped, its folder kept
    ok "$1: paused" until_true "$1-broken" '.state == "paused" and .trials.running == 0' 60
    "$ASSAY" resume "$1-broken" >/dev/null
    until_values "$1-broken" 1
    drop "$SERVE"
    serve
    for k in 1 2; do # two machines are lost
        until_values "$1-broken" $((k * 3))
        drop "$AGENT"
        agent "$1-$k"
    done
    ok "$1: paused, and killed three times: it ends" until_true "$1-broken" '.state == "completed"' "$LIMIT"
    ok "$1: every trial ends as in the unbroken study" test "$(ends "$1-broken")" = "$(ends "$1-plain")"
    ok "$1: trials went on from their checkpoints on another runner" test "$(went_on "$1-broken" elsewhere)" -ge 1
}

export ASSAY_URL=unix:$WORK/data/sock
serve
agent first
library sklearn sklearn
library torch torch
finish
