#!/bin/bash
# What the command line says to someone who mistypes: which word is missing or not known, an option as it was typed, and
# the way out. Each case is one sentence that used to say less ("an argument is missing", "limit: must be ...", "no such
# verb, or too few or too many arguments for it", "Failed to connect to localhost port 80").
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
unset ASSAY_URL

says() { # text arguments...: the command fails and prints the text
    local want=$1 out
    shift
    if out=$("$ASSAY" "$@" 2>&1 </dev/null); then
        echo "assay $* should fail"
        return 1
    fi
    grep -qF -- "$want" <<<"$out" || { echo "assay $*: $out"; return 1; }
}

ok "the missing operand is named" says "TRAIN.csv is missing" fit --target y
ok "also behind options in brackets" says "STUDY/NUMBER is missing" trial
ok "a command with verbs lists them" says "say what to do: ls, add, rm" token
ok "an unknown verb too" says 'there is no "frob"; there are ls, drain, enable' runner frob
ok "a verb says what it takes" says "add takes NAME ROLE" token add x --server unix:nowhere
ends_there() { ! "$ASSAY" token add x --server unix:nowhere 2>&1 | grep -q ' $'; }
ok "without a space behind it" ends_there
ok "an empty argument is asked about" says "an argument is empty" show ""
ok "an option is named as it is typed" says "--limit: must be from 1 to" ls --limit 0
ok "a value that is missing too" says "--time needs a value" fit t.csv --time
ok "an unknown command gets the nearest" says 'there is no command "fti"; did you mean fit?' fti
ok "an address that is none" says "--server or ASSAY_URL: " ls --server localhost:7878
printf 'a,b,y\n1,2,0\n3,1,1\n2,2,0\n' >t.csv
ok "a folder that is not there" says "cannot write no/m.assay: its folder does not exist" fit t.csv --target y -o no/m.assay
printf 'dataset: t.csv\ntarget: y\n' >t.yaml
ok "a file where a folder should be" says "--dir: cannot make the folder t.csv" run t.yaml --dir t.csv
printf 'dataset: t.csv\ntarget: y\nsampler: tpee\n' >t.yaml
ok "a sampler that is none, before anything is started" says 'assay: t.yaml: sampler: "tpee" is no sampler; did you mean tpe?' run t.yaml
printf 'dataset: t.csv\ntarget: y\nspace: [{family: bost}]\n' >t.yaml
ok "a family that is none" says 'assay: t.yaml: space[0].family: "bost" is no family of models; did you mean boost?' run t.yaml
printf 'dataset: no.csv\ntarget: y\n' >t.yaml
ok "a table that is not there, and the spec that names it" says 'assay: t.yaml: dataset: no.csv: no such file' run t.yaml
ok "a model beside the leaderboard" says '--output: name a file' run t.yaml -o -
printf 'dataset: t.csv\ntarget: y\n' >t.yaml
ok "a model in the place of its table" says '--output: t.csv is the file that is read' run t.yaml -o t.csv
ok "or of its spec" says '--output: t.yaml is the file that is read' run t.yaml -o t.yaml
ok "for that no folder is made" test ! -e assay-data
ok "a table of outcomes that is none" says "is JSON (docs/SIMULATE.md)" simulate --table t.csv

ok "a folder that should be a file" says "$WORK is a folder, not a file" submit "$WORK"
ok "text that is not UTF-8" says "--target: the text is not UTF-8" fit t.csv --target $'y\xff'
ok "an empty spec on standard input" says "standard input: is empty" submit -

agent_names_socket() { # it tries again for ever
    "$ASSAY" agent --server unix:nowhere/sock --cache-dir cache >agent.log 2>&1 &
    local pid=$! rc=1
    for _ in $(seq 300); do
        grep -qF 'no controller answers at unix:' agent.log && rc=0 && break
        kill -0 $pid 2>/dev/null || break
        sleep 0.1
    done
    kill $pid 2>/dev/null
    wait $pid 2>/dev/null
    return $rc
}
ok "a runner names the socket where nobody answers" agent_names_socket

start_service
"$ASSAY" data make twonorm --rows 200 -o two.csv 2>/dev/null
"$ASSAY" data add two.csv >/dev/null
again() { "$ASSAY" data add two.csv --name three | grep -qF 'two: 200 rows, 21 columns (the same table was already there'; }
ok "a table that is there already is named" again

printf 'name: two\ndataset: two\ntarget: class\nbudget: {trials: 2}\nspace: [{family: linear}]\n' >two.yaml
"$ASSAY" submit two.yaml --follow >/dev/null 2>&1
printf 'x,y\n1,2\n' >other.csv
printf 'a,b,y\n1,2,0\n3,1\n' >cut.csv
ok "a table that was cut off" says "line 3: expected 3 fields, found 2" data add cut.csv
printf 'a,b,y\n1,2,0\n3,1,1\n' >cut.csv
mended() { "$ASSAY" data add cut.csv | grep -F 'cut: 2 rows, 3 columns'; }
ok "is added under the same name when it is mended" mended
says_columns() { printf 'd,y\n2024-01-05,1\n2024-02-05,2\n' | "$ASSAY" data add - --name dates 2>&1 | grep -F 'standard input: 1 column is read in a special way (columns: {NAME: TYPE} in the spec overrides):'; }
ok "standard input is called so, and a spec says how to read it" says_columns
ok "a name that is too long is not cut" says "name: is 130 bytes long, at most 120" data add other.csv --name "$(printf 'n%.0s' {1..130})"
"$ASSAY" export two -o two.assay >/dev/null
ok "a full disk is said with the file's name" says "cannot write /dev/full: " predict two.assay two.csv -o /dev/full
ok "a trial that has ended is not killed" says "trial two/1 has already ended (completed)" trial kill two/1
ok "debug needs a controller with --dev" says "need a controller that was started with --dev" debug digest

help_fits() { # no line of any help is wider than 100 columns
    local c bad=0
    for c in "" fit run predict explain submit ls trial data token debug simulate serve agent; do
        # shellcheck disable=SC2086 # "" is the program's own help
        "$ASSAY" $c --help | awk -v c="$c" 'length > 100 { print c ": " $0; bad = 1 } END { exit bad }' || bad=1
    done
    return $bad
}
ok "help fits 100 columns" help_fits
finish
