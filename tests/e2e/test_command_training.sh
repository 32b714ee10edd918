#!/bin/bash
# Training scripts of scikit-learn and PyTorch, tuned by ASHA as command studies: the study is paused and resumed, the
# runner killed with -9, trials promoted from their checkpoints on another runner; the end of every trial is the same as
# in a study that ran through. And a program with two objectives.
# The libraries are taken from PYTHON (default: build/peers/bin/python, or python3); what is absent is skipped.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { echo "0 passed, 0 failed, 1 skipped"; exit 0; }
PYTHON=${PYTHON:-$ROOT/build/peers/bin/python}
[ -x "$PYTHON" ] || PYTHON=$(command -v python3)

cat >sklearn_train.py <<'PY'
# Logistic regression by stochastic gradient descent on the digits that scikit-learn brings along.
import json, os, pickle, sys
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier

rate, alpha, levels = float(sys.argv[1]), float(sys.argv[2]), int(os.environ["ASSAY_LEVELS"])
place = os.path.join(os.environ["ASSAY_CHECKPOINT_DIR"], "model.pickle")
x, y = load_digits(return_X_y=True)
x = x / 16
train, held = np.arange(len(x)) % 3 > 0, np.arange(len(x)) % 3 == 0
model = SGDClassifier(loss="log_loss", learning_rate="constant", eta0=rate, alpha=alpha, random_state=3, shuffle=False)
done = 0
if os.path.exists(place):
    with open(place, "rb") as f:
        done, model = pickle.load(f)
    print("assay:", json.dumps({"level": done, "accuracy": float(model.score(x[held], y[held]))}), flush=True)
with open(os.path.join(os.environ["NOTES"], "starts"), "a") as f:
    f.write(f"{os.getpid()} {os.environ['ASSAY_TRIAL']} {done}\n")
for level in range(done + 1, levels + 1):
    model.partial_fit(x[train], y[train], classes=np.arange(10))
    with open(place + ".new", "wb") as f:
        pickle.dump((level, model), f)
    os.rename(place + ".new", place)
    print("assay:", json.dumps({"level": level, "accuracy": float(model.score(x[held], y[held]))}), flush=True)
PY
cat >torch_train.py <<'PY'
# A small network on two spirals; its checkpoint has weights, optimizer and the generator of the batches.
import json, os, sys
import torch

rate, width, levels = float(sys.argv[1]), int(sys.argv[2]), int(os.environ["ASSAY_LEVELS"])
place = os.path.join(os.environ["ASSAY_CHECKPOINT_DIR"], "state.pt")
torch.manual_seed(5)
t = torch.linspace(0.2, 3, 200)
one = torch.stack([t * torch.cos(2 * t), t * torch.sin(2 * t)], 1)
x, y = torch.cat([one, -one]), torch.cat([torch.zeros(200), torch.ones(200)])
net = torch.nn.Sequential(torch.nn.Linear(2, width), torch.nn.Tanh(), torch.nn.Linear(width, width), torch.nn.Tanh(),
                          torch.nn.Linear(width, 1))
optimizer, loss_of = torch.optim.Adam(net.parameters(), lr=rate), torch.nn.BCEWithLogitsLoss()
done = 0

def tell(level):
    with torch.no_grad():
        print("assay:", json.dumps({"level": level, "loss": float(loss_of(net(x)[:, 0], y))}), flush=True)

if os.path.exists(place):
    state = torch.load(place, weights_only=True)
    done = state["level"]
    net.load_state_dict(state["net"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["generator"])
    tell(done)
with open(os.path.join(os.environ["NOTES"], "starts"), "a") as f:
    f.write(f"{os.getpid()} {os.environ['ASSAY_TRIAL']} {done}\n")
for level in range(done + 1, levels + 1):
    for _ in range(20):
        rows = torch.randint(0, 400, (64,))
        optimizer.zero_grad()
        loss_of(net(x[rows])[:, 0], y[rows]).backward()
        optimizer.step()
    torch.save({"level": level, "net": net.state_dict(), "optimizer": optimizer.state_dict(),
                "generator": torch.get_rng_state()}, place + ".new")
    os.rename(place + ".new", place)
    tell(level)
PY
cat >two.py <<'PY'
import sys
x, layers = float(sys.argv[1]), int(sys.argv[2])
print(f'assay: {{"values": [{(x - 0.3) ** 2 + 1 / layers}, {layers * 10}]}}')
PY
mkdir -m 0777 notes

spec() { # name kind
    local space words metric goal
    case $2 in
    sklearn) space='{rate: {log: [1e-4, 1]}, alpha: {log: [1e-6, 1]}}' words='"{rate}", "{alpha}"' metric=accuracy goal=maximize ;;
    torch) space='{rate: {log: [1e-5, 0.1]}, width: {choice: [4, 16, 32]}}' words='"{rate}", "{width}"' metric=loss goal=minimize ;;
    esac
    cat <<YAML
