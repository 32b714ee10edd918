#!/bin/bash
# Trials that two devices train together, on two runners: the study ends with the leaderboard of one whose networks two threads
# trained; a rank that is killed, with its worker or with its runner, costs an attempt and nothing else; a trial that no fleet
# can hold is said plainly; neither small trials nor such a trial keep each other from the devices; cancelling frees them all.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

for tool in jq curl; do
    command -v $tool >/dev/null || { skip "trials of several devices" "no $tool"; finish; exit; }
done

"$ASSAY" data make twonorm --rows 400 -o table.csv 2>/dev/null

spec() { # name parameters epochs
    cat <<END2
name: $1
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
  - {family: mlp, $2, epochs: $3, layers: 1, width: {int_log: [16, 32]}, batch: 16, members: 1, embedding: none}
END2
}

agent() { # folder name
    "$ASSAY" agent --controller "$ASSAY_URL" --name "$2" --devices cpu:1 --cache-dir "$1.cache.$2" --checkpoint 200ms \
        >>"$1.agent.$2.log" 2>&1 &
    PIDS="$PIDS $!"
}

# A controller with two runners of one core each.
service() { # folder
    export ASSAY_URL=unix:$WORK/$1/sock
    HERE=$1
    "$ASSAY" serve --data-dir "$1" --no-tcp >"$1.serve.log" 2>&1 &
    PIDS="${PIDS:-} $!"
    until "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done
    agent "$1" one
    AGENT=$!
    agent "$1" two
    "$ASSAY" data add table.csv --name table >/dev/null
}

# A controller whose disk is slow may be busy for a moment.
submit() {
    for _ in $(seq 20); do
        "$ASSAY" submit "$1" 2>submit.err && return 0
        grep -q busy submit.err || break
        sleep 0.5
    done
    cat submit.err >&2
    return 1
}

api() { curl -sS --unix-socket "$HERE/sock" "http://assay/api/v1/$1"; }
state() { api "studies/$1" | jq -r .state; }

completes() { # study
    for _ in $(seq 1500); do
        case $(state "$1") in completed) return 0 ;; failed | stopped | paused) return 1 ;; esac
        sleep 0.2
    done
    return 1
}

# What came of it, without anything that was measured and without the parameter that differs.
outcome() { # study file
    api "studies/$1/trials?limit=1000" >"$2.trials.json"
    jq -c '.trials[] | [.number, .state, .level, .score, (.config | del(.devices, .ranks))]' "$2.trials.json" >"$2.board"
    for id in $(jq -r '.trials[] | select(.family == "mlp") | .id' "$2.trials.json"); do
        api "trials/$id"
    done | jq -c '.attempts[]' >"$2.attempts"
}

# ---- whole ----

ok "a service with two runners" service whole
spec gang "devices: 2" 12 >gang.yaml
spec threads "ranks: 2" 12 >threads.yaml
ok "takes a study of two devices a trial" submit gang.yaml
ok "which completes" completes gang
ok "and then one of two threads a trial" submit threads.yaml
ok "which completes" completes threads
outcome gang gang
outcome threads threads
ok "the leaderboards are equal, bit for bit" cmp gang.board threads.board
ok "the ranks met on both runners" grep -q 'ranks.met.* rank=0' whole.agent.one.log whole.agent.two.log
ok "no attempt was lost" jq -e -s 'all(.[]; .end_reason | IN("complete", "pause", "prune", "stopped"))' gang.attempts

# ---- too large, and refused ----

spec large "devices: 3" 2 >large.yaml
ok "a study whose trials need three devices is taken" submit large.yaml
ok "and says that there are two" within 60 sh -c "curl -sS --unix-socket '$WORK/whole/sock' http://assay/api/v1/studies/large | \
    grep -q 'needs 3 devices of one kind, but the runners that are connected have 2 of kind cpu'"
spec small "epochs: 1" 2 | sed 's/family: mlp.*/family: linear}/' >small.yaml
ok "it holds nothing up: another study" submit small.yaml
ok "completes" completes small
agent whole three
ok "with a third runner the large one completes, too" completes large
spec both "devices: 2, ranks: 2" 2 >both.yaml
ok "devices and ranks together are refused" sh -c "'$ASSAY' submit both.yaml 2>&1 | grep -q 'space.*devices.*together with ranks'"
spec many "devices: 65" 2 >many.yaml
ok "and so are 65 devices" sh -c "'$ASSAY' submit many.yaml 2>&1 | grep -q devices"
spec other "slots: 2" 2 >other.yaml
ok "another word is refused with the right one" sh -c "'$ASSAY' submit other.yaml 2>&1 | grep -q devices"

# ---- a rank is lost ----

# How often the runner's device met others.
met() { grep -c 'ranks.met' "$1" 2>/dev/null; }

ok "another service" service lost
spec gang "devices: 2" 1600 | sed 's/trials: 4/trials: 2/' >slow.yaml
ok "takes a longer study" submit slow.yaml
have_met() { [ "$(met lost.agent.one.log)" -ge "$1" ]; }
within 60 have_met 1
sleep 0.4
WORKER=$(pgrep -P "$AGENT" | head -1)
ok "a worker of its first runner is killed" kill -9 "$WORKER"
ok "the trial is trained again" within 60 have_met 2
sleep 0.4
ok "a runner is killed" kill -9 "$AGENT"
sleep 0.5
agent lost one
ok "with another in its place the study completes" completes gang
outcome gang lost
spec threads "ranks: 2" 1600 | sed 's/trials: 4/trials: 2/' >threads.yaml
ok "and so does the same with threads" submit threads.yaml
ok "in the end" completes threads
outcome threads straight
ok "the leaderboard is that of a study that lost nothing" cmp lost.board straight.board
ok "no trial failed" jq -e 'all(.trials[]; .state != "failed")' lost.trials.json
ok "two attempts were lost by the machine" jq -e -s \
    '[.[] | select(.end_reason | IN("worker_died", "rank_lost", "runner_lost", "device"))] | length == 2' lost.attempts

# ---- small trials beside ----

spec crowd "epochs: 1" 2 | sed 's/family: mlp.*/family: boost, rounds: 40}/; s/trials: 4/trials: 40/' >crowd.yaml
spec few "devices: 2" 20 >few.yaml
ok "a study of many small trials" submit crowd.yaml
ok "and one of two devices a trial" submit few.yaml
ok "the second completes" completes few
ok "before the first" [ "$(state crowd)" = running ]
ok "which completes as well" completes crowd

# ---- cancelled ----

spec long "devices: 2" 90000 >long.yaml
ok "a study that would take very long" submit long.yaml
within 60 grep -q 'gang.leased study=5' lost.serve.log
ok "is killed" "$ASSAY" kill long
ok "and its devices do other work at once" submit small.yaml
ok "to its end" completes small
finish
