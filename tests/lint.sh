#!/bin/bash
# Format, analysis and house rules. `tests/lint.sh` looks at the files that differ from the main branch (or at
# all, when there is no such branch or nothing differs); `tests/lint.sh all` at all. Prints what is wrong.
set -u
cd "$(dirname "$0")/.." || exit 1

sources() { git ls-files '*.c' '*.h' '*.cu' '*.cuh'; }
changed() {
    local base
    base=$(git merge-base HEAD origin/main 2>/dev/null) || return 0
    { git diff --name-only "$base"; git ls-files --others --exclude-standard; } | grep -E '\.(c|h|cu|cuh)$'
}

mapfile -t files < <([ "${1:-}" = all ] || changed)
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(sources)
[ ${#files[@]} -gt 0 ] || { echo "lint: git lists no sources here" >&2; exit 1; }
bad=0

clang-format --dry-run -Werror "${files[@]}" || bad=1

# Only C: a .cu needs the CUDA headers. cmocka tests are plain C too.
# shellcheck disable=SC2016 # expanded by the inner shell
printf '%s\n' "${files[@]}" | grep '\.c$' | grep -v '^ml/cuda/' |
    xargs -P "$(nproc)" -n 4 -r sh -c \
        'out=$(clang-tidy --quiet "$@" -- -std=c17 -D_GNU_SOURCE -I. 2>&1) && exit 0; printf "%s\n" "$out" | grep -vE "^[0-9]+ warnings? generated|^$"; exit 1' tidy || bad=1

mapfile -t scripts < <(git ls-files '*.sh' '.ci/run')
[ ${#scripts[@]} -eq 0 ] || shellcheck -S warning "${scripts[@]}" || bad=1
tests/check-rules.sh || bad=1

[ $bad -eq 0 ] && echo "lint: ${#files[@]} files are fine"
exit $bad
