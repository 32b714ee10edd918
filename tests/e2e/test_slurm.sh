#!/bin/bash
# A study on a pool of Slurm jobs, on a real slurmctld with four slurmd: runners come when trials wait and go when none do.
# Under the study a runner is told to end, a slurmd is killed, a node is set down, a job is requeued, slurmctld is killed and
# started again, and the controller is killed. Nothing is lost: the leaderboard and the model are those of a run that lost
# nothing. At the end no job is left behind, also where the controller does not come back.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/slurm.sh
. "$ROOT/tests/e2e/slurm.sh"
trap 'slurm_down; cleanup' EXIT

why=$(slurm_there) || { skip "a study on Slurm" "$why"; finish; exit; }
for tool in jq curl; do
    command -v $tool >/dev/null || { skip "a study on Slurm" "no $tool"; finish; exit; }
done

MOST=4
ln -s "$ASSAY" assay-runner # a program that can be told from all others on this machine
"$ASSAY" data make twonorm --rows 1000 -o table.csv 2>/dev/null
cat >spec.yaml <<'END'
name: study
dataset: table
target: class
metric: logloss
budget: {trials: 160}
seed: 5
sampler: random
scheduler: none
validation: {kind: kfold, folds: 5}
space: [{family: boost, rounds: 300, learning_rate: {log: [0.001, 0.01]}, leaves: {int_log: [16, 64]}}]
END
pools() { # min idle
    cat <<END
poll: 2s
pools:
  - name: cpu
    partition: main
    cpus: 1
    memory: 500MiB
    time: 30m
    min: $1
    max: $MOST
    idle: $2
    away: 12s
    controller: unix:$WORK/data/sock
    program: $WORK/assay-runner
    log: $WORK/job-%j.log
    runner: [--cache-dir, $WORK/cache, --checkpoint, 1s]
END
}

serve() { # folder [option...]
    local folder=$1
    shift
    export ASSAY_URL=unix:$WORK/$folder/sock
    "$ASSAY" serve --data-dir "$folder" --no-tcp "$@" >>"$folder.serve.log" 2>&1 &
    SERVER=$!
    PIDS="${PIDS:-} $SERVER"
    until "$ASSAY" ls >/dev/null 2>&1; do
        kill -0 $SERVER || return 1
        sleep 0.05
    done
}

# Waits until a command succeeds, at most so many seconds.
within() { # seconds command...
    local end=$(($(now_ms) + $1 * 1000))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$(now_ms)" -lt $end ] || return 1
        sleep 0.1
    done
}

is_completed() { [ "$("$ASSAY" ls --json | jq -r '.studies[0].state')" = completed ]; }
done_trials() { "$ASSAY" ls --json | jq '.studies[0].trials.completed'; }
has_done() { [ "$(done_trials)" -ge "$1" ]; }
pool_says() { "$ASSAY" pools --json | jq -e ".pools[0] | $1"; }
runs_jobs() { [ "$(jobs_in RUNNING)" -ge "$1" ]; }
no_jobs() { [ -z "$(squeue -h -r)" ]; }
no_runners() { ! pgrep -f "^$WORK/assay-runner" >/dev/null; }
first_job() { squeue -h -r -t R -o '%i %N' | head -1; }

# What came of it, without anything that was measured.
outcome() { # folder
    curl -sS --unix-socket "$1/sock" "http://assay/api/v1/studies/study/trials?limit=1000" |
        jq -c '.trials[] | [.number, .state, .level, .score, .config]' >"$1.board"
    "$ASSAY" export study -o "$1.assay" >/dev/null && [ -s "$1.board" ]
}

# Whether there are never more jobs than the pool may have, looked at for as long as the test runs.
watch_jobs() {
    local n
    while [ -e watching ]; do
        n=$(jobs_left | grep -vcE 'COMPLET') && [ "${n:-0}" -gt $MOST ] && jobs_left >>too-many
        sleep 0.3
    done
}

# ---- without Slurm: what must come out ----

ok "a controller starts" serve whole
"$ASSAY" agent --devices cpu:4 --cache-dir whole.cache >whole.agent.log 2>&1 &
AGENT=$!
PIDS="$PIDS $AGENT"
"$ASSAY" data add table.csv --name table >/dev/null && "$ASSAY" submit spec.yaml >/dev/null
ok "an unbroken study completes" within 300 is_completed
ok "and has a leaderboard" outcome whole
kill $AGENT $SERVER
wait $AGENT $SERVER 2>/dev/null

# ---- with Slurm ----

