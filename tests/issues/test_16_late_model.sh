#!/bin/bash
# Found by hand: on a busy machine the model of a search of 60 s was not fetched in the last tenths of a second, and the baseline of
# the first rows was saved in its place. Here the controller gets no turn from seconds before the end until after it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"
# More rows than a search may end early of.
seq 12000 | awk 'BEGIN { print "a,b,y" } { print $1 "," $1 * 7 % 31 "," ($1 % 3 == 0) }' >train.csv

controller_of() { # a process: its child that is assayd
    for p in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        case $(tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null) in "assayd "*) echo "$p" ;; esac
    done
}

# How long the controller stays silent after the end of the time.
silent() {
    local pid child
    rm -f m.assay
    "$ASSAY" fit train.csv --target y --time 8s -o m.assay >said 2>&1 &
    pid=$!
    sleep 5 # for the first models, and far enough from the end
    child=$(controller_of $pid)
    kill -STOP "$child" || return 1
    for ((i = 0; i < $1 * 10; i++)); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
    kill -CONT "$child" 2>/dev/null
    wait $pid
    local rc=$?
    cat said
    [ $rc -eq 0 ] && [ -s m.assay ]
}
is_of_the_search() { grep -q '^saved m.assay after' said && ! grep -q 'baseline of its first' said; }
says_why() { grep -q 'the best model could not be fetched: .*: saved m.assay, the baseline of its first [0-9]* rows' said; }

ok "a controller that is late" silent 5
ok "gives the model of the search" is_of_the_search
ok "which predicts" "$ASSAY" predict m.assay train.csv -o p.csv
ok "a controller that is silent for good" silent 25
ok "leaves the baseline, with the reason" says_why
finish
