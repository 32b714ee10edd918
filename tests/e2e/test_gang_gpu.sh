#!/bin/bash
# Trials that several GPUs train together (gpus: 2), on two runners with an emulated device each (tests/cuda), the sums between the
# devices: the leaderboard is that of trials of two threads, bit for bit; a killed worker costs one attempt; CPUs do not take part.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

for tool in jq curl; do
    command -v $tool >/dev/null || { skip "trials of several GPUs" "no $tool"; finish; exit; }
done
emulated=$(dirname "$ASSAY")/libassay-cuda-emulated.so
[ -e "$emulated" ] || { echo "no $emulated (sanitizer builds have none)"; exit 77; }

"$ASSAY" data make twonorm --rows 400 -o table.csv 2>/dev/null

spec() { # name parameters epochs trials
    cat <<END2
name: $1
dataset: table
target: class
metric: logloss
budget: {trials: $4}
seed: 5
sampler: random
scheduler: {kind: hyperband, eta: 3}
validation: {kind: kfold, folds: 2}
parallel: 2
space:
  - {family: mlp, $2, epochs: $3, layers: 1, width: {int_log: [16, 32]}, batch: 16, members: 1, embedding: none, prep_scale: auto}
END2
}

agent() { # name devices VARIABLE=value...
    local name=$1 devices=$2
    shift 2
    env "$@" "$ASSAY" agent --controller "$ASSAY_URL" --name "$name" --devices "$devices" --cache-dir "cache.$name" \
        --checkpoint 200ms >>"agent.$name.log" 2>&1 &
    AGENT=$!
    PIDS="${PIDS:-} $AGENT"
}

api() { curl -sS --unix-socket "$WORK/data/sock" "http://assay/api/v1/$1"; }
state() { api "studies/$1" | jq -r .state; }
completes() { # study
    for _ in $(seq 1500); do
        case $(state "$1") in completed) return 0 ;; failed | stopped | paused) return 1 ;; esac
        sleep 0.2
    done
    return 1
}
outcome() { # study
    api "studies/$1/trials?limit=1000" >"$1.trials.json"
    jq -c '.trials[] | [.number, .state, .level, .score, (.config | del(.devices, .ranks, .gpus))]' "$1.trials.json" >"$1.board"
    for id in $(jq -r '.trials[] | select(.family == "mlp") | .id' "$1.trials.json"); do
        api "trials/$id"
    done | jq -c '.attempts[]' >"$1.attempts"
}
shows() { api "studies/$1" | grep -q "$2"; } # study text

export ASSAY_URL=unix:$WORK/data/sock
"$ASSAY" serve --data-dir data --no-tcp >serve.log 2>&1 &
PIDS="${PIDS:-} $!"
until "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done
agent cores cpu:2
"$ASSAY" data add table.csv --name table >/dev/null

# ---- refused, and waiting ----

spec both "gpus: 2, devices: 2" 6 4 >both.yaml
ok "gpus and devices together are refused" sh -c "'$ASSAY' submit both.yaml 2>&1 | grep -q 'together with devices'"
spec gpus "gpus: 2" 6 4 >gpus.yaml
ok "a study of two GPUs a trial" "$ASSAY" submit gpus.yaml
ok "says that there are none" within 60 shows gpus 'needs 2 GPUs, but the runners that are connected have 0'
spec threads "ranks: 2" 6 4 >threads.yaml
ok "it holds nothing up: one of two threads a trial" "$ASSAY" submit threads.yaml
ok "completes" completes threads

# ---- whole ----

agent one cuda "ASSAY_CUDA=$emulated"
agent two cuda "ASSAY_CUDA=$emulated"
ok "with two GPUs on two runners the first completes" completes gpus
outcome gpus
outcome threads
ok "the leaderboards are equal, bit for bit" cmp gpus.board threads.board
ok "gradients were summed between the devices" grep -q 'net.team .*sums=nccl' agent.one.log
ok "by both" grep -q 'net.team .*sums=nccl' agent.two.log
if grep -q 'net.team' agent.cores.log; then sed -n '/net.team/p' agent.cores.log; ok "and by no CPU" false; else ok "and by no CPU" true; fi
ok "no attempt was lost" jq -e -s 'all(.[]; .end_reason | IN("complete", "pause", "prune", "stopped"))' gpus.attempts
spec one "gpus: 1" 6 2 >one.yaml
ok "a study of one GPU a trial" "$ASSAY" submit one.yaml
ok "completes" completes one
ok "on GPUs alone" jq -e -s 'all(.[]; .device | startswith("cuda"))' <(outcome one; cat one.attempts)

# ---- a rank is lost ----

met() { grep -c 'ranks.met' agent.one.log 2>/dev/null; }
before=$(met)
spec slow "gpus: 2" 30 2 >slow.yaml
ok "a longer study" "$ASSAY" submit slow.yaml
met_again() { [ "$(met)" -gt "$before" ]; }
within 120 met_again
WORKER=$(pgrep -P "$AGENT" | head -1)
ok "a worker is killed" kill -9 "$WORKER"
ok "the study completes" completes slow
spec same "ranks: 2" 30 2 >same.yaml
ok "and so does the same with threads" "$ASSAY" submit same.yaml
ok "in the end" completes same
outcome slow
outcome same
ok "the leaderboard is that of a study that lost nothing" cmp slow.board same.board
ok "no trial failed" jq -e 'all(.trials[]; .state != "failed")' slow.trials.json
ok "one attempt was lost by the machine" jq -e -s \
    '[.[] | select(.end_reason | IN("worker_died", "rank_lost", "runner_lost", "device"))] | length == 1' slow.attempts
finish
