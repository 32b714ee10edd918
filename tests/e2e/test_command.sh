#!/bin/bash
# A user's program as the trial: who takes it, what it is given, what its end means; paused, resumed and promoted on another
# runner from its checkpoint; runner, controller and the process between killed with -9 in the middle; and the same board as without.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cat >train.py <<'PY'
import json, os, sys, time

lr, opt = float(sys.argv[1]), sys.argv[2]
place = os.path.join(os.environ["ASSAY_CHECKPOINT_DIR"], "state.json")
levels = int(os.environ["ASSAY_LEVELS"])
state = {"level": 0, "x": 5.0}
if os.path.exists(place):
    state = json.load(open(place))
    print("assay:", json.dumps({"level": state["level"], "loss": state["x"] ** 2}))
with open(os.path.join(os.environ["NOTES"], "pids"), "a") as f:
    f.write(f"{os.getpid()} {os.environ['ASSAY_TRIAL']} {state['level']}\n")
assert json.load(open(os.environ["ASSAY_PARAMS"]))["opt"] == opt
for level in range(state["level"] + 1, levels + 1):
    time.sleep(float(os.environ.get("NAP", "0")))
    state["x"] -= lr * (2 * state["x"] + (0.1 if opt == "b" else 0))
    state["level"] = level
    with open(place + ".new", "w") as f:
        json.dump(state, f)
    os.rename(place + ".new", place)
    print("assay:", json.dumps({"level": level, "loss": state["x"] ** 2}), flush=True)
PY
mkdir -m 0777 notes

spec() { # name scheduler trials nap
    cat <<YAML
name: $1
space: {lr: {log: [1e-3, 0.4]}, opt: {choice: [a, b]}}
metric: loss
goal: minimize
levels: 9
budget: {trials: $3}
scheduler: $2
sampler: random
seed: 11
parallel: 1
command: [python3, train.py, "{lr}", "{opt}"]
files: [train.py]
environment: {NOTES: $WORK/notes, NAP: "$4"}
YAML
}
rights="--command-uids self"
agent() { # name
    # shellcheck disable=SC2086
    ASSAY_LOG_LEVEL=debug "$ASSAY" agent --controller "$ASSAY_URL" --devices cpu:1 --name "$1" --cache-dir "cache-$1" --checkpoint 100ms \
        --allow-command $rights --backoff-max 200ms >>"agent-$1.log" 2>&1 &
    AGENT=$!
    PIDS="$PIDS $AGENT"
}
drop() { # pid: kills an agent with -9 and waits for it
    { kill -9 "$1" && wait "$1"; } 2>/dev/null
}
state() { "$ASSAY" show "$1" --json | jq -r "$2"; }
is_so() { [ "$(state "$1" "$2" 2>/dev/null)" = true ]; }
until_state() { # study jq-condition
    within 200 is_so "$@" && return 0
    "$ASSAY" show "$1"
    return 1
}
board() { "$ASSAY" leaderboard "$1" --json | jq -c '[.rows[] | [.number, .score, .level]] | sort'; }
ends() { "$ASSAY" trials "$1" --limit 1000 --json | jq -c '[.trials[] | [.number, .state, .level, .score]] | sort'; }
alive() { # programs of the test that still live
    local pid
    while read -r pid _; do
        kill -0 "$pid" 2>/dev/null && grep -aqs train.py "/proc/$pid/cmdline" && echo "$pid"
    done <notes/pids
    return 0
}

export ASSAY_URL=unix:$WORK/data/sock
serve() {
    "$ASSAY" serve --data-dir data --no-tcp --lease-ms 1500 >>serve.log 2>&1 &
    SERVE=$!
    PIDS="${PIDS:-} $SERVE"
    until "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done
}
serve

# ---- who takes it ----
spec plain asha 12 0 >plain.yaml
ok "a spec with a command is taken" "$ASSAY" submit plain.yaml
"$ASSAY" agent --controller "$ASSAY_URL" --devices cpu:1 --cache-dir cache-no >agent-no.log 2>&1 &
NO=$!
PIDS="$PIDS $NO"
until "$ASSAY" runner ls 2>/dev/null | grep -q enabled; do sleep 0.1; done
sleep 1 # in which it might be offered it
ok "the study says that no runner takes it" within 60 sh -c "'$ASSAY' show plain | grep -q 'no runner takes command trials: start one with --allow-command'"
ok "a runner without --allow-command was not offered it" test "$(state plain '.trials.running + .ended_trials')" = 0
kill "$NO"
if [ "$(id -u)" = 0 ]; then
    ok "a runner of root wants other users for programs" sh -c \
        "! '$ASSAY' agent --cache-dir cache-x --allow-command 2>&1 | grep -v 'must not be: add --command-uids'"
