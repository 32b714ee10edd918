#!/bin/bash
# Broken and hostile input through the command line and the API: each case gets one clear message with the right exit code or
# status, and changes nothing: the digest of all stored facts is the same before and after. One line per case in the tables.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

# ---- tables ----
{ echo a,b,y; for i in 1 2 3 4 5 6 7 8; do printf '%d,2,x\n3,%d,z\n' $i $i; done; } >good.csv
: >empty.csv
printf 'a,b,y\n' >header.csv
printf 'a,b,y\n1,2,x\n3,4\n' >ragged.csv
printf 'a,b,y\n1,2,x,9\n' >wide.csv
printf 'a,y\n1,"x\n2,z\n' >quote.csv
printf 'a,y\n1,x"y\n2,"z"w\n' >quote2.csv
printf 'a,y\n1,\xff\xfe\n2,z\n' >utf8.csv
printf 'a,y\n1,x\x00y\n2,z\n' >nul.csv
printf 'a,a,y\n1,2,x\n3,4,z\n' >twice.csv
printf ',,\n1,2,x\n3,4,z\n' >noname.csv
printf 'a,y\n1,x\n2,x\n3,x\n4,x\n' >oneclass.csv
printf 'a,y\n,x\n,z\n,x\n,z\n' >allmissing.csv
printf 'a,y\n1,\n2,\n3,\n' >notarget.csv
printf 'y\nx\nz\nx\nz\n' >onecolumn.csv
printf 'a,y\n1,x\n' >onerow.csv
gzip -c good.csv >good.csv.gz
head -c 30 good.csv.gz >cut.csv.gz
printf '\x1f\x8bnonsense' >bad.csv.gz
head -c 100000 /dev/urandom >random.csv
{ seq -s, 1 100001; seq -s, 1 100001; } >columns.csv
{ printf 'a,y\n"'; head -c 1200000 /dev/zero | tr '\0' x; printf '",z\n'; } >field.csv
mkdir folder.csv

refuses() { # exit-status text command...: one clear message on stderr, nothing written
    local want=$1 text=$2 rc
    shift 2
    timeout 100 "$@" >o 2>e
    rc=$?
    head -c 600 e
    [ $rc -eq "$want" ] || { echo "exit $rc, not $want"; return 1; }
    grep -qiE -- "$text" e || { echo "no \"$text\""; return 1; }
    [ "$(grep -c . e)" -le 3 ] || { echo "more than three lines"; return 1; }
    [ ! -e h.assay ]
}
fit() { # text file arguments...
    local text=$1 file=$2
    shift 2
    ok "fit: $file ${*}" refuses 1 "$text" "$ASSAY" fit "$file" --target y --trials 1 -o h.assay "$@"
}
usage() { # text arguments...
    local text=$1
    shift
    ok "usage: $*" refuses 2 "$text" "$ASSAY" "$@"
}

fit 'empty' empty.csv
fit 'row|data' header.csv
fit 'line 3' ragged.csv
fit 'line 2' wide.csv
fit 'quote|line 2' quote.csv
fit 'quote|line 2' quote2.csv
fit 'UTF-8' utf8.csv
fit 'NUL' nul.csv
fit '"?a"?' twice.csv
fit 'name' noname.csv
fit 'class|value' oneclass.csv
fit 'y' notarget.csv
fit 'gzip|truncat' cut.csv.gz
fit 'gzip' bad.csv.gz
fit 'random.csv' random.csv
fit 'column' columns.csv
fit 'line 2|field' field.csv
fit 'the folder is empty' folder.csv
fit 'metric|rmse' good.csv --metric rmse
fit 'task|regression' good.csv --task regression
fit 'nope' good.csv --columns nope=numeric
fit 'nobody' good.csv --positive nobody
ok "fit: a target that is no column" refuses 1 'target|yy' "$ASSAY" fit good.csv --target yy --trials 1 -o h.assay
ok "fit: a file that is not there" refuses 3 'no such file' "$ASSAY" fit nowhere.csv --target y
ok "fit: a test table that is not there" refuses 3 'no such file' "$ASSAY" fit good.csv --target y --test nowhere.csv
usage 'target' fit good.csv
usage 'time' fit good.csv --target y --time soon
usage 'time' fit good.csv --target y --time -5s
usage 'metric' fit good.csv --target y --metric nonsense
usage 'task' fit good.csv --target y --task cube
usage 'columns' fit good.csv --target y --columns nonsense
usage 'columns a.*numeric' fit good.csv --target y --columns a=cubic
usage 'sampler' fit good.csv --target y --sampler nonsense
usage 'scheduler' fit good.csv --target y --scheduler nonsense
usage 'famil' fit good.csv --target y --families nonsense
usage 'trials' fit good.csv --target y --trials 1.5
usage 'seed' fit good.csv --target y --seed 99999999999999999999
usage 'unknown option|--targt' fit good.csv --targt y
usage 'TRAIN.csv is missing' fit
usage 'argument' fit good.csv more.csv --target y
usage 'command|nonsense' nonsense
usage 'MODEL is missing' predict

