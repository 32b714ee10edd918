#!/bin/bash
# docs/DEBUG.md is kept true: every event word, metric, command, debug verb and file that it names is there.
# shellcheck disable=SC2016 # backticks are what is looked for
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
doc=$ROOT/docs/DEBUG.md
cd "$ROOT" || exit 1
table() { sed -n "/^| $1 |/,/^\$/p" "$doc"; } # the table whose first head is $1

words_exist() { # words of studies, trials and the controller's refusals are composed of two parts
    local bad=0 w
    for w in $(table word | grep -oE '`[a-z]+\.[a-z_]+`' | tr -d '`'); do
        grep -rqF "log_info(\"$w" --include=*.c controller store web trial-runner && continue
        grep -rqE "\"${w}[ \"]" --include=*.c controller store web trial-runner && continue
        grep -qE "\] = \"${w#*.}\"" proto/trial.c && continue
        grep -qF "\"${w#*.}\"" trial-runner/agent/agent.c && continue
        echo "no log line begins with $w"
        bad=1
    done
    return $bad
}
ok "event words are those of the log" words_exist

metrics_exist() {
    local bad=0 m
    for m in $(grep -oE '`assay_[a-z_]+`' "$doc" | tr -d '`' | sort -u); do
        grep -rqF "\"${m#assay_}\"" controller web || { echo "no metric $m"; bad=1; }
    done
    return $bad
}
ok "metrics are those of /metrics" metrics_exist

commands_exist() { # the first word after "assay" where a command stands in backticks
    local bad=0 c
    "$ASSAY" --help >"$WORK/help"
    for c in $(grep -oE '`assay [a-z]+' "$doc" | awk '{ print $2 }' | sort -u); do
        grep -qE "^  $c " "$WORK/help" || { echo "no command $c"; bad=1; }
    done
    for c in $(grep -oE '`assay debug [a-z]+' "$doc" | awk '{ print $3 }' | sort -u); do
        grep -qF "{ \"$c\", debug_$c }" controller/api/debug.c || { echo "no debug verb $c"; bad=1; }
    done
    return $bad
}
ok "commands are those of the program" commands_exist

reasons_exist() {
    local bad=0 r
    for r in runner_lost worker_died crashed_alone; do
        grep -qF "\`$r\`" "$doc" && grep -qF "\"$r\"" proto/trial.c || { echo "no reason $r"; bad=1; }
    done
    return $bad
}
ok "reasons are those of trials" reasons_exist
finish
