#!/bin/bash
# docs/TRIAL.md is kept true: every file it names exists, every `file` → `function` is there, and the journal of a real trial shows
# the events of its last column in their order.
# shellcheck disable=SC2016 # backticks are what is looked for
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"
doc=$ROOT/docs/TRIAL.md

names_exist() { # every `path` and every `path` → `function`
    local bad=0 path function
    while read -r path; do
        [ -e "$ROOT/$path" ] || { echo "no $path"; bad=1; }
    done < <(grep -oE '`[a-z-]+/[a-z_/.]+\.(c|h|js|sh)`' "$doc" | tr -d '`' | sort -u)
    while IFS='|' read -r path function; do
        grep -qE "\b$function\(" "$ROOT/$path" || { echo "$path has no $function"; bad=1; }
    done < <(grep -oE '`[a-z-]+/[a-z_]+\.c` → `[a-z_]+`' "$doc" | sed -E 's/`([^`]*)` → `([^`]*)`/\1|\2/' | sort -u)
    return $bad
}
ok "files and functions named in TRIAL.md exist" names_exist

"$ASSAY" data make twonorm --rows 300 -o t.csv 2>/dev/null
cat >s.yaml <<S
name: doc
dataset: t.csv
target: class
budget: {trials: 3}
S
ok "a study runs" "$ASSAY" run s.yaml --dir data -o m.assay

# The events of the last column, in the order of the table, as one line of words.
want=$(grep -E '^\| [0-9]+ \|' "$doc" | awk -F'|' '{ print $5 }' | grep -oE '`[a-z.]+`' | tr -d '`' | tr '\n' ' ')
in_order() { # each wanted event comes after the one before it
    local seq=0 next
    for event in $want; do
        next=$(sqlite3 data/assay.db "SELECT min(seq) FROM journal WHERE event = '$event' AND seq > $seq")
        echo "$event $next"
        [ -n "$next" ] || return 1
        seq=$next
    done
}
ok "TRIAL.md names events" test "$(echo "$want" | wc -w)" -ge 9
ok "the journal shows them in that order" in_order
finish
