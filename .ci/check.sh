#!/bin/bash
# What a change must pass (`make check`): lint, gcc and clang builds without a warning, all tests, the API
# against its description, unit tests under the sanitizers, a short fuzz of every harness over its kept corpus. Every step runs even when one
# before it failed; ends with "N passed, N failed, N skipped" over test cases and the other steps.
set -u
cd "$(dirname "$0")/.." || exit 1
mkdir -p build
passed=0 failed=0 skipped=0
jobs=${JOBS:-$(nproc)}
summary=()

# step NAME COMMAND...: a closing line of counts is added up, any other step counts as one.
step() {
    local name=$1 log=build/check-$1.log start=$SECONDS rc line p f s
    shift
    printf '\n== %s\n' "$name"
    "$@" 2>&1 | tee "$log" | grep -vE '^(gcc|clang|ccache|/[^ ]*nvcc|nvcc) '
    rc=${PIPESTATUS[0]}
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$log" | tail -1)
    p=0 f=0 s=0
    if [ -n "$line" ]; then
        read -r p f s <<<"${line//[!0-9 ]/}"
    elif [ "$rc" -eq 0 ]; then
        p=1
    fi
    [ "$rc" -ne 0 ] && [ "$f" -eq 0 ] && f=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    summary+=("$(printf '%-10s %5d passed %3d failed %3d skipped %5d s' "$name" "$p" "$f" "$s" $((SECONDS - start)))")
}

# Programs whose source says "SAN=thread" start threads; the others would only cost time there.
thread_tests() {
    local t list=()
    for t in $(grep -rlE --include='test_*.c' 'SAN=thread' tests); do
        list+=("build/gcc-thread/${t%.c}")
    done
    [ ${#list[@]} -gt 0 ] || { echo "0 passed, 0 failed, 0 skipped"; return 0; }
    make -s -j"$jobs" SAN=thread "${list[@]}" && B=build/gcc-thread SAN=thread tests/run.sh "${list[@]}"
}

address_tests() {
    make -s -j"$jobs" SAN=address,undefined UNIT=1 run-tests
}

step lint make -s lint LINT=all
step gcc make -j"$jobs" WERROR=1 all build-tests
step tests make -s -j"$jobs" WERROR=1 run-tests
step api tests/api/check.sh
step address address_tests
step thread thread_tests
export KEEP=0 # a check leaves the tree as it was
step fuzz make -s -j"$jobs" WERROR=1 SECONDS="${FUZZ_SECONDS:-15}" fuzz
step gpu make -s gpu-check

printf '\n'
printf '%s\n' "${summary[@]}"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