# ---- models ----
"$ASSAY" fit good.csv --target y --trials 2 -o model.assay >/dev/null 2>&1
head -c 200 model.assay >cut.assay
{ head -c 500 model.assay; printf 'X'; tail -c +502 model.assay; } >flip.assay
printf 'b,y\n1,x\n' >less.csv
ok "predict: no model" refuses 1 'good.csv' "$ASSAY" predict good.csv good.csv -o h.assay
ok "predict: a truncated model" refuses 1 'cut.assay' "$ASSAY" predict cut.assay good.csv -o h.assay
ok "predict: a damaged model" refuses 1 'flip.assay' "$ASSAY" predict flip.assay good.csv -o h.assay
ok "predict: a missing column is named" refuses 1 '"?a"?' "$ASSAY" predict model.assay less.csv -o h.assay
ok "predict: an empty table" refuses 1 'empty' "$ASSAY" predict model.assay empty.csv -o h.assay
ok "predict: nowhere to write" refuses 1 'no/such' "$ASSAY" predict model.assay good.csv -o no/such/place.csv
ok "nobody answers" refuses 4 'no controller' env ASSAY_URL="unix:$WORK/nobody" "$ASSAY" ls
ok "a server of no kind" refuses 1 'server|unix:' "$ASSAY" ls --server nonsense

# ---- specs ----
spec() { # text yaml
    printf '%b' "$2" >s.yaml
    ok "spec: $2" refuses 1 "$1" "$ASSAY" run s.yaml --dir "$WORK/rundata" -o h.assay
}
spec_missing() { # a file the spec names is not there: exit 3
    printf '%b' "$2" >s.yaml
    ok "spec: $2" refuses 3 "$1" "$ASSAY" run s.yaml --dir "$WORK/rundata" -o h.assay
}
spec 'targt.*target|target' 'dataset: good.csv\ntargt: y\n'
spec 'budget' 'dataset: good.csv\ntarget: y\nbudget: 5\n'
spec 'trails.*trials' 'dataset: good.csv\ntarget: y\nbudget: {trails: 5}\n'
spec 'trials' 'dataset: good.csv\ntarget: y\nbudget: {trials: -5}\n'
spec 'deterministic' 'dataset: good.csv\ntarget: y\nbudget: {time: 5s}\ndeterministic: true\n'
spec 'line 2|duplicate' 'dataset: good.csv\ndataset: good.csv\ntarget: y\n'
spec 'line|anchor|alias' 'dataset: &a good.csv\ntarget: *a\n'
spec 'dataset' 'target: y\n'
spec 'no search spec' '- 1\n- 2\n'
spec_missing 'no such file' 'dataset: ../../nowhere.csv\ntarget: y\nbudget: {trials: 1}\n'

