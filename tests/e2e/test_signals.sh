#!/bin/bash
# Who ends a job or a session signals all its processes, not only the first: Slurm, systemd, a terminal. A runner's workers
# leave it to their supervisor to save and end them, so no trial counts as crashed; a runner that is told in this way hands
# its work back, and another one ends the study with the same leaderboard.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export ASSAY_URL=unix:$WORK/data/sock

"$ASSAY" data make twonorm --rows 600 -o table.csv 2>/dev/null
cat >spec.yaml <<'END'
name: study
dataset: table
target: class
metric: logloss
budget: {trials: 40}
seed: 5
sampler: random
scheduler: none
validation: {kind: kfold, folds: 5}
space: [{family: boost, rounds: 200, learning_rate: {log: [0.001, 0.01]}, leaves: {int_log: [16, 64]}}]
END
runner() { # name
    setsid "$ASSAY" agent --name "$1" --devices cpu:2 --cache-dir "$1" >"$1.log" 2>&1 &
    RUNNER=$!
    PIDS="${PIDS:-} $RUNNER"
}
ended() { "$ASSAY" ls --json | jq '.studies[0].trials | .completed + .failed'; }
have_ended() { [ "$(ended)" -ge "$1" ]; } # trials
workers() { pgrep -P "$RUNNER" -f -- --worker; }
no_process() { ! pgrep -s "$1" >/dev/null; }

"$ASSAY" serve --data-dir data --no-tcp >serve.log 2>&1 &
PIDS="${PIDS:-} $!"
ok "a controller starts" within 60 "$ASSAY" ls
runner one
"$ASSAY" data add table.csv --name table >/dev/null && "$ASSAY" submit spec.yaml >/dev/null
ok "a study runs" within 180 have_ended 3
first=$(workers)
for signal in TERM INT HUP; do
    # shellcheck disable=SC2046 # one word for each worker
    kill -$signal $(workers)
done
ok "it goes on when its workers are signalled" within 180 have_ended 8
ok "with the same workers" test "$(workers)" = "$first"
ok "a whole session is told to end" kill -TERM -- "-$RUNNER"
ok "and ends" within 60 no_process "$RUNNER"
runner two
ok "another runner ends the study" within 180 have_ended 40
ok "no trial failed" test "$("$ASSAY" ls --json | jq '.studies[0].trials.failed')" = 0
ok "none is said to have crashed" sh -c '! grep -q "reason=worker_died\|reason=crashed" serve.log'
finish
