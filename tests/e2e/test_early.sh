#!/bin/bash
# The ensemble that a search makes on its way, after a minute of ten: it is shown and can be downloaded while the search runs on, a
# controller that is killed and started again still has it, and a search that is stopped by a user ships one.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# A plane of six columns and steps of two of them: linear models miss the steps, trees of few rows the plane, so that both
# together are a tenth better than either, whatever the seed and the speed of the machine. (A network would learn both.)
awk 'BEGIN { srand(4); print "a,b,c,d,e,f,y"; for (i = 0; i < 600; i++) { sum = 0; row = ""
    for (k = 0; k < 6; k++) { v[k] = rand(); sum += v[k]; row = row v[k] "," }
    print row 2 * sum + ((v[0] > .5) != (v[1] > .5)) + rand() / 2 } }' >train.csv

shown() { "$ASSAY" show early --json | jq -r "$1"; }
has_one() { for _ in $(seq 1500); do [ "$(shown '.ensemble.ships // false')" = true ] && return; sleep .1; done; return 1; }

start_service
ok "a table is there" "$ASSAY" data add train.csv --name train
printf 'name: early\ndataset: train\ntarget: y\nbudget: {time: 10m}\nspace: [{family: linear}, {family: extra_trees}]\nstop: {no_gain_trials: 0}\n' >early.yaml
ok "a search of ten minutes begins" "$ASSAY" submit early.yaml
ok "it has an ensemble on its way" has_one
ok "while it runs" test "$(shown .state)" = running
ok "not before a minute" test "$(shown '.used_ms >= 59000')" = true
ok "the command shows it" "$ASSAY" show early
cp out said
ok "as the best so far" grep -q "^ensemble .* members, .*), the best so far" said
ok "the leaderboard, too" "$ASSAY" leaderboard early
cp out said
ok "with its members" grep -q "^ensemble: rmse" said
ok "it can be saved" "$ASSAY" export early -o e.assay
ok "and is one" test "$("$ASSAY" predict e.assay --json | jq '.members | length >= 2')" = true
ok "which predicts" "$ASSAY" predict e.assay train.csv -o p.csv
read -r SERVE _ <<<"$PIDS"
{ kill -9 "$SERVE" && wait "$SERVE"; } 2>/dev/null
"$ASSAY" serve --data-dir data --no-tcp >again.log 2>&1 &
PIDS="$PIDS $!"
for _ in $(seq 200); do "$ASSAY" ls >/dev/null 2>&1 && break; sleep .05; done
ok "after a crash of the controller it is still there" test "$(shown '.ensemble.ships')" = true
ok "with the same file" "$ASSAY" export early -o again.assay
ok "to the bit" cmp e.assay again.assay
ok "the search is stopped" "$ASSAY" stop early
for _ in $(seq 200); do [ "$(shown '.result != null')" = true ] && break; sleep .1; done
ok "and ships an ensemble" test "$(shown '.result.ensemble.ships')" = true
finish