ok "Slurm with four nodes starts" slurm_up 4 2
pools 0 4s >pools.yaml
touch watching
watch_jobs &
PIDS="$PIDS $!"
ok "a controller with a pool starts" serve data --pools pools.yaml
ok "it has submitted nothing" no_jobs
ok "and says so" pool_says '.state == "idle" and .wanted == 0 and (.jobs | length) == 0'
"$ASSAY" data add table.csv --name table >/dev/null # waits for the ingest, for which a runner came
ok "a job came for the table" pool_says '.submitted == 1'
"$ASSAY" submit spec.yaml >/dev/null
ok "jobs come for the study" within 30 runs_jobs $MOST
ok "the first trials are done" within 60 has_done 3
ok "each job has its runner" within 30 pool_says '[.jobs[] | select(.runner != null)] | length == 4'

read -r job _ <<<"$(first_job)"
ok "a running job is told to end" scancel --batch --signal=TERM "$job"
ok "its runner handed back its work" within 20 grep -rq 'runner.drain' --include='job-*.log' .
ok "another job comes" within 30 runs_jobs $MOST

at=$(done_trials)
ok "a slurmd is killed" kill -9 "$(pid_of slurmd.n1)"
ok "the study goes on" within 60 has_done $((at + 2))
ok "it is started again" slurmd_start n1

read -r job node <<<"$(squeue -h -r -t R -o '%i %N' | grep -v 'n1$' | head -1)"
ok "a node is set down" scontrol update "nodename=$node" state=down reason=test
ok "its job is not there any more" within 20 sh -c "! squeue -h -r -t R -o %N | grep -qx $node"
at=$(done_trials)
ok "the study goes on" within 60 has_done $((at + 2))
ok "the node comes back" within 30 sh -c "sinfo -h -N -n $node -o %t | grep -qv down"

read -r job _ <<<"$(first_job)"
ok "a job is requeued" scontrol requeue "$job"
ok "the pool says that it is late" within 20 pool_says '[.jobs[] | select(.state == "late")] | length >= 1'
at=$(done_trials)
ok "the study goes on" within 60 has_done $((at + 2))

ok "slurmctld is killed" kill -9 "$(pid_of ctld)"
rm -f "$R/ctld.pid"
ok "the pool says that Slurm does not answer" within 60 pool_says '.state == "unreachable"'
at=$(done_trials)
ok "the study goes on" within 60 has_done $((at + 2))
ok "slurmctld starts again" slurmctld_start
ok "the pool finds it" within 60 pool_says '.state != "unreachable"'

ok "the controller is killed" kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null
ok "and starts again" serve data --pools pools.yaml
ok "it finds its jobs" within 20 pool_says '(.jobs | length) >= 1'
ok "and their runners find it" within 30 pool_says '[.jobs[] | select(.runner != null)] | length >= 1'

ok "the study completes" within 240 is_completed
ok "and has a leaderboard" outcome data
ok "which is that of the unbroken one" cmp whole.board data.board
ok "and so is the model" cmp whole.assay data.assay
ok "the idle runners end, and their jobs" within 60 no_jobs
ok "no process of a runner is left" within 10 no_runners
ok "there were never more jobs than the pool may have" test ! -e too-many

# ---- how long a trial waits ----

sed 's/^name: .*/name: quick/; s/trials: 160/trials: 2/' spec.yaml >quick.yaml
from=$(now_ms)
within 10 "$ASSAY" submit quick.yaml
ok "a study finds no runner, and gets one" within 30 sh -c \
    "'$ASSAY' ls --json | jq -e '.studies[] | select(.name == \"quick\") | .trials.running + .trials.completed > 0'"
echo "from a waiting trial to a running one: $(($(now_ms) - from)) ms"
ok "no job is left of it" within 60 no_jobs

# ---- words for what is wrong ----

sed 's/partition: main/partition: nowhere/; s/max: 4/max: 2/' pools.yaml >wrong.yaml && mv wrong.yaml pools.yaml
kill -HUP "$SERVER"
sed 's/^name: .*/name: third/' quick.yaml >third.yaml
within 10 "$ASSAY" submit third.yaml
ok "a partition that Slurm does not have is told" within 20 pool_says '.state == "failing" and (.why | test("invalid partition"))'
"$ASSAY" pools >told
ok "to people, too" grep -q 'cpu *failing .*invalid partition' told
pools 0 4s | sed 's/program: .*/program: no-such-program/' >pools.yaml
kill -HUP "$SERVER"
ok "and jobs whose runner never comes" within 90 pool_says '.state == "failing" and (.why | test("ended before its runner came"))'

# ---- a controller that does not come back ----

pools 1 4s >pools.yaml
kill -HUP "$SERVER"
ok "a pool keeps a runner without work" within 60 sh -c \
    "'$ASSAY' ls --json | jq -e '[.studies[] | select(.state != \"completed\")] == []' && sleep 6 && \
     '$ASSAY' pools --json | jq -e '.pools[0].jobs | length == 1 and .[0].kept and .[0].runner != null'"
kill -9 "$SERVER"
wait "$SERVER" 2>/dev/null
ok "its runner ends when the controller does not come back" within 40 no_jobs
ok "and no process of it is left" within 10 no_runners
rm -f watching
finish
