#!/bin/bash
# Rough edges of the command line that strangers met: a runner that asked for ever with a token nobody knows, trials that
# had two numbers, a model saved under another name than the help said, removals that nobody was asked about.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export XDG_CONFIG_HOME=$WORK/config
"$ASSAY" serve --data-dir data --listen 127.0.0.1:0 >serve.log 2>&1 &
PIDS=$!
export ASSAY_URL=unix:$WORK/data/sock
until "$ASSAY" ls >/dev/null 2>&1; do kill -0 $PIDS || exit 1; sleep 0.05; done
TCP=$(sed -n 's/.*\(http:\/\/127.0.0.1:[0-9]*\).*/\1/p' serve.log | head -1)
"$ASSAY" data make twonorm --rows 300 --seed 3 -o t.csv 2>/dev/null
printf 'name: one\ndataset: t.csv\ntarget: class\nbudget: {trials: 3}\nspace: [{family: linear}]\n' >one.yaml
sed 's/one/two/' one.yaml >two.yaml
printf 'dataset: t.csv\ntarget: class\nbudget: {trials: 2}\nspace: [{family: linear}]\n' >bare.yaml

says() { # status text command...
    local status=$1 text=$2 got=0
    shift 2
    timeout 60 "$@" >said 2>&1 || got=$?
    [ $got -eq "$status" ] && grep -qF -- "$text" said || { echo "status $got:"; cat said; return 1; }
}
RUNNER=("$ASSAY" agent --cache-dir cache2 --devices cpu:1 --server "$TCP")
registered() { # settings of the environment and options...: a runner gets in, and leaves when it is told to
    local pid tries=0
    rm -f in.log
    env "$@" >in.log 2>&1 &
    pid=$!
    until grep -qs runner.registered in.log; do
        kill -0 $pid && [ $((tries += 1)) -lt 300 ] || { kill $pid; return 1; }
        sleep 0.1
    done
    kill $pid
    wait $pid
}
AGENT=("$ASSAY" agent --cache-dir cache3 --devices cpu:1)

ok "a runner without a token ends and says what to do" says 1 'needs a token: set ASSAY_TOKEN, or use --token-file' env -u ASSAY_TOKEN "${RUNNER[@]}"
ok "one with a wrong token too" says 1 'does not know this token' env ASSAY_TOKEN=nonsense "${RUNNER[@]}"
VIEWER=$("$ASSAY" token add eyes viewer)
ok "one with a viewer's token too" says 1 "'assay token add NAME runner'" env ASSAY_TOKEN="$VIEWER" "${RUNNER[@]}"
TOKEN=$("$ASSAY" token add hands runner)
echo "$TOKEN" >token
ok "ASSAY_TOKEN lets it in, with --controller" registered ASSAY_TOKEN="$TOKEN" "${AGENT[@]}" --controller "$TCP"
ok "and with --server" registered ASSAY_TOKEN="$TOKEN" "${AGENT[@]}" --server "$TCP"
ok "and ASSAY_URL" registered ASSAY_TOKEN="$TOKEN" ASSAY_URL="$TCP" "${AGENT[@]}"
ok "--token-file lets it in" registered -u ASSAY_URL "${AGENT[@]}" --server "$TCP" --token-file token
ok "the advice to the command line is one sentence" says 1 "assay: $TCP needs a token: set ASSAY_TOKEN, or use --token-file" env ASSAY_URL="$TCP" "$ASSAY" ls
ok "a wrong token is another matter" says 1 'does not know this token' env ASSAY_URL="$TCP" ASSAY_TOKEN=x "$ASSAY" ls
echo "  $VIEWER " >viewer
ok "--token-file works for commands" says 0 id "$ASSAY" ls --server "$TCP" --token-file viewer

"$ASSAY" agent --devices cpu:1 --cache-dir cache >agent.log 2>&1 &
PIDS="$PIDS $!"
"$ASSAY" submit one.yaml --follow >/dev/null 2>&1
"$ASSAY" submit two.yaml --follow >/dev/null 2>&1

