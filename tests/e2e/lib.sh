# lib.sh - what the end-to-end scripts share: cases that count themselves, a folder, processes that are stopped again.
# shellcheck shell=bash disable=SC2034
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

# Writes train.csv and test.csv by the datasets' split rule: row i is test if i * 2654435761 mod 2^32 is below 2^30.
split_table() { # file
    local reader="cat"
    case $1 in *.gz) reader="zcat" ;; esac
    $reader "$1" | awk 'NR == 1 { print > "train.csv"; print > "test.csv"; next }
        { i = NR - 2; h = (i * 2654435761) % 4294967296; print > (h < 1073741824 ? "test.csv" : "train.csv") }'
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }
