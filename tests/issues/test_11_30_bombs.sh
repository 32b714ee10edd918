#!/bin/bash
# Found from outside: 1 MB of gzip filled 331 MB of the controller's and the runner's disk each, 31 MB 10.9 GB; there were
# no quotas; what a killed worker had half written stayed until its runner ended.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

# 160 MB of table in 160 kB.
{ echo "a,b,y"; yes 0,0,0 | head -n 26000000; } | gzip -9 >bomb.csv.gz

bomb_refused() {
    ! "$ASSAY" fit bomb.csv.gz --target y --time 60s -o m.assay >out.txt 2>said &&
        grep -F "unpacks to more than 100 times its length" said && [ ! -e m.assay ]
}

honest_taken() { # well packed, but a table
    { echo "a,y"; seq 1 20000 | awk '{ print $1 % 7 "," $1 % 2 }'; } | gzip -9 >honest.csv.gz
    "$ASSAY" fit honest.csv.gz --target y --trials 1 --families linear -o h.assay
}

serve() { # options
    "$ASSAY" serve --data-dir data --dev "$@" >serve.log 2>&1 &
    SERVER=$!
    PIDS="${PIDS:-} $SERVER"
    for _ in $(seq 1200); do
        grep -q "page:" serve.log && return 0
        sleep 0.05
    done
    return 1
}

token_quota() {
    serve --listen 127.0.0.1:0 --token-quota 1MiB || return 1
    url=$(sed -n 's/^assayd: \(http[^ ]*\).*/\1/p' serve.log)
    export ASSAY_TOKEN
    ASSAY_TOKEN=$(cat data/admin-token)
    head -c 1500000 /dev/zero >large
    id=$(curl -sf -m 60 -H "Authorization: Bearer $ASSAY_TOKEN" -X POST "$url/api/v1/uploads" |
        sed 's/.*"id": *"\([0-9a-f]*\).*/\1/')
    curl -s -m 60 -o said -w '%{http_code}' -H "Authorization: Bearer $ASSAY_TOKEN" -X PUT --data-binary @large \
        -H 'Content-Type: application/octet-stream' "$url/api/v1/uploads/$id?offset=0" >code
    kill "$SERVER"
    wait "$SERVER"
    unset ASSAY_TOKEN
    [ "$(cat code)" = 507 ] && grep -F "the quota of 1.0 MiB for admin" said
}

ok "a table that unpacks to a thousand times its length is refused" bomb_refused
ok "a table that is only packed well is taken" honest_taken
ok "a token cannot bring more than its quota" token_quota
finish
