# Sourced by the tests of programs that ask and tell: `serve` starts a controller on a free TCP port, the same one when it is
# started again, and sets SERVE (its process), URL and ASSAY_TOKEN.
# shellcheck shell=bash
export PYTHONPATH=$ROOT/configs/clients PYTHONDONTWRITEBYTECODE=1

port=
serve() {
    rm -f serve.out
    "$ASSAY" serve --data-dir data --listen "127.0.0.1:${port:-0}" >serve.out 2>>serve.log &
    # shellcheck disable=SC2034 # the tests kill it
    SERVE=$!
    PIDS="${PIDS:-} $!"
    until grep -q '^assayd: ' serve.out; do
        kill -0 $! 2>/dev/null || return 1
        sleep 0.05
    done
    port=$(sed -n 's/^assayd: http:..127.0.0.1:\([0-9]*\) .*/\1/p' serve.out)
    ASSAY_TOKEN=$(cat data/admin-token)
    export ASSAY_TOKEN URL=http://127.0.0.1:$port
}
