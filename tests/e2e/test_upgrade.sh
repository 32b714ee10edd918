#!/bin/bash
# A database of every earlier schema opens in this program: the ended study shows the same leaderboard, the journal
# replays to the same state, and the study that ran goes on to its end. Each old database is made from the schema steps up
# to its version, which are never edited once released, and the rows of tests/data/upgrade.json: two studies with a space
# of their own, one completed and one in the middle of 9 trials, written by a program of schema 9. Columns that a version
# did not have are left out.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v jq >/dev/null && python3 -c 'import sqlite3; assert sqlite3.sqlite_version_info >= (3, 37)' 2>/dev/null ||
    { echo "no jq, or python3 without SQLite 3.37"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }

cat >old.py <<'END'
import glob, json, os, sqlite3, sys
root, version, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
os.makedirs(folder, mode=0o700)
db = sqlite3.connect(os.path.join(folder, "assay.db"))
for step in sorted(glob.glob(root + "/store/migrations/*.sql"))[:version]:
    db.executescript(open(step).read())
db.execute("PRAGMA foreign_keys = OFF")
for table, content in json.load(open(root + "/tests/data/upgrade.json")).items():
    has = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
    at = [i for i, name in enumerate(content["columns"]) if name in has]
    if not has or (table == "meta" and version < 1):
        continue
    names = ", ".join(content["columns"][i] for i in at)
    for row in content["rows"]:
        db.execute(f"INSERT OR REPLACE INTO {table} ({names}) VALUES ({', '.join('?' * len(at))})", [row[i] for i in at])
db.execute("PRAGMA application_id = 0x41737361")
db.execute(f"PRAGMA user_version = {version}")
db.commit()
assert not db.execute("PRAGMA foreign_key_check").fetchall()
END

newest=$(find "$ROOT/store/migrations" -name '*.sql' | wc -l)
api() { curl -sS --unix-socket "$folder/sock" "$@"; }
goes_on() { # the open study, to its end: client "c" held one of its trials
    for _ in $(seq 200); do
        api -d '{"client": "c"}' http://localhost/api/v1/studies/open/suggest >asked.json
        jq -e .done asked.json >/dev/null && break
        trial=$(jq '.trials[0].trial // empty' asked.json)
        [ -n "$trial" ] || { sleep 0.2; continue; }
        lease=$(jq '.trials[0].lease' asked.json) x=$(jq '.trials[0].params.x' asked.json) from=$(jq '.trials[0].level' asked.json)
        for level in 1 2 3; do
            [ "$level" -le "$from" ] && continue
            value=$(jq -n "($x - 0.4) * ($x - 0.4) + 1 / $level")
            told=$(api -d "{\"client\": \"c\", \"lease\": $lease, \"level\": $level, \"value\": $value}" \
                "http://localhost/api/v1/trials/$trial/reports" | jq -r .verdict)
            [ "$told" = continue ] || break
        done
    done
    api http://localhost/api/v1/studies/open | jq -e '.state == "completed" and .trials.total == 9 and .best != null'
}
for version in ${VERSIONS:-$(seq 1 "$newest")}; do
    folder=$WORK/data-$version
    python3 old.py "$ROOT" "$version" "$folder" || exit 1
    "$ASSAY" serve --data-dir "$folder" --no-tcp --dev --lease-ms 500 >"serve-$version.log" 2>&1 &
    PIDS=$!
    export ASSAY_URL=unix:$folder/sock
    until "$ASSAY" ls >/dev/null 2>&1; do
        kill -0 $! 2>/dev/null || break
        sleep 0.05
    done
    ok "schema $version: the ended study is as it was" sh -c "'$ASSAY' leaderboard done --json |
        jq -e '[.rows[] | [.number, (.score * 1e6 | round), .level]] == [[7, 333774, 3]]'"
    ok "schema $version: the journal replays" sh -c "'$ASSAY' debug replay --json | jq -e '.differences | length == 0'"
    ok "schema $version: the other goes on to its end" goes_on
    ok "schema $version: and the journal still replays" sh -c "'$ASSAY' debug replay --json | jq -e '.differences | length == 0'"
    kill "$PIDS"
    wait "$PIDS" 2>/dev/null
    ok "schema $version: it is of the newest schema now" test "$(python3 -c 'import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("PRAGMA user_version").fetchone()[0])' "$folder/assay.db")" = "$newest"
done
finish
