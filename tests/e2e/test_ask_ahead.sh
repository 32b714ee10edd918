#!/bin/bash
# Short trials of a program of the user's are asked for and told together (optimize's `ahead`): fewer calls, and still nothing
# is lost or counted twice when the controller is killed, when a program is killed or interrupted, and when a trial takes long.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/ask_lib.sh
. "$ROOT/tests/e2e/ask_lib.sh"
study() { curl -sS -H "Authorization: Bearer $ASSAY_TOKEN" "$URL/api/v1/studies/$1"; }

cat >alone.py <<'END'
import math, os, time
import assay

url, calls = os.environ["URL"], []
steps = assay.Client.steps

def counted(self, method, path, body=None):
    calls.append((path, body))
    return steps(self, method, path, body)

assay.Client.steps = counted

def told():  # the results of each call
    return [b["results"] for path, b in calls if path.endswith("/tell")]

def search(name, objective, trials=200, ahead=10.0, **more):
    more = {"sampler": "random", "space": {"x": assay.uniform(0, 1)}, **more}
    s = assay.Study(url, name, trials=trials, **more)
    calls.clear()
    s.optimize(objective, ahead=ahead)
    return s

s = search("quick", lambda t: t["x"])
assert s.info["trials"]["completed"] == 200, s.info
assert s.best["score"] < 0.1, s.best
ids = [r["trial"] for results in told() for r in results]
assert len(ids) == len(set(ids)) == 200, len(ids)
assert len(told()) < 100, len(told())          # most trials came and went together
assert max(map(len, told())) > 8

search("single", lambda t: t["x"], trials=30, ahead=0)
assert max(map(len, told())) == 1

# A sampler that learns from results gets each one before it proposes the next.
search("learns", lambda t: t["x"], trials=30, sampler="tpe")
assert max(map(len, told())) == 1

s = assay.Study(url, "few", trials=50, sampler="random", space={"x": assay.uniform(0, 1)})
s.optimize(lambda t: t["x"], n_trials=7, ahead=10)
counts = s.info["trials"]
assert counts["completed"] == 7 and counts["running"] == 0 and counts["queued"] == 0, counts
s.optimize(lambda t: t["x"], n_trials=0)
assert s.info["trials"]["completed"] == 7

def odd(t):
    if t.number % 5 == 1:
        return math.nan
    if t.number % 5 == 2:
        raise ValueError("as it happens")
    return (t["x"], 1) if t.number % 5 == 3 else t["x"]

s = search("odd", odd, trials=100)
why = {}
for t in s.trials():
    why.setdefault(t["number"] % 5, set()).add((t["state"], t["detail"]))
assert why[1] == {("failed", "the value is nan")}, why[1]
assert why[2] == {("failed", "ValueError: as it happens")}, why[2]
assert len(why[3]) == 1 and "has 2 numbers" in next(iter(why[3]))[1], why[3]
assert {state for n in (4, 0) for state, _ in why[n]} == {"completed"}, why

# A trial that takes long keeps neither the results before it nor the trials after it. Often: what looks after that may have
# to wait for a call just when the trial begins.
def slow(t):
    limit = time.time() + 20
    while t.number % 8 == 0:
        counts = assay.Study(url, "slow").info["trials"]
        if counts["completed"] == t.number - 1 and counts["running"] == 1:
            break
        assert time.time() < limit, counts
        time.sleep(0.02)
    return t["x"]

s = search("slow", slow, trials=300, ahead=0.002)
assert s.info["trials"]["completed"] == 300, [t for t in s.trials() if t["state"] != "completed"]

class Stop(BaseException):
    pass

def stops(t):
    if t.number == 60:
        raise Stop
    return t["x"]

s = assay.Study(url, "stops", trials=200, sampler="random", space={"x": assay.uniform(0, 1)})
try:
    s.optimize(stops, ahead=10)
    raise SystemExit("the exception was lost")
except Stop:
    pass
counts = s.info["trials"]
assert counts["completed"] == 59 and counts["running"] == 0 and counts["queued"] > 0, counts
s.optimize(lambda t: t["x"])   # what was given back is tried by whoever asks next
assert s.info["trials"]["completed"] == 200, s.info["trials"]

# So is what an answer holds that was on its way when the program was interrupted.
def interrupted(self, method, path, body=None):
    for k, answer in enumerate(counted(self, method, path, body)):
        yield answer
        if k == 0 and len(calls) == 4:
            raise Stop

