#!/bin/bash
# Found by hand: kill -9 of the controller or of the runner of `fit` ended the search with exit status 1 and without a model. They are
# started again, and with a number of trials the model is the same, bit for bit. A child that keeps being killed ends the search.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"
table() { # rows
    seq "$1" | awk 'BEGIN { srand(2); print "a,b,c,y" } { a = rand(); b = rand(); print a "," b "," $1 * 7 % 31 "," 3 * a + (b > .5) + rand() }'
}
table 4000 >train.csv
table 40000 >slow.csv

child_of() { # process name: its child of that name
    for p in $(cat /proc/"$1"/task/*/children 2>/dev/null); do
        case $(tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null) in "$2 "*) echo "$p" ;; esac
    done
}
# Kills the child so many seconds after it is there. Fails where the search is over.
kill_child() { # name seconds
    local child
    while kill -0 "$pid" 2>/dev/null; do
        child=$(child_of "$pid" "$1")
        [ -n "$child" ] || { sleep .02 && continue; }
        sleep "$2"
        kill -9 "$child" 2>/dev/null && return 0
    done
    return 1
}
killed() { # name seconds... -- table and options of fit; leaves fit's exit status in rc
    local name=$1 pid at=() missed=0
    shift
    while [ "$1" != -- ]; do at+=("$1") && shift; done
    shift
    rm -f m.assay
    "$ASSAY" fit "$@" --target y -o m.assay >said 2>&1 &
    pid=$!
    for s in "${at[@]}"; do
        kill_child "$name" "$s" || missed=1
    done
    wait $pid
    rc=$?
    cat said
    [ $missed = 0 ] || echo "the search was over before the last kill"
    return $((rc + missed))
}
is_of_the_search() { grep -q '^saved m.assay after' said && grep -q "^the $1 was killed by signal 9 (Killed); it is started again" said; }

ok "a search whose runner is killed" killed assay-runner 2 -- train.csv --time 6s
ok "ends with its model, and says so" is_of_the_search runner
ok "one whose controller is killed" killed assayd 2 -- train.csv --time 6s
ok "does so, too" is_of_the_search controller
ok "a search that is left alone" "$ASSAY" fit slow.csv --target y --trials 6 --families linear,boost -o whole.assay
ok "one of as many trials whose controller is killed" killed assayd .3 -- slow.csv --trials 6 --families linear,boost
ok "has the same model" cmp m.assay whole.assay
kept() { ASSAY_KEEP_TEMP=1 killed "$@"; }
ok "one whose runner is" kept assay-runner .3 -- slow.csv --trials 6 --families linear,boost
ok "has it, too" cmp m.assay whole.assay
# The next runner says that it has ended, so that its trials wait for no lease to run out.
at_once() { grep -rqs runner.hello "$TMPDIR" && ! grep -rs lease.expired "$TMPDIR"; }
ok "and did not wait for its lease" at_once
# At any time of its short life: while it starts, while the table is sent and read, while trials run. On a fast machine it is over
# before some of these kills.
"$ASSAY" fit train.csv --target y --trials 3 --families linear,boost -o whole.assay >said 2>&1
early() {
    local kills=0
    for s in 0 .01 .02 .05 .1 .2; do
        killed assayd $s -- train.csv --trials 3 --families linear,boost && kills=$((kills + 1))
        [ "$rc" = 0 ] && cmp m.assay whole.assay || return 1
    done
    [ $kills -ge 2 ]
}
ok "one whose controller is killed early has it, too" early
again() { ! killed assay-runner 1 .1 .1 .1 .1 .1 -- train.csv --time 30s && grep -q 'the runner ended unexpectedly: killed by signal 9' said; }
ok "one whose runner is killed again and again ends" again
finish
