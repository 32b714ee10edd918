#!/bin/bash
# Runs the fuzz harnesses that `make fuzz` built, or reports what their corpora cover.
#   run.sh fuzz BUILD SECONDS NAME...    new inputs that reach more code are added to the corpus
#   run.sh cover BUILD 0 NAME...         lines of the file named by "covers:" in fuzz_NAME.c that the corpus reaches
#   run.sh minimise BUILD 0 NAME...      drops the inputs that reach nothing the others do not reach
#
# The corpus of a harness is one archive, tests/fuzz/corpus/NAME.tar.gz, because thousands of small files would
# hide the rest of the tree. It is unpacked into build/fuzz-corpus/NAME before use and packed again only when an
# input was added or dropped. To add one by hand: unpack, copy it in, `minimise`.
# KEEP=0 leaves the archives as they are. An input that crashes a harness is kept as build/fuzz-NAME-*.
# Ends with "N passed, N failed, N skipped", counted in harnesses.
set -u
mode=$1 build=$2 seconds=$3
shift 3
passed=0 failed=0
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}

unpack() { # name; prints the folder
    local folder=build/fuzz-corpus/$1 archive=tests/fuzz/corpus/$1.tar.gz
    rm -rf "$folder"
    mkdir -p "$folder"
    [ ! -f "$archive" ] || tar -xzf "$archive" -C "$folder"
    echo "$folder"
}

# The same inputs always give the same bytes: sorted names, no times, no owners.
pack() { # name
    (cd "build/fuzz-corpus/$1" && find . -type f -printf '%P\n') | LC_ALL=C sort |
        tar -C "build/fuzz-corpus/$1" --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -T - -cf - |
        gzip -9n >"tests/fuzz/corpus/$1.tar.gz"
}

inputs_in() { find "$1" -type f | wc -l; }

fuzz_one() { # name
    local log=build/fuzz-$1.log dict=() rc=0 corpus scratch before
    corpus=$(unpack "$1")
    before=$(inputs_in "$corpus")
    scratch=$(mktemp -d)
    [ -f "tests/fuzz/$1.dict" ] && dict=("-dict=tests/fuzz/$1.dict")
    # Finds go to a scratch folder first; only those that add coverage are merged into the kept corpus.
    if "$build/tests/fuzz/fuzz_$1" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=4096 -max_len=16384 \
        -print_final_stats=1 -artifact_prefix="build/fuzz-$1-" "${dict[@]}" "$scratch" "$corpus" >"$log" 2>&1; then
        if [ "${KEEP:-1}" != 0 ]; then
            "$build/tests/fuzz/fuzz_$1" -merge=1 -max_len=4096 "$corpus" "$scratch" >>"$log" 2>&1
            [ "$(inputs_in "$corpus")" = "$before" ] || pack "$1"
        fi
        printf 'ok    fuzz_%-12s %s runs, %s inputs in the corpus\n' "$1" \
            "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(inputs_in "$corpus")"
    else
        printf 'FAIL  fuzz_%s; again: %s/tests/fuzz/fuzz_%s build/fuzz-%s-...\n' "$1" "$build" "$1" "$1"
        tail -n 40 "$log" | sed 's/^/      | /'
        rc=1
    fi
    rm -rf "$scratch"
    return $rc
}

minimise_one() { # name
    local from least
    from=$(unpack "$1")
    least=$(mktemp -d)
    "$build/tests/fuzz/fuzz_$1" -merge=1 -max_len=16384 "$least" "$from" >"build/fuzz-$1.log" 2>&1 || return 1
    printf 'fuzz_%-12s %s of %s inputs reach all that the corpus reached\n' "$1" "$(inputs_in "$least")" "$(inputs_in "$from")"
    rm -rf "$from"
    mv "$least" "$from"
    pack "$1"
}

cover_one() { # name
    local exe=$build/tests/fuzz/fuzz_$1 raw=build/fuzz-$1.profraw data=build/fuzz-$1.profdata file
    LLVM_PROFILE_FILE=$raw "$exe" -runs=0 "$(unpack "$1")" >"build/fuzz-$1.log" 2>&1 &&
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
