#!/bin/bash
# A backup of a controller at work: it answers meanwhile, the backup opens in a new folder with the same leaderboard and the
# same model file, a study that ran then goes on there; a damaged, cut or missing file, and a folder in use, are refused.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null || { echo "0 passed, 0 failed, 1 skipped"; exit 0; }

"$ASSAY" data make twonorm --rows 300 -o table.csv >/dev/null
spec() { # name trials
    echo "{name: $1, dataset: table.csv, target: class, budget: {trials: $2}, seed: 5, space: [{family: linear}, {family: boost}]}" >"$1.yaml"
}
start_service
spec whole 6 && "$ASSAY" submit whole.yaml --follow -o whole.assay >/dev/null 2>&1
spec long 60 && "$ASSAY" submit long.yaml >/dev/null 2>&1
until [ "$("$ASSAY" show long --json | jq .ended_trials)" -ge 5 ]; do sleep 0.1; done
"$ASSAY" token add reader viewer >token
board() { "$ASSAY" leaderboard "$1" --json | jq -c '[.rows[] | [.number, .score, .config]]'; }
board whole >whole.board

ok "a backup is made while a study runs" "$ASSAY" backup one
ok "the study went on" test "$("$ASSAY" show long --json | jq -r .state)" = running
ok "a name is taken once" sh -c "'$ASSAY' backup one 2>&1 | grep -q exists"
ok "a backup without a name" sh -c "test -f \"\$('$ASSAY' backup)/assay.db\""
ok "its files are links, which take no room" test "$(find data/backups/one/blobs -type f -links +1 | wc -l)" -gt 3
"$ASSAY" rm whole --yes >/dev/null 2>&1 # what is deleted later stays in the backup
for p in $PIDS; do kill "$p"; done
# shellcheck disable=SC2086
wait $PIDS 2>/dev/null
PIDS=
"$ASSAY" debug >/dev/null 2>&1

ok "a folder in use is refused" sh -c "! '$ASSAY' restore data/backups/one data 2>err.1 && grep -q 'not empty' err.1"
ok "a folder that is no backup is refused" sh -c "'$ASSAY' restore . new; test \$? = 3"
ok "one that is not there, too" bash -c "'$ASSAY' restore gone new 2>&1 | grep -q 'gone: no such folder'"
cp -r data/backups/one broken
big=$(find broken/blobs -type f -size +1k | head -1)
printf x | dd of="$big" bs=1 seek=100 conv=notrunc 2>/dev/null
ok "a damaged file is named" sh -c "! '$ASSAY' restore broken r1 2>err.2 && grep -q '$(basename "$big") is damaged' err.2"
ok "and nothing starts in what was begun" sh -c "! timeout 20 '$ASSAY' serve --data-dir r1 --no-tcp 2>&1 | grep -q 'assayd.started'"
rm "$big"
ok "a missing file is named" sh -c "! '$ASSAY' restore broken r2 2>err.3 && grep -q '$(basename "$big")' err.3"
cp -r data/backups/one cut
truncate -s 20000 cut/assay.db
ok "a cut database is refused" sh -c "! '$ASSAY' restore cut r3 2>err.4 && test -s err.4"

ok "a backup is restored" "$ASSAY" restore data/backups/one restored
mv data lost
export ASSAY_URL=unix:$WORK/restored/sock
"$ASSAY" serve --data-dir restored --no-tcp >serve2.log 2>&1 &
PIDS=$!
within 60 "$ASSAY" ls >/dev/null 2>&1
ok "with the same leaderboard" sh -c "'$ASSAY' leaderboard whole --json | jq -c '[.rows[] | [.number, .score, .config]]' | cmp - whole.board"
ok "and the same model, although it was deleted since" sh -c "'$ASSAY' export whole -o again.assay >/dev/null && cmp again.assay whole.assay"
ok "and the tokens" sh -c "'$ASSAY' token ls | grep -q reader"
"$ASSAY" agent --controller "$ASSAY_URL" --devices cpu:1 --cache-dir cache2 >agent2.log 2>&1 &
PIDS="$PIDS $!"
"$ASSAY" stop long >/dev/null 2>&1
is_stopped() { [ "$("$ASSAY" show long --json | jq -r .state)" = stopped ]; }
within 120 is_stopped
ok "and the study that ran goes on there, to its end" test "$("$ASSAY" show long --json | jq -r '.state + " " + (.best != null | tostring)')" = "stopped true"
finish
