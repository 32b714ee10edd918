#!/bin/bash
# Found by hand: `fit -o` on a disk that is full at the end of the search said "write: No space left on device", and the model was
# lost. It is saved among the temporary files now, and the message tells where. The same where the folder went away. And what a
# command printed to a full disk was lost without a word.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR" small
seq 300 | awk 'BEGIN { print "a,b,y" } { print $1 "," $1 * 7 % 31 "," ($1 % 3 == 0) }' >train.csv

saved_elsewhere() { # text
    cat said
    sed -n "s|^assay: cannot write $1.*the model was saved as \(.*\.assay\) instead\$|\1|p" said >where
    [ -s where ] && "$ASSAY" predict "$(cat where)" train.csv -o p.csv && [ "$(wc -l <p.csv)" = 301 ]
}
begun() { [ -n "$(ls "$TMPDIR")" ]; }
gone() {
    mkdir gone
    "$ASSAY" fit train.csv --target y --time 3s -o gone/m.assay >said 2>&1 &
    within 60 begun || return 1
    rmdir gone
    ! wait $!
}
# shellcheck disable=SC2016
full() { # in namespaces of its own, so that nothing stays mounted
    find "$TMPDIR" -mindepth 1 -delete
    ! unshare -rm bash -c 'mount -t tmpfs -o size=64k tmpfs small; head -c 100000 /dev/zero >small/more; exec "$@"' - \
        "$ASSAY" fit train.csv --target y --trials 3 -o small/m.assay >said 2>&1
}
lost() { # command...: what it prints cannot be written
    ! "$ASSAY" "$@" >/dev/full 2>said && cat said && grep -q '^assay: cannot write standard output' said
}

ok "the folder goes away during a search" gone
ok "the model is elsewhere" saved_elsewhere 'gone/m.assay: its folder does not exist'
only_one_left() { [ "$(find "$TMPDIR" -type f | wc -l)" = 1 ]; } # a process in the background removes the rest
ok "and nothing else is left" within 30 only_one_left
if unshare -rm mount -t tmpfs tmpfs small 2>/dev/null; then
    ok "the disk is full" full
    ok "its model is elsewhere, too" saved_elsewhere 'small/m.assay: No space left on device'
else
    skip "a full disk" "nothing can be mounted here"
fi
ok "a fit whose board cannot be printed" lost fit train.csv --target y --trials 2 -o m.assay
ok "whose model is there all the same" test -s m.assay
ok "a fit whose JSON cannot be printed" lost fit train.csv --target y --trials 2 --json -o m.assay
ok "predictions" lost predict m.assay train.csv
ok "scores" lost score m.assay train.csv
ok "a list" lost searchers
ok "a reader who has had enough" bash -o pipefail -c "'$ASSAY' fit train.csv --target y --trials 2 -o m.assay | head -n 1"
finish
