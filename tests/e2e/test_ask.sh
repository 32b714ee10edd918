#!/bin/bash
# Programs of the user's own ask and tell through configs/clients/assay.py: three processes share a study, the controller is
# killed in the middle and started again, one program is killed for good, and nothing that was told is lost or counted twice.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export PYTHONPATH=$ROOT/configs/clients PYTHONDONTWRITEBYTECODE=1

port=
serve() {
    rm -f serve.out
    "$ASSAY" serve --data-dir data --listen "127.0.0.1:${port:-0}" >serve.out 2>>serve.log &
    SERVE=$!
    PIDS="${PIDS:-} $!"
    until grep -q '^assayd: ' serve.out; do
        kill -0 $! 2>/dev/null || return 1
        sleep 0.05
    done
    port=$(sed -n 's/^assayd: http:..127.0.0.1:\([0-9]*\) .*/\1/p' serve.out)
    ASSAY_TOKEN=$(cat data/admin-token)
    export ASSAY_TOKEN URL=http://127.0.0.1:$port
}

cat >program.py <<'END'
import math, os, sys, time
import assay

name, scheduler, client = sys.argv[1:4]

def objective(trial):
    told = open(f"told.{client}", "a")
    x, y = trial["x"], math.log10(trial["lr"]) + 3
    for level in range(trial.reached + 1, 10):
        value = (x - 1) ** 2 + y * y + (0.5 if trial["opt"] == "sgd" else trial["beta"]) + 1 / level
        if trial.report(level, value):
            break
        time.sleep(0.002)
    print(trial.number, trial.verdict, file=told, flush=True)
    return value

study = assay.Study(os.environ["URL"], name, trials=60, levels=9, scheduler=scheduler, seed=5,
                    sampler="tpe", client=client, lost_after="2s", space={
    "x": assay.uniform(-5, 5), "lr": assay.log(1e-6, 1), "opt": assay.choice("sgd", "adam"),
    "beta": assay.uniform(0, 1, when={"opt": "adam"})})
study.optimize(objective)
END

cat >optuna_like.py <<'END'
# Three small searches as the documentation of such libraries shows them.
import os
import assay

url = os.environ["URL"]
seen = []

def conditional(t):
    seen.append(dict(t.params))
    if t["classifier"] == "svc":
        return abs(t["c"] - 1) + 0.1
    assert "c" not in t.params
    return abs(t["depth"] - 5) / 10

s = assay.Study(url, "conditional", trials=40, goal="minimize", space={
    "classifier": assay.choice("svc", "forest"),
    "c": assay.log(1e-3, 1e3, when={"classifier": "svc"}),
    "depth": assay.integer(2, 32, log=True, when={"classifier": "forest"})})
s.optimize(conditional)
assert s.best["score"] < 0.2, s.best
assert len(seen) == 40 and {p["classifier"] for p in seen} == {"svc", "forest"}

def fails(t):
    if t.number % 3 == 0:
        raise ValueError("as it happens")
    return t["x"]

s = assay.Study(url, "fails", trials=12, goal="maximize", space={"x": assay.uniform(0, 1, step=0.01)})
s.optimize(fails)
states = [t["state"] for t in s.trials()]
assert states.count("failed") == 4 and states.count("completed") == 8, states
assert "as it happens" in next(t for t in s.trials() if t["state"] == "failed")["detail"]

try:
    assay.Study(url, "wrong", space={"x": {"log": [0, 1]}})
    raise SystemExit("a wrong space was taken")
except assay.Error as e:
    assert e.status == 400 or e.status == 422, e.status
    assert e.where == "space.x" and "above 0" in str(e), e
batch = assay.Study(url, "batch", trials=5, space={"x": assay.uniform(0, 1)}, client="b")
while len(asked := batch.ask(5)) < 5:  # as many as are proposed by now, with those that it holds
    pass
assert {t.id for t in batch.ask(5)} == {t.id for t in asked}
for t in asked:
    t.heartbeat()
    t.complete(t["x"])
assert batch.ask() == []
s = assay.Study(url, "few", trials=99, space={"x": assay.integer(1, 3), "c": assay.choice(True, "b")})
s.optimize(lambda t: t["x"] + (t["c"] is True))
assert len(list(s.trials())) == 6 and s.info["reason"] == "the space is used up", s.info
print("fine")
END

ok "the service starts" serve
ok "searches as a library's documentation shows them" timeout 120 python3 optuna_like.py
state() { curl -sS -H "Authorization: Bearer $ASSAY_TOKEN" "$URL/api/v1/studies/$1"; }

for k in 1 2 3; do
    timeout 120 python3 program.py kill asha "w$k" >"w$k.log" 2>&1 &
    W[k]=$!
done
until [ "$(state kill 2>/dev/null | jq '.ended_trials // 0')" -ge 15 ] 2>/dev/null; do sleep 0.05; done
kill -9 "${W[3]}"
{ kill -9 "$SERVE" && wait "$SERVE"; } 2>/dev/null
sleep 0.5
ok "the service starts again" serve
ok "the programs end by themselves" wait "${W[1]}" "${W[2]}"
state kill >kill.json
ok "the study is complete" test "$(jq -r .state kill.json)" = completed
ok "all trials have ended" test "$(jq .ended_trials kill.json)" = 60
completed() { sed -n 's/ completed$//p' told.w* | sort -n; }
ok "no trial was completed twice" test -z "$(completed | uniq -d)"
board() { curl -sS -H "Authorization: Bearer $ASSAY_TOKEN" "$URL/api/v1/studies/kill/leaderboard?limit=1000" | jq -r '.rows[].number' | sort -n; }
# A program that was killed may have been told `completed` without having written so.
ok "every result that a program was told is on the leaderboard" test -z "$(comm -23 <(completed | sort) <(board | sort))"
ok "some were pruned" test "$(jq .trials.pruned kill.json)" -gt 10
ok "and the best is good" jq -e '.best.score < 2' kill.json
finish