name: $1
space: $space
metric: $metric
goal: $goal
levels: 9
budget: {trials: 6}
scheduler: asha
sampler: tpe
seed: 4
parallel: 1
command: [$PYTHON, $2_train.py, $words]
files: [$2_train.py]
environment: {NOTES: $WORK/notes}
YAML
}
agent() { # name
    "$ASSAY" agent --controller "$ASSAY_URL" --devices cpu:1 --name "$1" --cache-dir "cache-$1" --checkpoint 100ms \
        --allow-command --command-uids self --backoff-max 200ms >>"agent-$1.log" 2>&1 &
    AGENT=$!
    PIDS="$PIDS $AGENT"
}
field() { "$ASSAY" show "$1" --json | jq -r "$2"; }
until_true() { # study jq-condition seconds
    for _ in $(seq $(($3 * 5))); do
        [ "$(field "$1" "$2" 2>/dev/null)" = true ] && return 0
        sleep 0.2
    done
    "$ASSAY" show "$1"
    return 1
}
ends() { "$ASSAY" trials "$1" --limit 1000 --json | jq -c '[.trials[] | [.number, .state, .level, .score]] | sort'; }
starts() { wc -l <notes/starts; }
until_starts() { # so many
    for _ in $(seq 600); do
        [ "$(starts)" -ge "$1" ] && return 0
        sleep 0.1
    done
    return 1
}

export ASSAY_URL=unix:$WORK/data/sock
"$ASSAY" serve --data-dir data --no-tcp --lease-ms 1500 >>serve.log 2>&1 &
PIDS="$!"
until "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done
agent first

library() { # name module
    if ! "$PYTHON" -c "import $2" 2>/dev/null; then
        skip "$1" "$PYTHON has no module $2"
        return
    fi
    : >notes/starts
    spec "$1-plain" "$1" >plain.yaml
    "$ASSAY" submit plain.yaml >/dev/null
    ok "$1: a study with ASHA ends" until_true "$1-plain" '.state == "completed"' 900
    ok "$1: some trials were pruned, some went to the top" test "$(field "$1-plain" '.trials.pruned > 0 and .trials.completed > 0')" = true
    ok "$1: some went on from a checkpoint" grep -q ' [1-9]$' notes/starts

    : >notes/starts
    spec "$1-broken" "$1" >broken.yaml
    "$ASSAY" submit broken.yaml >/dev/null
    until_starts 1
    "$ASSAY" pause "$1-broken" >/dev/null # its program is stopped, its folder kept
    ok "$1: paused" until_true "$1-broken" '.state == "paused" and .trials.running == 0' 60
    "$ASSAY" resume "$1-broken" >/dev/null
    for k in 1 2; do # two machines are lost
        until_starts $(($(starts) + 2))
        { kill -9 "$AGENT" && wait "$AGENT"; } 2>/dev/null
        agent "$1-$k"
    done
    ok "$1: paused, and killed twice: it ends" until_true "$1-broken" '.state == "completed"' 900
    ok "$1: every trial ends as in the unbroken study" test "$(ends "$1-broken")" = "$(ends "$1-plain")"
    ok "$1: trials went on from checkpoints on other runners" sh -c "[ \$(grep -c ' [1-9]\$' notes/starts) -ge 2 ]"
}
library sklearn sklearn
library torch torch

cat >two.yaml <<YAML
name: two
space: {x: [0, 1], layers: {int: [1, 8]}}
objectives: [error, {metric: cost, goal: minimize}]
constraints: ["x + layers / 10 <= 1"]
budget: {trials: 12}
seed: 2
command: [python3, two.py, "{x}", "{layers}"]
files: [two.py]
YAML
"$ASSAY" submit two.yaml >/dev/null
ok "a program with two objectives" until_true two '.state == "completed" and .trials.completed == 12' 60
ok "has a front" sh -c "'$ASSAY' pareto two --json | jq -e '.facts == [\"score\", \"value_2\"] and (.rows | length) >= 2 and all(.rows[]; .value_2 >= 10)'"
ok "which people see" sh -c "'$ASSAY' pareto two | grep -q value_2"
ok "and all keep the constraint" sh -c "'$ASSAY' trials two --json | jq -e 'all(.trials[]; .config.x + .config.layers / 10 <= 1)'"
sed -e 's/^name: two/name: short/' -e 's/trials: 12/trials: 2/' -e 's/two.py/one.py/' two.yaml >short.yaml
sed -i 's/files: .two.py./files: [one.py]/' short.yaml
echo 'print("assay: 0.5")' >one.py
"$ASSAY" submit short.yaml >/dev/null
ok "one number where two are needed fails the trial, with the reason" until_true short '.trials.failed == 2' 60
ok "... " sh -c "'$ASSAY' trials short --json | jq -e 'all(.trials[]; .detail | contains(\"one number for each objective\"))'"
finish
