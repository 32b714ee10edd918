#!/bin/bash
# check.sh - the API's description and the API against each other, by two tools that we did not write: is the document
# a valid OpenAPI document (openapi-spec-validator), and does a running controller do what it says (schemathesis: some
# thousand generated requests, legal and illegal)? A step of `make check`. The tools are those of requirements.txt, in a
# virtual environment under build/; where PyPI is not reachable the step is skipped, and says so. What is not checked stands
# in schemathesis.toml with its reason. Bounded: a minute or so for each run, 10 s for a request.
#   SEED=7 tests/api/check.sh     other requests
set -u
cd "$(dirname "$0")/../.." || exit 1
B=$PWD/${B:-build/gcc}
venv=$PWD/build/api-venv
here=$PWD/tests/api
work=$(mktemp -d "${TMPDIR:-/tmp}/assay-api-XXXXXX")
server=
passed=0 failed=0

cleanup() {
    [ -n "$server" ] && kill "$server" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$work"
}
trap cleanup EXIT

skip() {
    echo "api: skipped, $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

tell() { # name rc log
    if [ "$2" -eq 0 ]; then
        passed=$((passed + 1))
        echo "ok    $1"
    else
        failed=$((failed + 1))
        echo "FAIL  $1"
        tail -n 150 "$3" | sed 's/^/      | /'
    fi
}

# Made once, and again when the pins change.
tools() {
    cmp -s "$here/requirements.txt" "$venv/made-of" && return 0
    rm -rf "$venv"
    python3 -m venv "$venv" >"$work/venv" 2>&1 || skip "python3 cannot make a virtual environment (package python3-venv)"
    timeout 300 "$venv/bin/pip" install -q --disable-pip-version-check --retries 1 --timeout 15 \
        -r "$here/requirements.txt" >"$work/venv" 2>&1 ||
        skip "the tools of $here/requirements.txt cannot be installed: $(tail -n 1 "$work/venv")"
    cp "$here/requirements.txt" "$venv/made-of"
}

command -v python3 >/dev/null || skip "python3 is not installed"
tools

"$B/assay" serve --data-dir "$work/data" --listen 127.0.0.1:0 --log-level error >"$work/said" 2>&1 &
server=$!
for _ in $(seq 1200); do
    grep -q '^assayd: http' "$work/said" && break
    kill -0 "$server" 2>/dev/null || break
    sleep 0.1
done
address=$(sed -n 's/^assayd: \(http[^ ]*\) .*/\1/p' "$work/said")
token=$(cat "$work/data/admin-token" 2>/dev/null)
[ -n "$address" ] && [ -n "$token" ] || { cat "$work/said"; echo "0 passed, 1 failed, 0 skipped"; exit 1; }

curl -s -m 60 -H "Authorization: Bearer $token" "$address/api/v1/openapi.json" >"$work/openapi.json"
"$venv/bin/python" -m openapi_spec_validator "$work/openapi.json" >"$work/log" 2>&1
tell "the description is a valid OpenAPI document" $? "$work/log"

cd "$work" || exit 1 # the tool leaves a folder of its notes where it runs
# Not asked: event streams, which have no end; the verbs of --dev, which are not served here; and the revoking of tokens,
# which would revoke the one that the tool comes with.
timeout 900 "$venv/bin/st" --config-file "$here/schemathesis.toml" run "$address/api/v1/openapi.json" \
    -H "Authorization: Bearer $token" --exclude-path /api/v1/events --exclude-path-regex '^/api/v1/debug' \
    --exclude-path '/api/v1/tokens/{token}' --phases examples,coverage,fuzzing --max-examples 5 \
    --seed "${SEED:-1}" --generation-database none --continue-on-failure --request-timeout 60 \
    --suppress-health-check all --warnings off --no-color >"$work/log" 2>&1
tell "a running controller does what its description says" $? "$work/log"
grep -E '^ *[0-9]+ generated' "$work/log"
kill -0 "$server" 2>/dev/null
tell "the controller is still there" $? "$work/said"

echo "$passed passed, $failed failed, 0 skipped"
[ $failed -eq 0 ]
