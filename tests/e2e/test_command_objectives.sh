#!/bin/bash
# Programs with two objectives: what they print, the front, constraints, and what is refused. (Training scripts of
# scikit-learn and PyTorch: training.sh.)
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { echo "0 passed, 0 failed, 1 skipped"; exit 0; }

cat >two.py <<'PY'
import sys
x, layers = float(sys.argv[1]), int(sys.argv[2])
print(f'assay: {{"values": [{(x - 0.3) ** 2 + 1 / layers}, {layers * 10}]}}')
PY
until_true() { # study jq-condition seconds
    for _ in $(seq $(($3 * 20))); do
        [ "$("$ASSAY" show "$1" --json | jq -r "$2")" = true ] && return 0
        sleep 0.2
    done
    "$ASSAY" show "$1"
    return 1
}

start_service alone
"$ASSAY" agent --controller "$ASSAY_URL" --devices cpu:1 --cache-dir cache --allow-command --command-uids self \
    --backoff-max 200ms >>agent.log 2>&1 &
PIDS="$PIDS $!"

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
ok "which names what was missing" sh -c "'$ASSAY' trials short --json | jq -e 'all(.trials[]; .detail | contains(\"one number for each objective\"))'"
finish
