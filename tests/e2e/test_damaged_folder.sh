#!/bin/bash
# test_damaged_folder.sh - every file of a data folder in turn missing, emptied, cut and flipped. The oracle: the right answer
# or a clear refusal, never a wrong answer. A small study is made once, its controller killed (so that the log is there too)
# and the folder kept; each case works on a copy of it: the old study's board and model are asked for, and where a table or
# the database was hit, a second study is run that must give the same model as on the whole folder.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"
PIDS=

serve() { # folder: 0 = it answers, 1 = it refused to start
    "$ASSAY" serve --data-dir "$1" --listen '' >"$1.log" 2>&1 &
    SERVER=$!
    PIDS=$SERVER
    for _ in $(seq 3000); do
        [ -S "$1/sock" ] && ASSAY_URL=unix:$1/sock timeout 60 "$ASSAY" ls >/dev/null 2>&1 && return 0
        kill -0 $SERVER 2>/dev/null || return 1
        sleep 0.02
    done
    return 1
}

ended() { # signal: the server ends, and not by a crash
    local rc=0
    kill -"$1" $SERVER 2>/dev/null
    wait $SERVER || rc=$?
    PIDS=
    [ $rc -lt 128 ] || [ "$1" = KILL ]
}

board() { timeout 60 "$ASSAY" leaderboard one 2>"$1.err"; }

prepare() {
    "$ASSAY" data make twonorm --rows 300 --seed 3 -o train.csv 2>/dev/null
    printf 'name: one\ndataset: train.csv\ntarget: class\nseed: 1\nbudget: {trials: 3}\nspace: [{family: linear}, {family: boost}]\n' >one.yaml
    sed 's/one/two/' one.yaml >two.yaml
    timeout 200 "$ASSAY" run one.yaml --dir whole -o one.assay >/dev/null 2>said || { cat said; return 1; }
    cp -a whole second && timeout 200 "$ASSAY" run two.yaml --dir second -o two.assay >/dev/null 2>said || return 1
    serve "$PWD/whole" || return 1
    export ASSAY_URL=unix:$PWD/whole/sock
    timeout 60 "$ASSAY" archive one >/dev/null 2>said || return 1 # a write that is in the log only
    board right >right.txt || return 1
    ended KILL
    rm -f whole/sock
    [ -s whole/assay.db ] && [ -s whole/assay.db-wal ] && [ -s right.txt ] && [ -s one.assay ] && [ -s two.assay ]
}

damage() { # file how
    local size
    size=$(stat -c %s "$1")
    case $2 in
    missing) rm "$1" ;;
    emptied) : >"$1" ;;
    cut) truncate -s $((size / 2)) "$1" ;;
    flipped) # one bit in the middle of each third
        for at in $((size / 6)) $((size / 2)) $((size * 5 / 6)); do
            byte=$(od -An -tu1 -j $at -N 1 "$1")
            # shellcheck disable=SC2059 # the format is the byte
            printf "\\x$(printf %02x $((byte ^ 16)))" | dd of="$1" bs=1 seek=$at conv=notrunc status=none
        done
        ;;
    esac
}

told() { # file: a refusal is a sentence, and no crash
    [ -s "$1" ] && ! grep -qiE 'segmentation|signal 11|assertion|CHECK' "$1"
}

# What the old study says: 0 = right or refused.
old_answers() { # folder
    local rc=0
    if ! serve "$1"; then
        told "$1.log" || { echo "it ended without a word"; return 1; }
        wait $SERVER 2>/dev/null
        PIDS=
        return 0
    fi
    export ASSAY_URL=unix:$1/sock
    if board now >now.txt; then
        cmp -s now.txt right.txt || { grep -q "store.odd" "$1.log" || { echo "another board"; rc=1; }; }
    else
        told now.err || rc=1
    fi
    rm -f now.assay
    if timeout 60 "$ASSAY" export one -o now.assay >/dev/null 2>now.err; then
        cmp -s now.assay one.assay || { echo "another model, saved with exit code 0"; rc=1; }
    else
        told now.err && [ ! -e now.assay ] || { echo "a refusal that left a file or said nothing"; rc=1; }
    fi
    ended TERM || { echo "the controller crashed"; rc=1; }
    return $rc
}

# A second study on the folder: 0 = the right model, or none.
new_answers() { # folder
    local rc
    # A study whose table is lost waits for ever. One that was only slow has part of its trials when it is interrupted, and
    # then it is tried again with more time.
    for limit in 4 100; do
        rm -rf new.assay tried
        cp -a --reflink=auto "$1" tried
        timeout -k 60 -s INT $limit "$ASSAY" run two.yaml --dir tried -o new.assay >/dev/null 2>new.err
        rc=$?
        [ $rc = 124 ] && [ -e new.assay ] || break
    done
    [ ! -e new.assay ] || cmp -s new.assay two.assay || { echo "another model"; return 1; }
    [ -e new.assay ] || told new.err || { echo "no model and no word"; return 1; }
}

case_of() { # file how
    rm -rf case case.log
    cp -a --reflink=auto whole case && damage "case/$1" "$2" || return 1
    case $1 in
    blobs/*) if head -c 8 "whole/$1" | grep -q ASSAYMDL; then :; else cp -a --reflink=auto case again; fi ;;
    assay.db*) cp -a --reflink=auto case again ;;
    esac
    old_answers "$PWD/case" || return 1
    [ ! -d again ] && return 0
    new_answers again
    local rc=$?
    rm -rf again
    return $rc
}

ok "a folder is prepared" prepare
for file in $(cd whole && find . -type f -printf '%P\n' | sort); do
    [ -s "whole/$file" ] || continue
    for how in missing emptied cut flipped; do
        ok "$how: ${file:0:24}" case_of "$file" $how
    done
done
finish
