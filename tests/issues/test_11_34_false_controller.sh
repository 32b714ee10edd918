#!/bin/bash
# What the command line makes of answers that no good controller gives: redirects (saved as models of 0 bytes), pages of
# proxies, damaged models, names with control characters; and lists that are longer than one answer may be.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
command -v node >/dev/null || { echo "node is not installed"; exit 77; }

cat >server.mjs <<'JS'
import http from 'node:http';
import { createHash } from 'node:crypto';
const model = Buffer.from('not really a model'), hash = createHash('sha256').update(model).digest('hex');
const json = (res, v, status = 200) => { res.writeHead(status, { 'Content-Type': 'application/json' }); res.end(JSON.stringify(v)); };
const bad = 'ev\u001b]0;own\u0007il\n\u009b31m';
const rows = (n, from, limit, make) => Array.from({ length: Math.max(0, Math.min(limit, n - from)) }, (_, i) => make(from + i + 1));
http.createServer((req, res) => {
  const url = new URL(req.url, 'http://x'), q = (k) => Number(url.searchParams.get(k) || 0), limit = q('limit');
  if (limit > 1000) return json(res, { detail: 'must be a whole number from 1 to 1000', where: 'limit' }, 400);
  if (req.url.includes('/studies/moved')) { res.writeHead(302, { Location: 'https://elsewhere.example/sign-in' }); return res.end(); }
  if (req.url.includes('/studies/page')) { res.writeHead(200, { 'Content-Type': 'text/html' }); return res.end('<html>sign in</html>'); }
  if (req.url.includes('/studies/good/best')) { res.writeHead(200, { 'X-Assay-SHA256': hash }); return res.end(model); }
  if (req.url.includes('/studies/damaged/best')) { res.writeHead(200, { 'X-Assay-SHA256': hash }); return res.end(Buffer.from('not really a mOdel')); }
  if (req.url.includes('/studies/evil')) return json(res, { detail: `no study ${bad}` }, 404);
  if (url.pathname.endsWith('/leaderboard'))
    return json(res, { total: 2500, rows: rows(2500, q('offset'), limit, (i) => ({ rank: i, number: i, trial: i, family: bad, state: 'completed' })) });
  if (url.pathname.endsWith('/trials'))
    return json(res, { trials: rows(2500, q('after'), limit, (i) => ({ id: i, number: i, state: 'completed', family: 'boost' })), next: q('after') + limit < 2500 ? q('after') + limit : null });
  if (url.pathname.endsWith('/studies'))
    return json(res, { studies: rows(2500, q('after'), limit, (i) => ({ id: i, name: bad, state: 'completed', trials: {} })), next: q('after') + limit < 2500 ? q('after') + limit : null });
  json(res, { detail: 'nothing here' }, 404);
}).listen(0, '127.0.0.1', function () { console.log(this.address().port); });
JS
node server.mjs >port &
PIDS=$!
until [ -s port ]; do kill -0 $PIDS || exit 1; sleep 0.05; done
ASSAY_URL=http://127.0.0.1:$(cat port)
export ASSAY_URL

refused() { # text arguments...: fails with that text, and leaves no file
    local text=$1
    shift
    ! "$ASSAY" "$@" >said 2>&1 && grep -F "$text" said && [ ! -e m.assay ]
}
count() { # key arguments...
    local key=$1
    shift
    "$ASSAY" "$@" --json | jq ".$key | length"
}
is_clean() { ! LC_ALL=C grep -q $'[\033\007]\|\302\233' "$1"; }
shows_escaped() { "$ASSAY" "$@" >shown 2>&1; is_clean shown && grep -qF 'ev\x1b]0;own\x07il\n\u009b31m' shown; }
json_is_clean() { "$ASSAY" ls --json >shown && is_clean shown && jq -e '.studies[0].name == "ev\u001b]0;own\u0007il\n\u009b31m"' shown; }
redirected_to_stdout() { [ "$("$ASSAY" export moved -o - 2>/dev/null | wc -c)" -eq 0 ] && ! "$ASSAY" export moved -o - 2>/dev/null; }

ok "a redirect is no model" refused 'redirect to https://elsewhere.example/sign-in' export moved -o m.assay
ok "nor on standard output" redirected_to_stdout
ok "a redirect is no study" refused 'redirect' show moved
ok "a page is no model" refused 'did not send a model' export page -o m.assay
ok "a page is no study" refused 'is it a controller?' show page
ok "a damaged model is not saved" refused 'arrived damaged' export damaged -o m.assay
ok "a good one is" "$ASSAY" export good -o good.assay
ok "and whole" test "$(cat good.assay)" = "not really a model"
ok "a message is shown with its controls escaped" shows_escaped show evil
ok "a name in a list too" shows_escaped ls
ok "a family in a table too" shows_escaped leaderboard x
ok "JSON for programs keeps every character and sends no control to a terminal" json_is_clean
ok "a leaderboard of 2500 rows comes in pages" test "$(count rows leaderboard x --limit 100000)" = 2500
ok "trials come in pages" test "$(count trials trials x --limit 2100)" = 2100
ok "studies come in pages" test "$(count studies ls --limit 1001)" = 1001
ok "each row once, in order" test "$("$ASSAY" trials x --limit 2500 --json | jq -c '[.trials[].number] == [range(1; 2501)]')" = true
ok "what is left out is said" sh -c '"$0" leaderboard x --limit 10 | grep -q "2490 more"' "$ASSAY"
finish
