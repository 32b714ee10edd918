#!/bin/bash
# Runs test programs (cmocka) and test scripts (.sh, .mjs), one line each, and ends with the plain line
# "N passed, N failed, N skipped" of test cases. Called by `make test`; also: B=build/gcc tests/run.sh PROGRAM...
#
#   B           folder of the build
#   TEST_LIMIT  seconds a program may take (default 300; 900 for a script): it ends what hangs, and says nothing of speed
#   JOBS        programs at once (default: one more than there are processors, since many wait)
#   ASSAY_TEST_SEED   seed of the randomised tests
#
# Every program gets a folder of its own in TMPDIR, which is kept when it fails. A script exits 0, or 77 for
# "skipped", the reason on its last line; it may print "N passed, N failed[, N skipped]" to count its cases.
# History: build/test-history.db, tables run and result; see the query at the end of this file.
set -u
unset MAKEFLAGS MFLAGS MAKELEVEL # a test may run make itself

B=${B:-build/gcc}
T=${T:-}
SAN=${SAN:-}
limit=${TEST_LIMIT:-300}
script_limit=${TEST_LIMIT:-900}
[ -n "$SAN" ] && limit=$((limit * 4))
export ASSAY_TEST_SEED=${ASSAY_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=0:allocator_may_return_null=1:malloc_context_size=10:quarantine_size_mb=32}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1}

# ---- one program: writes <dir>/result, "passed failed skipped ms name", and <dir>/cases ----

counts_of_cmocka() { # log exit-status
    local p f s
    p=$(grep -ac '^\[       OK \] ' "$1")
    # Each skipped and failed case is named once as it runs and once, with a heading, in the summary.
    s=$(grep -a '^\[  SKIPPED \] ' "$1" | grep -av 'test(s), listed below' | sort -u | grep -c .)
    f=$(grep -a '^\[  FAILED  \] ' "$1" | grep -av 'test(s), listed below' | sort -u | grep -c .)
    [ "$2" -ne 0 ] && [ "$f" -eq 0 ] && f=1
    echo "$p $f $s"
}

counts_of_script() {
    local line
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed' "$1" | tail -1)
    if [ "$2" -eq 77 ]; then
        echo "0 0 1"
    elif [ -n "$line" ]; then
        # shellcheck disable=SC2086 # words of the line
        set -- "$2" ${line//[!0-9 ]/}
        [ "$1" -ne 0 ] && [ "$3" -eq 0 ] && set -- "$1" "$2" 1 "${4:-0}"
        echo "$2 $3 ${4:-0}"
    elif [ "$2" -eq 0 ]; then
        echo "1 0 0"
    else
        echo "0 1 0"
    fi
}

cases_of() { # log: "status name" per test case
    grep -aE '^\[( +OK |  SKIPPED |  FAILED  )\] [A-Za-z0-9_]+$' "$1" |
        sed -E 's/^\[ +OK \] /passed /; s/^\[  SKIPPED \] /skipped /; s/^\[  FAILED  \] /failed /' | sort -u
}

report() { # name status counts ms dir
    local p f s why=
    read -r p f s <<<"$3"
    if [ "$f" -gt 0 ]; then
        [ "$2" -eq 124 ] && why=", stopped after ${limit} s"
        [ "$2" -gt 128 ] && why=", ended by signal $(($2 - 128))"
        printf 'FAIL  %-40s %4d passed, %d failed, %d skipped  %6d ms%s\n' "$1" "$p" "$f" "$s" "$4" "$why"
        tail -n 60 "$5/log" | sed 's/^/      | /'
        printf '      seed %s; again: ASSAY_TEST_SEED=%s make test T=%s%s  (folder kept: %s)\n' \
            "$ASSAY_TEST_SEED" "$ASSAY_TEST_SEED" "$1" "${SAN:+ SAN=$SAN}" "$5"
    elif [ "$p" -eq 0 ] && [ "$s" -gt 0 ]; then
        printf 'skip  %-40s %s\n' "$1" "$(tail -n 1 "$5/log" | cut -c1-100)"
    else
        [ "$s" -gt 0 ] && why=", $s skipped"
        printf 'ok    %-40s %4d passed%s  %d ms\n' "$1" "$p" "$why" "$4"
    fi
}

run_one() { # program number
    local name=$1 dir=$WORK/$2 start end status counts
    local -a cmd=("$1")
    case $1 in *.sh | *.mjs) limit=$script_limit ;; esac
    mkdir -p "$dir/tmp"
    case $1 in
    *.sh) cmd=(bash "$1") ;;
    *.mjs)
        cmd=(node "$1")
        command -v node >/dev/null || cmd=(sh -c 'echo "node is not installed"; exit 77')
        ;;
    *) name=${1#"$B"/} cmd=("$PWD/$1") ;;
    esac
    start=$(date +%s%N)
    TMPDIR=$dir/tmp B=$B timeout -k 5 "$limit" "${cmd[@]}" >"$dir/log" 2>&1 </dev/null
    status=$?
    end=$(date +%s%N)
    case $1 in
    *.sh | *.mjs) counts=$(counts_of_script "$dir/log" $status) ;;
    *) counts=$(counts_of_cmocka "$dir/log" $status) ;;
    esac
    cases_of "$dir/log" >"$dir/cases"
    echo "$counts $(((end - start) / 1000000)) $name" >"$dir/result"
    report "$name" $status "$counts" $(((end - start) / 1000000)) "$dir" >"$dir/report"
    cat "$dir/report" # one write, so that programs that run at once do not mix
    [[ $counts == *" 0 "* ]] && rm -rf "$dir/tmp" "$dir/log"
    return 0
}

