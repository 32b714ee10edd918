#!/bin/bash
# Commit messages since the rule was made: a subject of at most 72 characters, and a body that says why. Takes a second, so
# it can be run before every push; `ln -s ../../tests/check-commits.sh .git/hooks/post-commit` runs it after every commit.
set -u
cd "$(git rev-parse --show-toplevel)" || exit 1

git log --no-merges --since=2026-11-22T17:30:00Z --format='%h%x09%s%x09%b%x00' 2>/dev/null | tr '\n' ' ' | tr '\0' '\n' |
    awk -F '\t' '{ sub(/^ /, "", $1) }
        length($2) > 72 { printf "commit %s: the subject has %d characters, at most 72\n", $1, length($2); bad = 1 }
        $1 != "" && $3 !~ /[^ ]/ { printf "commit %s: a body that says why is missing\n", $1; bad = 1 }
        END { exit bad }'
