#!/bin/bash
# Runs the fuzz harnesses that `make fuzz` built, or reports what their corpora cover.
#   run.sh fuzz BUILD SECONDS NAME...    new finds that reach more code stay in tests/fuzz/corpus/NAME/
#   run.sh cover BUILD 0 NAME...         lines of the file named by "covers:" in fuzz_NAME.c that the corpus reaches
# KEEP=0 leaves the corpora as they are. A crash is kept as build/fuzz-NAME-*; ends with "N passed, N failed, N skipped" of harnesses.
set -u
mode=$1 build=$2 seconds=$3
shift 3
passed=0 failed=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}

fuzz_one() { # name
    local corpus=tests/fuzz/corpus/$1 log=build/fuzz-$1.log dict=() rc=0
    local scratch
    mkdir -p "$corpus"
    scratch=$(mktemp -d)
    [ -f "tests/fuzz/$1.dict" ] && dict=("-dict=tests/fuzz/$1.dict")
    # Finds go to a scratch folder first; only those that add coverage are merged into the kept corpus.
    if "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=16384 \
        -print_final_stats=1 -artifact_prefix="build/fuzz-$1-" "${dict[@]}" "$scratch" "$corpus" >"$log" 2>&1; then
        [ "${KEEP:-1}" = 0 ] || "$build/tests/fuzz/fuzz_$1" -merge=1 -max_len=4096 "$corpus" "$scratch" >>"$log" 2>&1
        printf 'ok    fuzz_%-12s %s runs, %s inputs in the corpus\n' "$1" \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(find "$corpus" -type f | wc -l)"
    else
        printf 'FAIL  fuzz_%s; again: %s/tests/fuzz/fuzz_%s build/fuzz-%s-...\n' "$1" "$build" "$1" "$1"
        tail -n 40 "$log" | sed 's/^/      | /'
        rc=1
    fi
    rm -rf "$scratch"
    return $rc
}

cover_one() { # name
    local exe=$build/tests/fuzz/fuzz_$1 raw=build/fuzz-$1.profraw data=build/fuzz-$1.profdata file
    LLVM_PROFILE_FILE=$raw "$exe" -runs=0 "tests/fuzz/corpus/$1" >"build/fuzz-$1.log" 2>&1 &&
        llvm-profdata merge -o "$data" "$raw" || return 1
    for file in $(sed -n 's/.*covers: *\([^*]*\).*/\1/p' "tests/fuzz/fuzz_$1.c"); do
        llvm-cov export -summary-only -instr-profile="$data" "$exe" "$file" |
            sed -E 's/.*"totals":.*"lines":\{"count":([0-9]+),"covered":([0-9]+),.*"percent":([0-9.]+).*"regions".*/\1 \2/' |
            awk -v f="$file" -v n="fuzz_$1" '{ printf "%-16s %-28s %d of %d lines, %.1f%%\n", n, f, $2, $1, $1 ? 100 * $2 / $1 : 0 }'
    done
    rm -f "$raw"
}

# As many at once as there are processors; each says what it found when it ends.
running=0
for name in "$@"; do
    if [ "$running" -ge "${JOBS:-$(nproc)}" ]; then
        wait -n && passed=$((passed + 1)) || failed=$((failed + 1))
        running=$((running - 1))
    fi
    { out=$("${mode}_one" "$name"); rc=$?; printf '%s\n' "$out"; exit $rc; } &
    running=$((running + 1))
done
for ((; running > 0; running--)); do
    wait -n && passed=$((passed + 1)) || failed=$((failed + 1))
done
echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