# ---- the API ----
port=$((20000 + RANDOM % 20000))
"$ASSAY" serve --data-dir data --listen 127.0.0.1:$port --dev >serve.log 2>&1 &
PIDS=$!
export ASSAY_URL=unix:$WORK/data/sock
within 60 "$ASSAY" ls >/dev/null 2>&1
"$ASSAY" agent --controller "$ASSAY_URL" --cache-dir "$WORK/cache" >agent.log 2>&1 &
PIDS="$PIDS $!"
"$ASSAY" data add good.csv --name good >/dev/null
TOKEN=$(cat data/token 2>/dev/null || cat data/*token* 2>/dev/null)
digest() { "$ASSAY" debug digest | jq -r .digest; }
BEFORE=$(digest)

answers() { # status text curl-arguments...
    local want=$1 text=$2 got
    shift 2
    got=$(timeout 100 curl -s --retry 20 --retry-delay 1 -o body -w '%{http_code}' "$@")
    head -c 500 body
    [[ $got =~ ^$want$ ]] || { echo "status $got, not $want"; return 1; }
    grep -qiE -- "$text" body
}
U=http://localhost/api/v1
unix() { # name status text curl-arguments...
    local name=$1 want=$2 text=$3
    shift 3
    ok "api: $name" answers "$want" "$text" --unix-socket data/sock "$@"
}
tcp() {
    local name=$1 want=$2 text=$3
    shift 3
    ok "tcp: $name" answers "$want" "$text" "$@"
}
T=http://127.0.0.1:$port
unix 'no JSON' 400 'line 1' -d 'nonsense' $U/studies
unix 'an empty body' 400 '.' -d '' $U/studies
unix 'a JSON array' 400 'object' -d '[]' $U/studies
unix 'an unknown key' 400 'targt' -d '{"dataset":"good","targt":"y"}' $U/studies
unix 'a key twice' 400 'duplicate' -d '{"dataset":"good","dataset":"good","target":"y"}' $U/studies
unix 'wrong type' 400 'seed' -d '{"dataset":"good","target":"y","seed":"x"}' $U/studies
unix 'a huge number' 400 'too big' -d '{"dataset":"good","target":"y","seed":99999999999999999999}' $U/studies
unix 'deep nesting' 400 '.' -d "$(printf '[%.0s' $(seq 5000))" $U/studies
unix 'unknown dataset' 400 'nobody' -d '{"dataset":"nobody","target":"y","budget":{"trials":1}}' $U/studies
unix 'unknown target' 400 'target' -d '{"dataset":"good","target":"nobody","budget":{"trials":1}}' $U/studies
unix 'a NUL in a string' 400 '.' -d '{"dataset":"go\u0000od","target":"y"}' $U/studies
unix 'unknown study' 404 '.' $U/studies/999
unix 'unknown trial' 404 '.' $U/trials/999
unix 'an id that is none' 404 '.' $U/trials/abc
unix 'unknown route' 404 '.' $U/nonsense
unix 'wrong method' 405 '.' -X DELETE $U/studies
unix 'unknown query argument' 400 'nonsense' "$U/studies?nonsense=1"
unix 'a limit out of range' 400 'limit' "$U/studies?limit=-1"
unix 'a path trick' 404 '.' --path-as-is "$U/../../etc/passwd"
unix 'a blob name that is a path' 404 '.' --path-as-is "$U/blobs/..%2f..%2fassay.db"
unix 'an upload id that is a path' 404 '.' --path-as-is -X PUT -d x "$U/uploads/..%2f..%2fx?offset=0"
unix 'an unknown upload' 404 '.' -X PUT -d x "$U/uploads/0123456789abcdef0123456789abcdef?offset=0"
unix 'a dataset of no blob' 400 'blob' -d '{"name":"x","blob":"0000000000000000000000000000000000000000000000000000000000000000","file_name":"x.csv"}' $U/datasets
unix 'a name with a slash' 400 'name' -d '{"name":"../x","blob":"0000000000000000000000000000000000000000000000000000000000000000","file_name":"x.csv"}' $U/datasets
unix 'a runner of another protocol' 426 'protocol' -d '{"protocol":99,"name":"x","session":"x","numeric_sig":"x","devices":[]}' $U/runners
unix 'a report of an unknown session' '4[0-9][0-9]' '.' -d '{"session":"nobody","events":[],"held":[],"tasks":[]}' $U/runners/1/report
unix 'a lease call without a session' 400 'session' -d '{}' $U/runners/1/lease
head -c 9000000 /dev/zero >big
unix 'an oversized body' 413 '' --data-binary @big $U/studies
tcp 'no token' 401 '.' $T/api/v1/studies
tcp 'a wrong token' 401 '.' -H 'Authorization: Bearer nonsense' $T/api/v1/studies
tcp 'another Host' 403 '.' -H 'Host: evil.example' -H "Authorization: Bearer $TOKEN" $T/api/v1/studies
tcp 'another Origin' 403 '.' -H 'Origin: http://evil.example' -H "Authorization: Bearer $TOKEN" -X POST -d '{}' $T/api/v1/studies
tcp 'a huge header' '4[0-9][0-9]' '' -H "X-Big: $(head -c 40000 /dev/zero | tr '\0' x)" $T/api/v1/studies
tcp 'health needs no token' 200 'ok' $T/health
tcp 'the right token' 200 'studies' -H "Authorization: Bearer $TOKEN" $T/api/v1/studies
ok "all that changed nothing" test "$BEFORE" = "$(digest)"
finish
