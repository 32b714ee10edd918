#!/bin/bash
# Found by hand: a model that could not be saved was a search in vain, told at its end; and a terminal that was closed left
# the folder of `assay fit` behind.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR" folder

"$ASSAY" data make twonorm --rows 500 --seed 3 -o train.csv 2>/dev/null
printf 'dataset: train.csv\ntarget: class\nbudget: {time: 30s}\n' >spec.yaml

refused_early() { # text arguments...
    local text=$1 start
    shift
    start=$SECONDS
    ! "$ASSAY" "$@" 2>said && grep -F "$text" said && [ $((SECONDS - start)) -lt 10 ]
}

hung_up() { # a closed terminal ends the search with the best so far
    "$ASSAY" fit train.csv --target class --time 60s -o h.assay >hup 2>&1 &
    local pid=$! start=$SECONDS
    while ! grep -q 'running: [1-9]' hup && [ $((SECONDS - start)) -lt 30 ]; do sleep 0.1; done
    kill -HUP $pid
    wait $pid && [ -s h.assay ] && [ $((SECONDS - start)) -lt 45 ]
}

nothing_left() { [ -z "$(ls -A "$TMPDIR")" ]; }

ok "fit refuses a folder that is not there" refused_early "nowhere/m.assay: its folder does not exist" \
    fit train.csv --target class --time 30s -o nowhere/m.assay
ok "fit refuses a folder as a file" refused_early "folder is a folder" fit train.csv --target class --time 30s -o folder
ok "run refuses before it starts anything" refused_early "nowhere/m.assay: its folder does not exist" \
    run spec.yaml --dir data -o nowhere/m.assay
ok "nothing was made" test ! -e data
ok "hanging up ends with a model" hung_up
ok "and leaves nothing behind" nothing_left
finish
