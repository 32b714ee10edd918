#!/bin/bash
# test_11_36_description.sh - issue 11, point 36: POST /backup failed by a key that nobody gave when assayd was started with a
# relative --data-dir; the HTML errors of /open were not declared; schemas allowed what routes refuse. tests/api/check.sh
# asks some thousand questions of that kind; this asks those that were found.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/../e2e/lib.sh"

# Deep enough that an absolute path would be too long for a Unix socket.
deep=a-folder-with-a-long-name-to-be-in/and-another-one-that-is-long-as-well/and-a-third-one-of-the-same-kind
mkdir -p "$deep"
cd "$deep" || exit 1
"$ASSAY" serve --data-dir ./data --listen 127.0.0.1:0 --log-level error >said 2>&1 &
PIDS=$!
for _ in $(seq 1200); do
    grep -q '^assayd: http' said && break
    kill -0 $! 2>/dev/null || break
    sleep 0.05
done
address=$(sed -n 's/^assayd: \(http[^ ]*\) .*/\1/p' said)
token=$(cat data/admin-token)

api() { # method path [body]: the answer's body, then its status on a line of its own
    curl -s -m 60 -w '\n%{http_code}\n' -H "Authorization: Bearer $token" -X "$1" "$address$2" ${3:+--data "$3"}
}
status() { api "$@" | tail -n 1; }
says() { jq -e "$1" openapi.json; }
pattern() { # name of the schema, of its property
    jq -r ".components.schemas.$1.properties.$2.pattern" openapi.json
}
agree() { # value, pattern, and the request that holds the value: refused with 400 if and only if the pattern refuses it
    local value=$1 pattern=$2
    shift 2
    if grep -qE -- "$pattern" <<<"$value"; then
        [ "$(status "$@")" != 400 ]
    else
        [ "$(status "$@")" = 400 ]
    fi
}

api GET /api/v1/openapi.json | head -n 1 >openapi.json
ok "a backup works from a relative folder" test "$(status POST /api/v1/backup '{"name":"one"}')" = 201
ok "and lies in it" test -s data/backups/one
ok "paths are told as they are everywhere" sh -c "curl -s -H 'Authorization: Bearer $token' $address/api/v1/config | jq -e '.data_dir | startswith(\"/\")'"
ok "refusals of /open are declared as pages" says '.paths["/open"].get.responses.default.content | has("text/html")'
ok "which they are" grep -qi '^content-type: text/html' <(curl -s -m 60 -i "$address/open?code=x")
ok "bodies say that they take no other keys" says '.components.schemas | [.BackupNew, .TokenNew, .DatasetNew, .UploadCommit, .StudyPatch, .Spec, .LinkNew] | all(.additionalProperties == false)'
ok "a hello says what it needs" says '.components.schemas.RunnerHello.required | length == 5'
ok "ids in addresses are numbers" says '[.paths[] | .get.parameters[]? | select(.name == "trial")] | all(.schema.type == "integer")'
ok "an upload's part needs its offset" says '.paths["/api/v1/uploads/{upload}"].put.parameters[] | select(.name == "offset") | .required'
for value in good .hidden -x "two words" "" _fine; do
    ok "a backup's name: $value" agree "$value" "$(pattern BackupNew name)" POST /api/v1/backup "{\"name\":\"$value\"}"
    ok "a token's name: $value" agree "$value" "$(pattern TokenNew name)" POST /api/v1/tokens "{\"name\":\"$value\",\"role\":\"viewer\"}"
done
kill "$PIDS"
wait 2>/dev/null
PIDS=
cd "$WORK" || exit 1
finish