sed 's/^name:.*/name: many/; s/trials: 3/trials: 30/' two.yaml >many.yaml
timeout 120 "$ASSAY" submit many.yaml --follow >/dev/null 2>&1
small_are_counted() {
    local n
    n=$("$ASSAY" importance many --json | jq '[.parameters[] | select(.importance < 0.0005)] | length')
    "$ASSAY" importance many >said
    [ "$n" -gt 0 ] && grep -q "^… and $n more with 0.0 %$" said && ! grep -q '  0\.0 %' said
}
ok "importances of 0.0 % are counted and not listed" small_are_counted
"$ASSAY" rm many --yes >/dev/null 2>&1

ID=$("$ASSAY" leaderboard two --json | jq '.rows[] | select(.number == 2).trial')
trial_is() { [ "$("$ASSAY" trial "$@" --json | jq .id)" = "$ID" ]; }
ok "the second study's numbers are no ids" test "$ID" != 2
ok "STUDY/NUMBER is a trial" trial_is two/2
ok "with a verb too" trial_is show two/2
ok "its id still is" trial_is "$ID"
ok "logs takes STUDY/NUMBER" says 0 trial.create "$ASSAY" logs two/2
ok "export takes STUDY/NUMBER" says 0 'saved two-2.assay' "$ASSAY" export two/2
ok "export --trial is the number of the leaderboard" cmp two-2.assay <("$ASSAY" export two --trial 2 -o -)
ok "a number that is not there is not found" says 3 'study two has no trial 99' "$ASSAY" trial two/99
ok "what is no trial is told how one is written" says 2 'write STUDY/NUMBER' "$ASSAY" trial nonsense

ok "run saves NAME.assay" says 0 'saved one.assay' "$ASSAY" run one.yaml --dir own
ok "of the table, where the spec has no name" says 0 'saved t.assay' "$ASSAY" run bare.yaml --dir own
ok "of the study, where that name was taken" says 0 'saved t-2.assay' "$ASSAY" run bare.yaml --dir own
ok "show says the budget" says 0 '3 trials (3 ended)' "$ASSAY" show two
ok "dates say their zone" grep -Eq 'created +2[0-9-]+ [0-9:]+ UTC' said
brackets_once() { [ "$("$ASSAY" show two --json | jq '[.. | objects | select(has("brackets"))] | length')" = 1 ]; }
ok "show --json holds the brackets once" brackets_once
mkdir -p empty
nothing_set() { (cd empty && says 4 'unix:assay-data/sock' env ASSAY_URL= ASSAY_TOKEN= "$ASSAY" ls); }
ok "an empty ASSAY_URL counts as not set" nothing_set
ok "a short option that is not there is said so" says 2 'unknown option -q' "$ASSAY" ls -q

ok "a runner is named by its name" says 0 ': drain' "$ASSAY" runner drain "$("$ASSAY" runner ls --json | jq -r '.runners[-1].name')"
ok "a state that is not there lists those that are" says 1 'there are queued, running, paused' "$ASSAY" trials two --state zebra
ok "a list without studies says that archived ones are not in it" says 0 '(--all lists archived ones, too)' "$ASSAY" ls --state failed
ok "with --all there is nothing to say of them" says 0 "no studies here; 'assay submit" "$ASSAY" ls --state failed --all
ok "a method too" says 1 'is not one of ped_anova, fanova' "$ASSAY" importance two --method zebra

if command -v python3 >/dev/null; then
    refused() { ! on_terminal 80 asked 'n\n' "$ASSAY" "$@" && grep -q 'y/N' asked && grep -q 'nothing was changed' asked; }
    ok "rm asks on a terminal, and no is no" refused rm one
    ok "the study is still there" says 0 one "$ASSAY" show one
    ok "kill asks" refused kill one
    ok "data rm asks" refused data rm t
    ok "token rm asks" refused token rm hands
    ok "trial kill asks" refused trial kill two/2
    ok "--yes answers" on_terminal 80 asked '' "$ASSAY" rm one --yes
    ok "and it is gone" says 3 'no study' "$ASSAY" show one
    ok "yes is yes" on_terminal 80 asked 'y\n' "$ASSAY" rm two
else
    skip "questions on a terminal" "python3 is not installed"
fi
ok "without a terminal nobody is asked" says 3 'no study' "$ASSAY" rm one
finish
