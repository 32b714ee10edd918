#!/bin/bash
# docs/API.md is kept true: its shell blocks run one after another in one shell, its Python blocks as one program, against
# a real controller and a runner. Any command that fails ends the script it stands in, with the line of the document.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR" bin
ln -s "$ASSAY" bin/assay
# A service on a busy machine answers 503; the document says to send the request again then.
cat >bin/curl <<'END'
#!/bin/bash
for _ in 1 2 3 4 5 6; do
    "$REAL_CURL" "$@" >"$TMPDIR/answer.$$"
    rc=$?
    [ $rc -eq 22 ] && grep -q '"status":503' "$TMPDIR/answer.$$" || break
    sleep 1
done
cat "$TMPDIR/answer.$$"
rm "$TMPDIR/answer.$$"
exit $rc
END
chmod +x bin/curl
REAL_CURL=$(command -v curl)
export REAL_CURL
export PATH=$WORK/bin:$PATH
doc=$ROOT/docs/API.md
known=http://127.0.0.1:7878 # as the document writes it; here a free port takes its place

"$ASSAY" serve --data-dir data --listen 127.0.0.1:0 >serve.out 2>serve.log &
PIDS="${PIDS:-} $!"
until grep -q '^assayd: ' serve.out; do
    kill -0 $! 2>/dev/null || break
    sleep 0.05
done
url=$(sed -n 's/^assayd: \([^ ]*\) .*/\1/p' serve.out)
"$ASSAY" agent --server "$url" --token-file data/admin-token --devices cpu:1 --cache-dir cache >agent.log 2>&1 &
PIDS="$PIDS $!"

blocks() { # language: its blocks, at the lines where they stand in the document
    awk -v fence="\`\`\`$1" '/^```/ { inside = $0 == fence; print ""; next } { print inside ? $0 : "" }' "$doc" |
        sed "s#$known#$url#g"
}
{ echo 'set -euo pipefail; trap '\''echo "docs/API.md:$LINENO: $BASH_COMMAND" >&2'\'' ERR'; blocks sh | tail -n +2; } >doc.sh
blocks python >doc.py
urls() { [ "$(grep -c "$url" doc.sh)" -ge 1 ] && [ "$(grep -c "$url" doc.py)" -ge 1 ]; }
# shellcheck disable=SC2016 # backticks are what is looked for
pieces() { [ "$(grep -cE '^```(sh|python)$' "$doc")" -ge 15 ]; }

ok "the service started" test -n "$url"
ok "API.md has blocks of both languages" urls
ok "and not only a few" pieces
ok "its shell blocks run" timeout 400 bash doc.sh
cp out shell.out
ok "a replayed request made no second study" test "$("$ASSAY" ls --server "$url" --token-file data/admin-token --json | jq '[.studies[] | select(.name == "first")] | length')" = 1
ok "the model predicts" test "$(wc -l <predictions.csv)" = 401
ok "events were streamed" test "$(grep -c '^event: trial.create' events.txt)" -ge 6
ok "its Python blocks run" timeout 400 python3 doc.py
ok "the model that Python saved is a model" "$ASSAY" predict python.assay table.csv -o p.csv
finish
