#!/bin/bash
# Networks that two ranks train together, through a runner: a rank that is lost ends the attempt with its reason, the trial is
# tried again from its last checkpoint, and the study ends with the leaderboard and the model of a run that lost none.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

"$ASSAY" data make twonorm --rows 400 -o table.csv 2>/dev/null
cat >spec.yaml <<'END2'
name: ranks
dataset: table
target: class
metric: logloss
budget: {trials: 4}
seed: 5
sampler: random
scheduler: {kind: hyperband, eta: 3}
validation: {kind: kfold, folds: 3}
parallel: 2
space:
  - {family: mlp, ranks: 2, epochs: 15, layers: 1, width: {int_log: [16, 32]}, batch: 64, members: 1, embedding: none}
END2

# A controller and a runner of one core, in a folder of its own.
service() { # folder
    export ASSAY_URL=unix:$WORK/$1/sock
    "$ASSAY" serve --data-dir "$1" --no-tcp >"$1.serve.log" 2>&1 &
    PIDS="${PIDS:-} $!"
    until "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done
    "$ASSAY" agent --controller "$ASSAY_URL" --devices cpu:1 --cache-dir "$1.cache" >"$1.agent.log" 2>&1 &
    PIDS="$PIDS $!"
    "$ASSAY" data add table.csv --name table >/dev/null && "$ASSAY" submit spec.yaml >/dev/null
}

completes() {
    local state
    for _ in $(seq 300); do
        state=$("$ASSAY" ls --json | jq -r '.studies[0].state')
        case $state in completed) return 0 ;; failed | stopped | paused) return 1 ;; esac
        sleep 0.2
    done
    return 1
}

# What came of it, without anything that was measured; and all attempts.
outcome() { # folder
    curl -sS --unix-socket "$1/sock" "http://assay/api/v1/studies/ranks/trials?limit=1000" >"$1.trials.json"
    jq -c '.trials[] | [.number, .state, .level, .score, .config]' "$1.trials.json" >"$1.board"
    for id in $(jq -r '.trials[] | select(.family == "mlp") | .id' "$1.trials.json"); do
        curl -sS --unix-socket "$1/sock" "http://assay/api/v1/trials/$id"
    done | jq -c '.attempts[]' >"$1.attempts"
    "$ASSAY" export ranks -o "$1.assay" >/dev/null
}

for tool in jq curl; do
    command -v $tool >/dev/null || { skip "ranks through a runner" "no $tool"; finish; exit; }
done

ok "a service takes the study" service whole
ok "it completes" completes
outcome whole
ok "with no failed attempt" jq -e -s 'length > 3 and all(.[]; .end_reason != "device")' whole.attempts
ok "and ranks in its configurations" jq -e 'any(.trials[]; .config.ranks == 2)' whole.trials.json

export ASSAY_DEV=true ASSAY_FAULT=net.rank:30
ok "a service whose last rank will be lost takes it" service lost
ok "it completes" completes
outcome lost
ok "one attempt failed by the machine" jq -e -s '[.[] | select(.end_reason == "device")] | length == 1' lost.attempts
ok "and its reason names the rank" grep -q 'mlp: rank 1 of 2 was lost: it gave up' lost.serve.log
ok "no trial failed" jq -e 'all(.trials[]; .state != "failed")' lost.trials.json
ok "the leaderboard is that of the other" cmp whole.board lost.board
ok "and so is the model" cmp whole.assay lost.assay
finish
