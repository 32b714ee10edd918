#!/bin/bash
# Found by hand: with assay.db or its log missing or emptied, a controller started silently with nothing, or with an older
# state. The start says so in one warning, and an empty start is refused unless --new is given.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

"$ASSAY" data make twonorm --rows 200 --seed 3 -o train.csv 2>/dev/null
printf 'name: one\ndataset: train.csv\ntarget: class\nbudget: {trials: 1}\nspace: [{family: linear}]\n' >one.yaml
sed 's/one/two/' one.yaml >two.yaml
timeout 60 "$ASSAY" run one.yaml --dir clean -o one.assay >/dev/null 2>said || cat said

# The server is no child of this shell: bash now and then loses the record of a child that was killed, and a later command
# of the shell then fails with "No record of process".
started() { # folder options...
    local dir=$1
    shift
    ("$ASSAY" serve --data-dir "$dir" --listen '' "$@" >"$dir.log" 2>&1 & echo $! >server.pid)
    SERVER=$(cat server.pid)
    PIDS=$SERVER
    for _ in $(seq 1500); do
        grep -q 'assayd.started' "$dir.log" && return 0
        runs "$SERVER" || return 1
        sleep 0.02
    done
    return 1
}

# A process that has ended, but that nobody has waited for yet, does not run.
runs() { # process
    [ -r "/proc/$1/status" ] && ! grep -q '^State:.*Z' "/proc/$1/status" 2>/dev/null
}

ended() { # signal
    kill -"$1" "$SERVER"
    for _ in $(seq 1500); do
        runs "$SERVER" || break
        sleep 0.02
    done
    PIDS=
}

refused() { # how the database was lost
    rm -rf lost && cp -a clean lost && rm -f lost/assay.db-* || return 1
    eval "$1"
    ! started lost && grep -F 'start assayd once with --new' lost.log
}

empty_with_new() {
    started lost --new && ended TERM && [ "$(grep -c 'store.odd' lost.log)" = 1 ] || return 1
    started lost && ended TERM && ! grep -q 'store.odd' lost.log
}

killed() { # a folder whose last writes are in the log only
    rm -rf kill9 && cp -a clean kill9 && started kill9 || return 1
    ASSAY_URL=unix:$PWD/kill9/sock timeout 10 "$ASSAY" submit two.yaml >/dev/null || return 1
    ended KILL
    [ -s kill9/assay.db-wal ] && rm -f kill9/sock
}

checked() {
    killed && started kill9 || return 1
    for _ in $(seq 1000); do
        grep -q 'store.checked' kill9.log && break
        sleep 0.02
    done
    ended TERM
    grep -q 'store.checked' kill9.log && ! grep -q 'store.odd' kill9.log
}

warned_once() { # how the log was lost
    killed || return 1
    eval "$1"
    started kill9 && ended TERM || return 1
    [ "$(grep -c 'the database is older than when it was last used' kill9.log)" = 1 ] || return 1
    started kill9 && ended TERM && ! grep -q 'store.odd' kill9.log
}

ok "a missing database beside blobs is refused" refused 'rm lost/assay.db'
ok "an emptied database is refused" refused ': >lost/assay.db'
ok "with --new it begins empty and says so once" empty_with_new
ok "after a kill the database is checked in the background, and nothing else is said" checked
ok "a missing log is told once" warned_once 'rm kill9/assay.db-wal'
ok "an emptied log is told once" warned_once ': >kill9/assay.db-wal'
finish
