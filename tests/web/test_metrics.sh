#!/bin/bash
# /metrics as Prometheus reads it: every sample has a type and a help text, names end in their unit, counters count; and what
# configs/prometheus and configs/grafana ask for exists. promtool (Debian's prometheus) says the same, where it is installed.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

start_service alone
get() { curl -s --unix-socket data/sock http://localhost/metrics >"$1"; }
get first
ok "it answers" grep -q '^assay_build_info{version="[0-9.]*"} 1$' first
well_formed() {
    awk '/^# HELP / { help[$3] = 1; if ($NF !~ /[.]$/) { print "no sentence: " $0; bad = 1 } next }
        /^# TYPE / { if (type[$3]) { print "twice: " $3; bad = 1 } type[$3] = $4; next }
        { name = $1; sub(/[{].*/, "", name); n++
          if (!help[name] || !type[name]) { print "no help or type: " name; bad = 1 }
          if ((type[name] == "counter") != (name ~ /_total$/)) { print "counters end in _total: " name; bad = 1 }
          if (name ~ /_(us|ms|ns|kb|mb)(_|$)/) { print "a unit that is no base unit: " name; bad = 1 }
          if ($NF !~ /^[0-9.]+$/) { print "no number: " $0; bad = 1 } }
        END { if (n < 30) { print n " samples"; bad = 1 } exit bad }' first
}
ok "help, type and unit of every sample" well_formed
all_known() { # the names of metrics that a file uses
    local bad=0 m
    for m in $(grep -oE '\b(assay|process)_[a-z_]+' "$1" | sort -u); do
        grep -q "^# TYPE $m " first || { echo "no metric $m"; bad=1; }
    done
    return $bad
}
ok "the alerts ask for what there is" all_known "$ROOT/configs/prometheus/alerts.yaml"
ok "so does the dashboard" all_known "$ROOT/configs/grafana/assay.json"
# shellcheck disable=SC2016 # jq's own $
panels() {
    jq -e '.panels | (length > 5) and (map(.id) | unique | length) == length and all(.targets | length > 0) and
        all(.[]; . as $a | [.gridPos.x + .gridPos.w] | all(. <= 24)) and
        all(.[].targets[]; .expr | contains("$instance"))' "$ROOT/configs/grafana/assay.json"
}
ok "the dashboard is one that Grafana can draw" panels
printf 'name: m\nspace: {x: {uniform: [0, 1]}}\nbudget: {trials: 3}\n' >s.yaml
ok "a study" "$ASSAY" submit s.yaml
two_run() { # a suggestion may take a moment
    for _ in $(seq 600); do
        curl -s --unix-socket data/sock -d '{"client": "c", "count": 2}' http://localhost/api/v1/studies/m/suggest |
            jq -e '.trials | length == 2' && return 0
        sleep 0.1
    done
    return 1
}
ok "two of its trials run" two_run
get second
ok "which the numbers say" grep -qx 'assay_trials{state="running"} 2' second
ok "and processor time grows" sh -c "[ \"\$(awk '/^process_cpu_seconds_total/ { print \$2 }' second)\" != 0.000 ]"
if command -v promtool >/dev/null; then
    ok "promtool: metrics" sh -c 'promtool check metrics <second'
    ok "promtool: alerts" promtool check rules "$ROOT/configs/prometheus/alerts.yaml"
    mkdir p && cp "$ROOT"/configs/prometheus/*.yaml p && touch p/tls-cert.pem p/assay-token
    ok "promtool: configuration" promtool check config p/prometheus.yaml
else
    skip "promtool" "it is not installed (Debian: prometheus)"
fi
finish
