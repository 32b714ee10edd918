# lib.sh - what the end-to-end scripts share: cases that count themselves, a folder, processes that are stopped again.
# shellcheck shell=bash
# Sourced with B set (build folder). `ok NAME CONDITION...` runs a command and counts; end with `finish`.
set -u
ASSAY=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/${B:-build/gcc}/assay
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
DATA=$ROOT/../shared/datasets
WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-e2e-XXXXXX")
PASSED=0
FAILED=0
SKIPPED=0
cd "$WORK" || exit 1
trap 'cleanup' EXIT

cleanup() {
    for p in ${PIDS:-}; do kill "$p" 2>/dev/null; done
    [ "$FAILED" -eq 0 ] && rm -rf "$WORK"
}

ok() { # name command...
    local name=$1
    shift
    if "$@" >"$WORK/out" 2>"$WORK/err"; then
        PASSED=$((PASSED + 1))
        echo "ok $name"
    else
        FAILED=$((FAILED + 1))
        echo "FAILED $name: $*"
        tail -n 12 "$WORK/out" "$WORK/err"
    fi
}

skip() { # name why
    SKIPPED=$((SKIPPED + 1))
    echo "skipped $1: $2"
}

finish() {
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" -eq 0 ]
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