if [ "${1:-}" = --one ]; then
    run_one "$2" "$3"
    exit 0
fi

# ---- all of them ----

history() {
    command -v sqlite3 >/dev/null || return 0
    {
        echo "PRAGMA busy_timeout = 5000; BEGIN;"
        echo "CREATE TABLE IF NOT EXISTS run(id INTEGER PRIMARY KEY, at TEXT, commit_id TEXT, build TEXT, seed INT);"
        echo "CREATE TABLE IF NOT EXISTS result(run INT, program TEXT, name TEXT, status TEXT, ms INT);"
        echo "INSERT INTO run(at, commit_id, build, seed) VALUES(datetime('now'), '$(git rev-parse --short HEAD 2>/dev/null)', '$B', $ASSAY_TEST_SEED);"
        for dir in "$WORK"/*/; do
            [ -f "$dir/result" ] || continue
            read -r p f s ms name <"$dir/result"
            echo "INSERT INTO result VALUES((SELECT max(id) FROM run), '$name', NULL, '$([ "$f" -gt 0 ] && echo failed || echo passed)', $ms);"
            sed "s|^\([a-z]*\) \(.*\)|INSERT INTO result VALUES((SELECT max(id) FROM run), '$name', '\2', '\1', NULL);|" "$dir/cases"
        done
        echo "COMMIT;"
    } | sqlite3 build/test-history.db >/dev/null 2>&1
}

WORK=$(mktemp -d /tmp/assay-test.XXXXXX)
export WORK B SAN
passed=0 failed=0 skipped=0 n=0
list=()
for t in "$@"; do
    n=$((n + 1))
    list+=("$t" "$n")
done
if [ $n -eq 0 ]; then
    echo "no test matches '$T'"
    failed=1
else
    printf '%s\0' "${list[@]}" | xargs -0 -n 2 -P "${JOBS:-$(($(nproc) + 1))}" "$0" --one
fi
for dir in "$WORK"/*/; do
    [ -f "$dir/result" ] || continue
    read -r p f s _ _ <"$dir/result"
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s)) n=$((n - 1))
done
[ "$n" -gt 0 ] && failed=$((failed + n)) # a program that left no result
history
[ $failed -eq 0 ] && rm -rf "$WORK"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]

# Tests that ever failed, and when last:
#   sqlite3 build/test-history.db "SELECT program, name, count(*), max(at) FROM result JOIN run ON run.id = run
#   WHERE status = 'failed' GROUP BY 1, 2"
