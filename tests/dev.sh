#!/bin/bash
# `make dev`: a controller with its page on a free loopback port, two CPU runners, a small study, and the merged log. Ctrl-C
# stops exactly what was started here and removes the folder.
set -eu
cd "$(dirname "$0")/.."
assay=$PWD/build/assay
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-dev-XXXXXX")
pids=()
stop() {
    trap - EXIT INT TERM
    for p in "${pids[@]}"; do kill "$p" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap stop EXIT INT TERM

port=${PORT:-$((20000 + RANDOM % 20000))}
"$assay" serve --data-dir "$work/data" --socket "$work/sock" --listen "127.0.0.1:$port" --dev 2>&1 | tee "$work/assayd.log" &
pids+=($!)
export ASSAY_URL=unix:$work/sock
for _ in $(seq 100); do
    "$assay" ls >/dev/null 2>&1 && break
    sleep 0.05
done
for i in 1 2; do
    "$assay" agent --controller "$ASSAY_URL" --name "dev$i" --cache-dir "$work/cache$i" &
    pids+=($!)
done
"$assay" data make waveform --rows 2000 -o "$work/waveform.csv"
cat >"$work/dev.yaml" <<S
name: dev
dataset: $work/waveform.csv
target: class
metric: accuracy
budget: {time: 5m}
S
"$assay" submit "$work/dev.yaml"
echo "ASSAY_URL=$ASSAY_URL   (Ctrl-C stops everything)"
wait
