#!/bin/bash
# Networks of many trials train in the same launches on an emulated device, and their worker is killed in the middle: no trial
# loses more than what came after its last checkpoint, though each has only a small share of the device; the leaderboard and the
# model are those of a search that lost nothing.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

for tool in jq curl; do
    command -v $tool >/dev/null || { skip "killed groups" "no $tool"; finish; exit; }
done
emulated=$(dirname "$ASSAY")/libassay-cuda-emulated.so
[ -e "$emulated" ] || { echo "no $emulated (sanitizer builds have none)"; exit 77; }

INTERVAL=1 # seconds between checkpoints; the group is killed after the first
"$ASSAY" data make twonorm --rows 400 -o table.csv 2>/dev/null
cat >spec.yaml <<'END2'
name: nets
dataset: table
target: class
metric: logloss
budget: {trials: 9}
seed: 11
sampler: random
scheduler: none
validation: {kind: holdout}
parallel: 8
space:
  - {family: mlp, epochs: 30, layers: 1, width: {int_log: [16, 32]}, batch: 64, members: 1, embedding: none}
END2

agent() { # folder
    ASSAY_CUDA=$emulated ASSAY_LOG_LEVEL=debug "$ASSAY" agent --controller "$ASSAY_URL" --name r1 --devices cuda \
        --cache-dir "$1.cache" --checkpoint ${INTERVAL}s >"$1.agent.log" 2>&1 &
    AGENT=$!
    PIDS="$PIDS $AGENT"
}
service() { # folder
    export ASSAY_URL=unix:$WORK/$1/sock
    HERE=$1
    "$ASSAY" serve --data-dir "$1" --no-tcp >"$1.serve.log" 2>&1 &
    PIDS="${PIDS:-} $!"
    until "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done
    agent "$1"
    "$ASSAY" data add table.csv --name table >/dev/null && "$ASSAY" submit spec.yaml >/dev/null
}
api() { curl -sS --unix-socket "$HERE/sock" "http://assay/api/v1/$1"; }
completes() {
    for _ in $(seq 900); do
        case $(api studies/nets | jq -r .state) in completed) return 0 ;; failed | stopped) return 1 ;; esac
        sleep 0.2
    done
    return 1
}
outcome() { # folder
    api "studies/nets/trials?limit=1000" >"$1.trials.json"
    jq -c '.trials[] | [.number, .state, .level, .score, .config]' "$1.trials.json" >"$1.board"
    "$ASSAY" export nets -o "$1.assay" >/dev/null
    for id in $(jq -r '.trials[] | select(.family == "mlp") | .id' "$1.trials.json"); do
        jq -c -n --argjson t "$(api "trials/$id")" --argjson e "$(api "trials/$id/epochs")" \
            '{number: $t.number, attempts: $t.attempts, runs: $e.runs}'
    done >"$1.epochs"
}
stop() { kill "$AGENT" && wait "$AGENT"; }

ok "a service with an emulated device" service plain
ok "completes" completes
outcome plain
ok "its networks trained in the same launches" grep -Eq 'net.device lanes=([4-9]|1[0-9])' plain.agent.log
stop

ok "another service" service killed
within 120 grep -Eq 'net.device lanes=([4-9]|1[0-9])' killed.agent.log
saved() { sed -n '/net.device lanes=[4-9]/,$p' killed.agent.log | grep -c upload.done; }
have_saved() { [ "$(saved)" -ge 8 ]; }
within 120 have_saved
ok "its worker is killed" kill -9 "$(pgrep -P "$AGENT" | head -n 1)"
ok "it completes all the same" completes
outcome killed
ok "with the same leaderboard" cmp plain.board killed.board
ok "and the same model" cmp plain.assay killed.assay
lost='[.attempts[] | select(.end_reason == "worker_died")] | length > 0'
ok "several trials were lost with it" jq -e -s "[.[] | select($lost)] | length >= 4" killed.epochs
ok "every epoch is known once" jq -e -s 'all(.[]; all(.runs[]; .epoch as $e | $e == [range(1; ($e | length) + 1)]))' killed.epochs
# An epoch that stands under the fence of the lost attempt came back with a checkpoint.
ok "each went on from a checkpoint" jq -e -s "all(.[] | select($lost);
    ([.attempts[] | select(.end_reason == \"worker_died\") | .fence] | max) as \$f |
    any(.runs[]; any(.fence[]; . != null and . <= \$f)))" killed.epochs
finish
