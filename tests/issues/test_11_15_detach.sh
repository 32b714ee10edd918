#!/bin/bash
# Ctrl-C in `submit --follow` stopped a study on somebody's server. It leaves the study now and says how to come back.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
start_service || exit 1
"$ASSAY" data make twonorm --rows 300 --seed 3 -o t.csv 2>/dev/null
spec() { printf 'name: %s\ndataset: t.csv\ntarget: class\nbudget: {trials: %d}\nspace: [{family: linear}, {family: boost}]\n' "$1" "$2"; }
spec long 100000 >long.yaml
spec held 100000 >held.yaml
spec short 6 >short.yaml

state() { "$ASSAY" show "$1" --json | sed -n 's/^  "state": "\(.*\)",/\1/p'; }

until_line() { # file pattern pid
    local tries=0
    until grep -q "$2" "$1"; do
        kill -0 "$3" 2>/dev/null && [ $((tries += 1)) -lt 600 ] || return 1
        sleep 0.1
    done
}

interrupt_of() { # file expected-status arguments...
    local file=$1 status=$2 got=0
    shift 2
    "$ASSAY" "$@" >"$file" 2>&1 &
    local pid=$!
    until_line "$file" '[1-9][0-9]* done, ' $pid || return 1
    kill -INT $pid
    wait $pid || got=$?
    [ $got -eq "$status" ]
}

detached() { interrupt_of detached 130 submit long.yaml --follow && grep -q 'goes on' detached; }
attached_again() { interrupt_of attached 130 attach long && grep -q 'goes on' attached; }
stopped() { interrupt_of stopped 0 submit held.yaml --follow --stop-on-interrupt -o held.assay && [ -s held.assay ]; }
names_server() { interrupt_of server 130 attach long --server "$ASSAY_URL" && grep -qF "assay attach long --server $ASSAY_URL" server; }
attach_to_the_end() {
    "$ASSAY" submit short.yaml && "$ASSAY" attach short -o short.assay >board && grep -q '^   1 ' board && [ -s short.assay ]
}
ended_shows_its_board() { "$ASSAY" attach short >again && grep -q '^   1 ' again; }
no_such_study() { "$ASSAY" attach nobody 2>said; [ $? -eq 3 ] && grep -q 'no study' said; }

ok "Ctrl-C leaves the study" detached
ok "the study goes on" test "$(state long)" = running
ok "it says how to come back" grep -q 'assay attach long ' detached
ok "and how to end it" grep -q 'assay stop long ' detached
ok "attach follows it again, and Ctrl-C leaves it again" attached_again
ok "the way back names the server that was given" names_server
ok "it still goes on" test "$(state long)" = running
"$ASSAY" stop long >/dev/null
ok "--stop-on-interrupt ends the study with its model" stopped
ok "that study has ended" test "$(state held)" = stopped
ok "attach stays to the end and saves the model" attach_to_the_end
ok "attach to an ended study shows its leaderboard" ended_shows_its_board
ok "attach to no study is exit code 3" no_such_study
finish
