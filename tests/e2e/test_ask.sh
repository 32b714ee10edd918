#!/bin/bash
# Programs of the user's own ask and tell through configs/clients/assay.py: three processes share a study, the controller is
# killed in the middle and started again, one program is killed for good, and nothing that was told is lost or counted twice.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/ask_lib.sh
. "$ROOT/tests/e2e/ask_lib.sh"

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

# pruning with intermediate values
def pruned(t):
    for step in range(1, 28):
        loss = (t["x"] - 0.7) ** 2 + 1 / step
        if t.report(step, loss):
            raise assay.Pruned
    return loss

s = assay.Study(url, "pruned", trials=60, levels=27, scheduler="asha", space={"x": assay.uniform(0, 1)})
s.optimize(pruned)
counts = [t["state"] for t in s.trials()]
assert counts.count("pruned") > 20 and abs(s.best["config"]["x"] - 0.7) < 0.15, (counts, s.best)

# two objectives, and a constraint between parameters (Binh and Korn's problem, 1997)
def binh_korn(t):
    x, y = t["x"], t["y"]
    assert x + y <= 6, t.params
    return 4 * x * x + 4 * y * y, (x - 5) ** 2 + (y - 5) ** 2

s = assay.Study(url, "two", trials=120, directions=["minimize", "minimize"], seed=1,
                constraints=["x + y <= 6"], space={"x": assay.uniform(0, 5), "y": assay.uniform(0, 3)})
s.optimize(binh_korn)
front = s.best_trials
assert len(front) >= 10, front
points = sorted((r["score"], r["value_2"]) for r in front)
assert all(a[1] > b[1] for a, b in zip(points, points[1:])), points   # no one beats another
assert s.info["objectives"] == ["score", "value_2"], s.info["objectives"]

def volume(points, reference=(140.0, 50.0)):
    area, low = 0.0, reference[1]
    for x, y in sorted(points):
        if x < reference[0] and y < low:
            area += (reference[0] - x) * (low - y)
            low = y
    return area

import random
draw, drawn = random.Random(1), []
while len(drawn) < 120:
    x, y = draw.uniform(0, 5), draw.uniform(0, 3)
    if x + y <= 6:
        drawn.append((4 * x * x + 4 * y * y, (x - 5) ** 2 + (y - 5) ** 2))
print("volume", volume(points), "of random points", volume(drawn))
assert volume(points) > volume(drawn), (volume(points), volume(drawn))
for wrong, where in (({"values": [1]}, "values"), ({"value": 1}, "values"), ({"values": [1, "x"]}, "values[1]")):
    late = assay.Study(url, "wrong-values", trials=1, directions=["minimize", "maximize"], client="w",
                       space={"x": assay.uniform(0, 1)})
    t = late.ask()[0]
    try:
        t._tell("complete", **wrong)
        raise SystemExit(f"{wrong} was taken")
    except assay.Error as e:
        assert e.status == 400 and e.where == where, (e.status, e.where, str(e))
for more, where in (({"constraints": ["x + q <= 1"]}, "constraints[0]"), ({"constraints": ["x +"]}, "constraints[0]"),
                    ({"constraints": ["x > 2"]}, "constraints"), ({"constraints": ["opt > 2"]}, "constraints[0]"),
                    ({"constraints": ["x < 0.5"], "enqueue": [{"x": 0.7}]}, "enqueue[0]"),
                    ({"directions": ["minimize"] * 2, "levels": 3}, "levels"),
                    ({"directions": ["up"]}, "objectives[0].goal"),
                    ({"directions": ["minimize"] * 2, "scheduler": "asha"}, "scheduler")):
    try:
        assay.Study(url, "wrong-more", trials=1, space={"x": assay.uniform(0, 1), "opt": assay.choice("a", "b")}, **more)
        raise SystemExit(f"{more} was taken")
    except assay.Error as e:
        assert e.status == 400 and e.where == where, (more, e.status, e.where, str(e))

# every sampler keeps constraints, also nested ones
for sampler in ("random", "tpe", "gp", "sobol", "halton", "grid", "local", "bohb"):
    seen = []
    def kept(t):
        seen.append(t.params)
        assert t["a"] * t["b"] <= 20 and t.get("c", 0) < t["a"], t.params
        return abs(t["a"] - 4) + t["b"] / 10 + t.get("c", 1)
    s = assay.Study(url, f"kept-{sampler}", trials=60, sampler=sampler, space={
        "a": assay.integer(1, 20), "b": assay.choice(1, 2, 4, 8), "k": assay.choice("p", "q"),
        "c": assay.uniform(0, 10, when={"k": "q"})}, constraints=["a * b <= 20", "c < a"])
    s.optimize(kept, catch=())
    assert len(seen) == 60, (sampler, len(seen))

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
