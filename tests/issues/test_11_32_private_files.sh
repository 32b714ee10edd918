#!/bin/bash
# Found from outside: an existing data folder of mode 0755 left assay.db readable for everyone, one of mode 0777 let others
# move it away; `-o FILE` wrote through a link that somebody had planted as FILE.part-PID.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

started() { # folder: a controller on it, for as long as the case runs
    "$ASSAY" serve --data-dir "$1" --listen '' >"$1.log" 2>&1 &
    PID=$!
    for _ in $(seq 1200); do
        [ -S "$1/sock" ] && return 0
        kill -0 $PID 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}

private_in_open_folder() {
    mkdir open && chmod 755 open && started open || return 1
    others=$(find open -mindepth 1 -perm /077 | tr '\n' ' ')
    kill $PID && wait $PID
    [ -z "$others" ] || { echo "others may read: $others"; return 1; }
}

closed_again() { # one that an earlier version left open
    chmod 644 open/assay.db && started open || return 1
    mode=$(stat -c %a open/assay.db)
    kill $PID && wait $PID
    [ "$mode" = 600 ]
}

refused() { # folder text
    if started "$1"; then
        kill $PID
        return 1
    fi
    grep -F "$2" "$1.log"
}

planted() { # command that writes out.csv: its part's name was to be guessed from its process id
    echo precious >victim
    (umask 022 && sh -c 'ln -s victim "out.csv.part-$$"; ln -s victim "out.csv.tmp-$$"; exec "$@"' sh "$@") || return 1
    [ "$(cat victim)" = precious ] && [ -s out.csv ] && [ ! -L out.csv ]
}

ok "the files in a folder that others may read are private" private_in_open_folder
ok "a database that others may read is closed to them at the next start" closed_again
mkdir shared && chmod 777 shared
ok "a folder that others may write into is refused with its mode" refused shared "other users may write into this folder (mode 0777)"
if [ "$(id -u)" = 0 ]; then
    mkdir foreign && chown 12345 foreign && chmod 700 foreign
    ok "a folder of another user is refused with the owner" refused foreign "belongs to user 12345"
else
    skip "a folder of another user" "needs root"
fi
ok "a file is written aside under a name that nobody can plant" planted \
    "$ASSAY" data make twonorm --rows 200 --seed 1 -o out.csv
cp out.csv train.csv
"$ASSAY" fit train.csv --target class --trials 1 --families linear -o m.assay >/dev/null 2>&1
rm -f out.csv*
ok "predictions too" planted "$ASSAY" predict m.assay train.csv -o out.csv
finish
