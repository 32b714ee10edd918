#!/bin/bash
# `preview` passed specs that `submit` refused, and said "the spec sets no limit" of a limit in time. Each of these specs is
# refused by preview with a controller and without one, with the words that submit has for it.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export XDG_CONFIG_HOME=$WORK/config TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"
start_service || exit 1
"$ASSAY" data make waveform --rows 300 --seed 3 -o wave.csv 2>/dev/null
"$ASSAY" data make twonorm --rows 300 --seed 3 -o two.csv 2>/dev/null
"$ASSAY" data add wave.csv >/dev/null
printf 'name: taken\ndataset: wave.csv\ntarget: class\nbudget: {trials: 2}\n' >taken.yaml
"$ASSAY" submit taken.yaml >/dev/null || exit 1

refused() { # name spec: by submit and by preview, in the same words
    local name=$1 with="" without="" submitted=""
    printf "$2\n" >s.yaml
    submitted=$("$ASSAY" submit s.yaml 2>&1 >/dev/null) && submitted="submit took it"
    with=$("$ASSAY" preview s.yaml 2>&1 >/dev/null) && with="preview took it"
    without=$(ASSAY_URL=unix:$WORK/nobody "$ASSAY" preview s.yaml 2>&1 >/dev/null) && without="preview took it without a controller"
    ok "$name: with a controller" test "$with" = "$submitted"
    [ "${3:-}" = needs ] || ok "$name: without one" test "$without" = "$submitted"
}
wave='dataset: wave.csv\ntarget: class\nbudget: {trials: 5}'
refused "a missing file" 'dataset: nofile.csv\ntarget: class'
refused "a missing test file" "$wave\ntest: {dataset: nofile.csv}"
refused "a misspelt target" 'dataset: wave.csv\ntarget: clas'
refused "a misspelt monotone column" 'dataset: two.csv\ntarget: class\nmonotone: {x99: increasing}'
refused "a metric of the wrong task" "$wave\nmetric: rmse"
refused "a family that is not there" "$wave\nspace: [{family: bost}]"
refused "a family that does not do the task" "$wave\nenqueue: [{family: nothing}]"
refused "a sampler that is not there" "$wave\nsampler: tpa"
refused "a positive class that is not there" 'dataset: two.csv\ntarget: class\npositive: maybe'
refused "a column that is not there" "$wave\ncolumns: {zip: ignore}"
refused "a table that is no table" 'dataset: s.yaml\ntarget: class'
refused "an earlier study that is not there" "$wave\nwarm_start: nobody" needs
refused "a name that is taken" "name: taken\n$wave" needs
refused "a registered table that is not there" 'dataset: elsewhere\ntarget: class' needs

says() { # text spec: preview's answer, with and without a controller
    printf "$2\n" >s.yaml
    "$ASSAY" preview s.yaml >shown && grep -F "$1" shown &&
        ASSAY_URL=unix:$WORK/nobody "$ASSAY" preview s.yaml >shown && grep -F "$1" shown
}
there() { printf "$2\n" >s.yaml && "$ASSAY" preview s.yaml >shown && grep -F "$1" shown; }
ok "a limit in time is said" says 'at first; as many as fit into 20s' 'dataset: wave.csv\ntarget: class\nbudget: {time: 20s}'
ok "a limit in seconds too" says 'as many as fit into 1.5s' 'dataset: wave.csv\ntarget: class\nbudget: {time: 1.5}'
ok "no limit is the usual one" says 'as many as fit into 10m' 'dataset: wave.csv\ntarget: class'
ok "both limits are said" says '30, or what fits into 1m' 'dataset: wave.csv\ntarget: class\nbudget: {time: 1m, trials: 30}'
ok "a registered table is asked for where it is" there 'as many as fit into 20s' 'dataset: wave\ntarget: class\nbudget: {time: 20s}'
ok "a file's cost is known without a controller" grep -q 's of one device' shown
ok "searchers needs no controller" env ASSAY_URL="unix:$WORK/nobody" "$ASSAY" searchers
same_searchers() { [ "$("$ASSAY" searchers --json | jq -S .)" = "$("$ASSAY" searchers --server "$ASSAY_URL" --json | jq -S .)" ]; }
ok "and lists what a controller lists" same_searchers
ok "nothing was stored" test "$("$ASSAY" ls --json | jq '.studies | length')" = 1
nothing_left() { [ -z "$(ls -A "$TMPDIR")" ]; }
ok "no service was left" within 20 nothing_left
finish
