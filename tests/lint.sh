#!/bin/bash
# Format, analysis, house rules and commit messages. `tests/lint.sh` looks at the files that differ from the main branch (or at
# all, when there is no such branch or nothing differs); `tests/lint.sh all` at all. Prints what is wrong.
set -u
cd "$(dirname "$0")/.." || exit 1

sources() { git ls-files '*.c' '*.h' '*.cu' '*.cuh'; }
changed() {
    local base
    base=$(git merge-base HEAD origin/main 2>/dev/null) || return 0
    { git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } | grep -E '\.(c|h|cu|cuh)$'
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

# The tables of docs/SPEC.md are made from the code (docs/spec_tables.c); `make lint` builds the program.
if [ -n "${SPEC_TABLES:-}" ] && ! "$SPEC_TABLES" docs/SPEC.md | diff -u docs/SPEC.md - >&2; then
    echo "docs/SPEC.md: its tables differ from the code: run make spec-tables" >&2
    bad=1
fi

# Commits since the rule was made: a subject of at most 72 characters, and a body that says why.
git log --no-merges --since=2026-11-22T17:30:00Z --format='%h%x09%s%x09%b%x00' 2>/dev/null | tr '\n' ' ' | tr '\0' '\n' |
    awk -F '\t' '{ sub(/^ /, "", $1) }
        length($2) > 72 { printf "commit %s: the subject has %d characters, at most 72\n", $1, length($2); bad = 1 }
        $1 != "" && $3 !~ /[^ ]/ { printf "commit %s: a body that says why is missing\n", $1; bad = 1 }
        END { exit bad }' || bad=1

[ $bad -eq 0 ] && echo "lint: ${#files[@]} files are fine"
exit $bad
