#!/bin/bash
# bench_deadline.sh - does `fit --time 1s` keep its word on a loaded machine? RUNS searches (default 8) beside LOAD busy loops
# (default 8): how many ended with a model, and by how much each passed its second. Another program: ASSAY=path.
set -u
cd "$(dirname "$0")/../.." || exit 1
ASSAY=$(realpath "${ASSAY:-${B:-build/gcc}/assay}") RUNS=${RUNS:-8} LOAD=${LOAD:-8}
work=$(mktemp -d) && cd "$work" || exit 1
loops=()
end() {
    [ ${#loops[@]} -gt 0 ] && kill "${loops[@]}" 2>/dev/null
    rm -rf "$work"
}
trap end EXIT
"$ASSAY" data make twonorm --rows 2000 --seed 3 -o train.csv 2>/dev/null || exit 1
for _ in $(seq "$LOAD"); do
    (while :; do :; done) &
    loops+=($!)
done
models=0 late=()
for i in $(seq "$RUNS"); do
    from=$(date +%s%N)
    timeout 60 "$ASSAY" fit train.csv --target class --time 1s -o "m$i.assay" >/dev/null 2>&1
    late+=($((($(date +%s%N) - from) / 1000000 - 1000)))
    [ -s "m$i.assay" ] && models=$((models + 1))
done
mapfile -t late < <(printf '%s\n' "${late[@]}" | sort -n)
echo "fit --time 1s beside $LOAD busy loops: $models of $RUNS with a model; beyond its second: median ${late[RUNS / 2]} ms, most ${late[RUNS - 1]} ms"
