#!/bin/bash
# A Hyperband study of 220 small networks through two runners: it completes; trials that are promoted go on from their
# checkpoints, so no epoch is trained twice; and with workers killed in the middle it ends with the same leaderboard and the
# same model, while only trials of the killed worker are trained again, each at most from its last checkpoint.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

"$ASSAY" data make twonorm --rows 500 -o table.csv 2>/dev/null
cat >spec.yaml <<'END'
name: nets
dataset: table
target: class
metric: logloss
budget: {trials: 220}
seed: 11
sampler: random
scheduler: {kind: hyperband, eta: 3}
validation: {kind: kfold, folds: 3}
parallel: 8
space:
  - {family: mlp, epochs: 15, layers: 1, width: {int_log: [16, 32]}, batch: 128, members: 1, embedding: none}
END

# A controller with two runners of one core each, in a folder of its own; AGENTS: their processes.
service() { # folder
    export ASSAY_URL=unix:$WORK/$1/sock
    AGENTS=
    "$ASSAY" serve --data-dir "$1" --no-tcp >"$1.serve.log" 2>&1 &
    PIDS="${PIDS:-} $!"
    until "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done
    for k in 1 2; do
        "$ASSAY" agent --controller "$ASSAY_URL" --name "r$k" --devices cpu:1 --cache-dir "$1.cache$k" \
            >"$1.agent$k.log" 2>&1 &
        PIDS="$PIDS $!"
        AGENTS="$AGENTS $!"
    done
    "$ASSAY" data add table.csv --name table >/dev/null && "$ASSAY" submit spec.yaml >/dev/null
}

study_state() { "$ASSAY" ls --json | jq -r '.studies[0].state'; }
has_ended() { case $(study_state) in completed | failed | stopped) return 0 ;; *) return 1 ;; esac }
await() { # seconds
    for _ in $(seq $(($1 * 5))); do
        has_ended && return 0
        sleep 0.2
    done
    return 1
}

# What came of it, without anything that was measured or depends on who did it.
outcome() { # folder
    curl -sS --unix-socket "$1/sock" "http://assay/api/v1/studies/nets/trials?limit=1000" >"$1.trials.json"
    jq -c '.trials[] | [.number, .state, .level, .score, .config]' "$1.trials.json" >"$1.board"
    "$ASSAY" export nets -o "$1.assay" >/dev/null
}

# Of every trial: its attempts and the runs of its epochs, one object a line.
epochs() { # folder
    local id ids
    ids=$(jq -r '.trials[] | select(.family == "mlp") | .id' "$1.trials.json")
    for id in $ids; do
        printf 'url = "http://assay/api/v1/trials/%s"\noutput = "%s.trial"\n' "$id" "$id"
        printf 'url = "http://assay/api/v1/trials/%s/epochs"\noutput = "%s.runs"\n' "$id" "$id"
    done | curl -sS --unix-socket "$1/sock" -K -
    for id in $ids; do cat "$id.trial" "$id.runs"; done | jq -c -n \
        'def pairs: try (input as $t | input as $e | {attempts: $t.attempts, runs: $e.runs, number: $t.number}, pairs)
         catch empty; pairs' >"$1.epochs"
}

# Levels 1, 2, 3 end after 1, 3, 7 of 15 epochs, on one fold. An attempt that begins at a level has nothing to train below it.
cat >check.jq <<'END'
def ends: {"0": 0, "1": 1, "2": 3, "3": 7, "4": 15}[tostring];
def lost: [.attempts[] | select(.end_reason as $r | ["worker_died", "drained", "runner_lost"] | index($r))];
def counts_up: .epoch as $e | $e == [range(1; ($e | length) + 1)];
def again: . as $t | [.runs[] | select(.level < 4) | . as $r | range($r.epoch | length) as $i |
    $t.attempts[] | select(.fence == $r.fence[$i] and $r.epoch[$i] <= (.from | ends)) | $r.epoch[$i]];
END
all_say() { # folder condition
    [ "$(wc -l <"$1.epochs")" -ge 200 ] && jq -e -s "include \"check\"; all(.[]; $2)" -L . "$1.epochs" >/dev/null
}

for tool in jq curl; do
    command -v $tool >/dev/null || { skip "networks through runners" "no $tool"; finish; exit; }
done

ok "a service with two runners takes the study" service plain
ok "it completes" await 120
outcome plain
epochs plain
ok "with 220 trials and no failure" jq -e '.trials | length == 220 and all(.state != "failed")' plain.trials.json
promoted() { [ "$(jq -s '[.[] | select(.attempts | length > 1)] | length' plain.epochs)" -ge 20 ]; }
ok "dozens were promoted in a later attempt" promoted
ok "every epoch of every trial is known once" all_say plain '.runs | length > 0 and all(counts_up)'
ok "nothing was lost" all_say plain 'lost == []'
ok "no epoch was trained twice" all_say plain 'again == []'

kill_one() { # agent: the first of its workers
    local worker
    worker=$(pgrep -P "$1" | head -n 1)
    [ -n "$worker" ] && kill -9 "$worker"
}
# A trial with which a worker dies twice before it reaches a new level counts as its own fault, so the next kill waits until
# every lost trial has come further, and until the loss of the one before must have been noticed.
turns() { grep -cE ' trial\.(complete|pause|prune) ' killed.serve.log; }
none_in_doubt() {
    awk '{ event = number = ""
           for (i = 1; i <= NF; i++) {
               if ($i ~ /^trial\./) event = $i
               if ($i ~ /^number=/) number = $i
           }
           if (event == "trial.lost") lost[number] = 1
           else if (event ~ /^trial\.(complete|pause|prune|fail)$/) delete lost[number] }
         END { for (n in lost) exit 1 }' killed.serve.log
}
others_had_a_turn() { # turns before
    for _ in $(seq 300); do
        has_ended && return
        [ "$(turns)" -ge $(($1 + 16)) ] && none_in_doubt && return
        sleep 0.1
    done
}
kills=0
ok "another service takes the same study" service killed
while ! has_ended && [ $kills -lt 6 ]; do
    for agent in $AGENTS; do
        others_had_a_turn "$(turns)"
        has_ended || ! kill_one "$agent" || kills=$((kills + 1))
    done
done
ok "workers were killed in the middle" [ $kills -ge 1 ]
ok "it completes all the same" await 120
outcome killed
epochs killed
ok "with the same leaderboard" cmp plain.board killed.board
ok "and the same model" cmp plain.assay killed.assay
ok "every epoch of every trial is known once there too" all_say killed '.runs | length > 0 and all(counts_up)'
ok "nothing was trained again below its last checkpoint" all_say killed 'again == []'
few_lost() { # one in training and three that wait for an answer, at most, of each killed worker
    local n
    n=$(jq -s 'include "check"; [.[] | lost | length] | add' -L . killed.epochs)
    [ "$n" -ge 1 ] && [ "$n" -le $((kills * 4)) ]
}
ok "no more was lost than they held" few_lost
finish