s = assay.Study(url, "heard", trials=200, sampler="random", space={"x": assay.uniform(0, 1)})
calls.clear()
assay.Client.steps = interrupted
try:
    s.optimize(lambda t: t["x"], ahead=10)
    raise SystemExit("the exception was lost")
except Stop:
    assay.Client.steps = counted
counts = s.info["trials"]
assert counts["running"] == 0 and counts["queued"] > 0, counts
assert counts["completed"] == len({r["trial"] for results in told() for r in results if "value" in r})
s.optimize(lambda t: t["x"])
assert s.info["trials"]["completed"] == 200, s.info["trials"]
print("fine")
END

cat >program.py <<'END'
import os, sys, time
import assay

steps = assay.Client.steps

def heard(self, method, path, body=None):  # notes which results the service has acknowledged
    for answer in steps(self, method, path, body):
        for r, said in zip((body or {}).get("results", ()), (answer or {}).get("results", ())):
            if said["verdict"] == "completed":
                print(r["trial"], r["value"], file=told, flush=True)
        yield answer

def objective(trial):
    time.sleep(0.004)
    print(trial.id, trial.lease, file=tried, flush=True)
    return trial["x"]

assay.Client.steps = heard
told = open(f"told.{sys.argv[2]}", "a")
tried = open(f"tried.{sys.argv[2]}", "a")
study = assay.Study(os.environ["URL"], sys.argv[1], trials=int(sys.argv[3]), sampler="random",
                    lost_after=sys.argv[4], space={"x": assay.uniform(0, 1)})
print(os.getpid(), file=open(f"pid.{sys.argv[2]}", "w"))
while not os.path.exists(f"go.{sys.argv[1]}"):
    time.sleep(0.01)
study.optimize(objective)
END

ok "the service starts" serve
ok "trials and results go together, alone in a process" timeout 240 python3 alone.py

begin() { # study, trials, lost_after
    local k
    for k in 1 2 3; do
        timeout 240 python3 program.py "$1" "$1$k" "$2" "$3" >"$1$k.log" 2>&1 &
        W[k]=$!
        PIDS="${PIDS:-} $!"
    done
    for k in 1 2 3; do # all are there before the first trial
        until [ -s "pid.$1$k" ]; do kill -0 "${W[k]}" || return; sleep 0.05; done
    done
    : >"go.$1"
}
# Until the third program is well on its way; its trials are many times more.
until_third() { # study, trials
    until [ "$(wc -l <"tried.${1}3")" -ge "$2" ]; do kill -0 "${W[3]}" || return; sleep 0.02; done
}
# A program that is silent for longer than this loses what it holds: more than a controller takes to be back on a busy machine,
# and more than the pause before the program's next try.
begin killed 1200 12s
until_third killed 70
kill -9 "$(cat pid.killed3)"
{ kill -9 "$SERVE" && wait "$SERVE"; } 2>/dev/null
sleep 0.5
ok "the service starts again" serve
ok "the programs end by themselves" wait "${W[1]}" "${W[2]}"
study killed >killed.json
ok "every trial is completed, once" test "$(jq -c '[.state, .ended_trials, .trials.completed]' killed.json)" = '["completed",1200,1200]'
# What was tried twice was in the hands of the program that was killed.
twice() { cut -d' ' -f1 "$@" | sort | uniq -d; }
cat >kept.py <<'END'
import glob, os
import assay
scores = {t["id"]: t["score"] for t in assay.Study(os.environ["URL"], "killed").trials()}
told = [line.split() for f in glob.glob("told.killed*") for line in open(f)]
assert len(told) > 1000 and len({t for t, _ in told}) == len(told), len(told)
for trial, value in told:
    assert scores[int(trial)] == float(value), (trial, value, scores[int(trial)])
END
ok "what was acknowledged is there as it was told, once" python3 kept.py
ok "a program that goes on repeats nothing" test -z "$(twice tried.killed1 tried.killed2)"
ok "a program that is killed loses what it held, at most" test "$(twice tried.killed* | wc -l)" -le 256

begin stopped 600 1h
until_third stopped 30
kill -INT "$(cat pid.stopped3)"
ok "an interrupted program leaves nothing that others wait for" wait "${W[1]}" "${W[2]}"
ok "all trials of that study are completed" test "$(study stopped | jq .trials.completed)" = 600
wait "${W[3]}"
ok "it says that it was interrupted" grep -q KeyboardInterrupt stopped3.log
finish