fi

# ---- unbroken ----
agent one
ok "a study with ASHA ends" until_state plain '.state == "completed"'
kill "$AGENT" && wait "$AGENT" 2>/dev/null
ok "all its trials ended, some before the top" test "$(state plain '.ended_trials == 12 and .trials.pruned > 3')" = true
ok "the best is good" test "$(state plain '.best.score < 0.01')" = true
ok "trials were paused and resumed from their checkpoint" grep -q ' [1-9]$' notes/pids
n=$("$ASSAY" leaderboard plain --json | jq '.rows[0].number')
ok "the logs show what the program printed" sh -c "'$ASSAY' logs plain/$n | grep -q '\"level\": 9'"
ok "and the events of the trial on request" sh -c "'$ASSAY' logs plain/$n --events | grep -q trial.complete"

# ---- broken ----
spec broken asha 12 0.3 >broken.yaml
: >notes/pids
agent two
"$ASSAY" submit broken.yaml >/dev/null
for k in 1 2 3; do
    running=
    for _ in $(seq 600); do # until the program of a later trial runs
        [ "$(wc -l <notes/pids)" -ge $((k * 3)) ] && running=$(alive) && [ -n "$running" ] && break
        sleep 0.05
    done
    if [ $k = 3 ]; then # the controller
        drop "$SERVE"
        serve
    elif [ $k = 1 ]; then # the runner
        drop "$AGENT"
        ok "a program ran when its runner was killed" test -n "$running"
        for pid in $running; do
            ok "no program outlives its runner ($k)" within 30 sh -c "! kill -0 $pid 2>/dev/null"
        done
        agent "r$k" # another machine, as far as the controller knows
    else # the process between runner and program
        # shellcheck disable=SC2046
        kill -9 $(pgrep -P "$AGENT" -f -- --command) 2>/dev/null
    fi
done
ok "the study ends, though runner, middleman and controller were killed" until_state broken '.state == "completed"'
ok "its board is the same as unbroken" test "$(board broken)" = "$(board plain)"
ok "and so is the end of every trial" test "$(ends broken)" = "$(ends plain)"
none_alive() { [ -z "$(alive)" ]; }
ok "no program is left" within 30 none_alive
kill "$AGENT" && wait "$AGENT" 2>/dev/null

# ---- long trials: drained to another runner, and lost ----
spec moved none 2 0.6 >moved.yaml
: >notes/pids
agent three
"$ASSAY" submit moved.yaml >/dev/null
until [ "$("$ASSAY" logs moved/1 2>/dev/null | grep -c '"level"')" -ge 4 ]; do sleep 0.1; done
ok "output is there while the program runs" test "$("$ASSAY" trial show moved/1 --json | jq -r .state)" = running
kill "$AGENT" && wait "$AGENT" 2>/dev/null
agent four
ok "a drained trial goes on elsewhere" until_state moved '.ended_trials >= 1'
ok "from where it was" test "$(awk 'NR == 2 { print ($3 >= 3) }' notes/pids)" = 1
# Each checkpoint is of a higher level than the one before.
before=$(grep -c upload.done agent-four.log)
has_saved() { [ "$(grep -c upload.done agent-four.log)" -ge $((before + 3)) ]; }
within 60 has_saved
drop "$AGENT"
agent five
ok "a trial whose machine is lost goes on elsewhere" until_state moved '.state == "completed"'
ok "from its last checkpoint" test "$(awk 'END { print ($3 >= 2) }' notes/pids)" = 1
spec whole none 2 0 >whole.yaml
"$ASSAY" submit whole.yaml >/dev/null
until_state whole '.state == "completed"'
ok "with the scores of unbroken trials" test "$(board moved)" = "$(board whole)"
sed 's/^name: .*/name: here/' whole.yaml >here.yaml
ok "a command study runs without a service" timeout 200 env -u ASSAY_URL "$ASSAY" run here.yaml --dir rundata
ok "follow ends with the trial" timeout 60 "$ASSAY" logs -f whole/1
finish
