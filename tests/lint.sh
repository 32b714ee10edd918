#!/bin/bash
# Format, analysis, house rules and commit messages. `tests/lint.sh` looks at the files that differ from the main branch (or at
# all, when there is no such branch or nothing differs); `tests/lint.sh all` at all; `tests/lint.sh quick` at all but without
# clang-tidy, which takes minutes where the rest takes seconds. Prints what is wrong.
set -u
cd "$(dirname "$0")/.." || exit 1

kinds='\.(c|h|cu|cuh|js|mjs|css|md|sh)$'
changed() {
    local base
    base=$(git merge-base HEAD origin/main 2>/dev/null) || return 0
    { git diff --name-only --diff-filter=d "$base"; git ls-files --others --exclude-standard; } | grep -E "$kinds"
}

scope=${1:-changed}
mapfile -t files < <([ "$scope" != changed ] || changed)
[ ${#files[@]} -gt 0 ] || mapfile -t files < <(git ls-files | grep -E "$kinds")
[ ${#files[@]} -gt 0 ] || { echo "lint: git lists no sources here" >&2; exit 1; }
bad=0

# clang-format knows C, CUDA and JavaScript (.clang-format has a section for each).
printf '%s\n' "${files[@]}" | grep -E '\.(c|h|cu|cuh|js|mjs)$' | xargs -r clang-format --dry-run -Werror || bad=1

# No formatter in the distribution knows CSS or Markdown: lines of at most 100 characters, no tabs, no spaces at the end.
# Rows of tables, code in ``` fences and lines that are one long word (a link) cannot be broken.
printf '%s\n' "${files[@]}" | grep -E '\.(js|css|md)$' | xargs -r perl -CSD -ne '
    chomp;
    my $is_md = $ARGV =~ /\.md$/;
    $code = !$code if $is_md && /^\s*```/;
    my $may = $is_md && ($code || /^\s*\|/ || !/^\s*\S+.*\s\S/);
    if (length > 100 && !$may) { printf "%s:%d: %d characters, at most 100\n", $ARGV, $., length; $bad = 1 }
    if (/\t/ || (/\s$/ && !$is_md)) { print "$ARGV:$.: a tab, or a space at the end of the line\n"; $bad = 1 }
    if (eof) { close ARGV; $code = 0 }
    END { exit($bad ? 1 : 0) }' || bad=1

# Only C: a .cu needs the CUDA headers. cmocka tests are plain C too.
# shellcheck disable=SC2016 # expanded by the inner shell
[ "$scope" = quick ] || printf '%s\n' "${files[@]}" | grep '\.c$' | grep -v '^ml/cuda/' |
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

tests/check-commits.sh || bad=1

[ $bad -eq 0 ] && echo "lint: ${#files[@]} files are fine"
exit $bad
