#!/bin/bash
# test_11_34_worker.sh - issue 11, point 34: a worker, which reads tables of strangers, inherited every secret of whoever started
# the runner. It gets a clean environment and no_new_privs.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

"$ASSAY" data make waveform --rows 4000 --seed 1 -o train.csv >/dev/null || exit 1
ASSAY_TOKEN=secret-token AWS_SECRET_ACCESS_KEY=secret-key "$ASSAY" fit train.csv --target class --time 60s >fit.log 2>&1 &
PIDS=$!

# The worker is a grandchild or further down; /proc tells who is whose.
worker_of() {
    local child
    for child in $(pgrep -P "$1"); do
        if tr '\0' ' ' <"/proc/$child/cmdline" 2>/dev/null | grep -q -- ' --worker'; then
            echo "$child"
            return
        fi
        worker_of "$child"
    done
}
found=
for _ in $(seq 200); do
    found=$(worker_of $! | head -1)
    [ -n "$found" ] && break
    kill -0 $! 2>/dev/null || break
    sleep 0.1
done
ok "a worker is there" test -n "$found"
cp "/proc/$found/environ" environ.bin
cp "/proc/$found/status" status.txt
kill -INT $!
ok "it was given its device" grep -qa ASSAY_WORKER_DEVICE environ.bin
ok "it knows no secret" sh -c '! grep -qa secret environ.bin'
ok "it can gain no rights" grep -q '^NoNewPrivs:.*1' status.txt
wait
PIDS=
finish
