#!/bin/bash
# TLS between controller, runner, command line and page: a certificate of the controller's own with its key pinned, one that is
# renewed while the controller runs, a whole study across it, clients that trust the wrong one or speak plain HTTP, clients
# that stop in the handshake. A token crosses no network in clear text.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
unset ASSAY_URL ASSAY_TOKEN ASSAY_TLS_PIN ASSAY_TLS_CA
CERT=$WORK/data/tls-cert.pem
KEY=$WORK/data/tls-key.pem

port=0
serve() { # options...
    rm -f serve.out
    "$ASSAY" serve --data-dir data --listen "127.0.0.1:$port" "$@" >serve.out 2>>serve.log &
    SERVE=$!
    PIDS="${PIDS:-} $!"
    until grep -q '^assayd: http' serve.out; do
        kill -0 $! 2>/dev/null || return 1
        sleep 0.05
    done
    port=$(sed -n 's/^assayd: https\{0,1\}:..127.0.0.1:\([0-9]*\) .*/\1/p' serve.out)
    URL=https://127.0.0.1:$port
}
fails() { # exit-status text command...
    local want=$1 text=$2 rc
    shift 2
    "$@" >o 2>e
    rc=$?
    cat o e
    [ $rc -eq "$want" ] && grep -q -- "$text" o e
}
get() { timeout 60 curl -s --cacert "$CERT" -H "Authorization: Bearer $ASSAY_TOKEN" "$@"; }

ok "a start with --tls and nothing else" serve --tls
PIN=$(grep -o 'sha256//[^ ]*' serve.out)
ASSAY_TOKEN=$(cat data/admin-token)
export ASSAY_TOKEN
mode_is() { [ "$(stat -c %a "$2")" = "$1" ]; }
ok "the key is private" mode_is 600 "$KEY"
ok "the page's address is https" grep -q "page: https://127.0.0.1:$port/open" serve.out
pin_is() { # what openssl says of the certificate
    [ "sha256//$(openssl x509 -in "$CERT" -noout -pubkey | openssl pkey -pubin -outform DER | openssl dgst -sha256 -binary |
        base64)" = "$PIN" ]
}
ok "the printed pin is the hash of the public key" pin_is
ok "openssl verifies the certificate and the name" sh -c "openssl s_client -connect 127.0.0.1:$port -CAfile '$CERT' \
    -verify_return_error -verify_hostname localhost </dev/null"
ok "TLS 1.1 is refused" fails 1 "" openssl s_client -connect "127.0.0.1:$port" -tls1_1 -cipher ALL:@SECLEVEL=0

ok "a pin is enough" "$ASSAY" ls --server "$URL" --tls-pin "$PIN"
ok "so is the certificate's file" "$ASSAY" ls --server "$URL" --tls-ca "$CERT"
ok "both, and the name localhost" "$ASSAY" ls --server "https://localhost:$port" --tls-ca "$CERT" --tls-pin "$PIN"
ok "without either, nobody vouches for it" fails 1 'nothing vouches' "$ASSAY" ls --server "$URL"
OTHER=sha256//AAAAILOZIY8OadzdTisFDqz/09XoMuI9nYn15evp8NE=
ok "another key is not the controller" fails 1 'another key' "$ASSAY" ls --server "$URL" --tls-pin "$OTHER"
ok "nor with the right authority" fails 1 'another key' "$ASSAY" ls --server "$URL" --tls-pin "$OTHER" --tls-ca "$CERT"
ok "what is no pin" fails 1 'tls_pin' "$ASSAY" ls --server "$URL" --tls-pin "$CERT"
ok "an authority that is not there" fails 1 'no certificate' "$ASSAY" ls --server "$URL" --tls-ca nowhere.pem
ok "plain HTTP to a TLS port is told so" fails 1 'speaks TLS: use https' "$ASSAY" ls --server "http://127.0.0.1:$port"
ok "a token in clear text to another machine" fails 1 'would be sent to' "$ASSAY" ls --server http://192.0.2.1:7878
ok "by a runner neither" fails 1 'would be sent to' timeout 60 "$ASSAY" agent --controller http://192.0.2.1:7878 \
    --devices cpu:1 --cache-dir cache2

export ASSAY_URL=$URL ASSAY_TLS_PIN=$PIN
"$ASSAY" data make twonorm --rows 60000 --seed 3 -o big.csv 2>/dev/null
head -n 1500 big.csv >small.csv
"$ASSAY" token add r1 runner >token.txt 2>/dev/null
grep -oE '[A-Za-z0-9_-]{24,}' token.txt | tail -n 1 >runner.token
"$ASSAY" agent --token-file runner.token --controller "$URL" --tls-pin "$PIN" --devices cpu:1 --cache-dir cache >agent.log 2>&1 &
PIDS="$PIDS $!"
ok "a table of many parts is uploaded" timeout 200 "$ASSAY" data add big.csv --name big
ok "and a small one" timeout 200 "$ASSAY" data add small.csv --name small
cat >spec.yaml <<'END'
name: encrypted
dataset: small
target: class
seed: 4
space: [{family: linear}, {family: boost}]
budget: {trials: 8}
END
ok "a study to its end, followed over TLS" timeout 200 "$ASSAY" submit spec.yaml --follow
ok "its model" "$ASSAY" export encrypted -o best.assay
ok "predicts" "$ASSAY" predict best.assay small.csv -o p.csv
long() { get "$URL/api/v1/studies/1/page" >page.json && jq -e . page.json; }
ok "a long answer" long
events() {
    local rc
    curl -sN --cacert "$CERT" -H "Authorization: Bearer $ASSAY_TOKEN" "$URL/api/v1/events" >events.txt &
    within 30 grep -q '^event\|^:\|^id' events.txt
    rc=$?
    kill $! && wait $! 2>/dev/null
    return $rc
}
ok "a stream of events" events
cookie() {
    curl -s -o /dev/null -D heads --cacert "$CERT" "$(sed -n 's/.*page: \([^ ]*\) .*/\1/p' serve.out)"
    cat heads
    grep -i '^set-cookie:.*; Secure' heads
}
ok "the page's cookie stays on TLS" cookie
pipelined() { # two requests in one write, both are answered
    printf 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\nGET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' |
        timeout 60 openssl s_client -quiet -connect "127.0.0.1:$port" -CAfile "$CERT" 2>/dev/null | grep -o '"status":"ok"' >two
    [ "$(wc -l <two)" = 2 ]
}
ok "two requests in one record" pipelined
silent() { # clients that never begin, or stop within the handshake, hold up nobody and are closed after 10 s (20 s of slack)
    python3 - "$port" "$CERT" <<'PY'
import socket, ssl, sys, time, urllib.request
port = int(sys.argv[1])
held = [socket.create_connection(("127.0.0.1", port)) for _ in range(20)]
for s in held[::2]:
    s.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")  # the beginning of a ClientHello
context = ssl.create_default_context(cafile=sys.argv[2])
start = time.time()
urllib.request.urlopen(f"https://localhost:{port}/health", context=context, timeout=9).read()
assert time.time() - start < 9, "others waited"
for s in held:
    s.settimeout(30)
    s.recv(100)  # closed by the server
assert time.time() - start < 30, "they stayed too long"
PY
}
ok "handshakes that stop" silent
slow() { # one byte at a time
    python3 - "$port" "$CERT" <<'PY'
import socket, ssl, sys
inn, out = ssl.MemoryBIO(), ssl.MemoryBIO()
tls = ssl.create_default_context(cafile=sys.argv[2]).wrap_bio(inn, out, server_hostname="localhost")
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
def flush():
    for b in out.read():
        s.sendall(bytes([b]))
def run(step):
    while True:
        try:
            return step()
        except ssl.SSLWantReadError:
            flush()
            inn.write(s.recv(7))
run(tls.do_handshake)
flush()
for part in (b"GET /health HT", b"TP/1.1\r\nHost: localhost\r\n", b"\r\n"):
    tls.write(part)
    flush()
got = b""
while b'"status":"ok"' not in got:
    got += run(lambda: tls.read(100))
PY
}
ok "a client that sends and reads byte by byte" slow
crowd() {
    local i pids=
    for i in $(seq 24); do
        get "$URL/api/v1/studies" -o "crowd.$i" &
        pids="$pids $!"
    done
    for i in $pids; do wait "$i" || return 1; done
    grep -L encrypted crowd.* | grep . && return 1
    return 0
}
ok "24 clients at once" crowd
python_client() { # url
    PYTHONPATH=$ROOT/configs/clients PYTHONDONTWRITEBYTECODE=1 timeout 200 python3 - "$1" <<'PY'
import sys, assay
study = assay.Study(sys.argv[1], "by-python", space={"x": assay.uniform(-1, 1)}, trials=5, seed=1)
study.optimize(lambda trial: trial["x"] ** 2)
assert study.best["score"] <= 1
PY
}
ok "the Python client, which trusts the file" env ASSAY_TLS_CA="$CERT" bash -c "$(declare -f python_client); ROOT='$ROOT' \
    python_client https://localhost:$port"
ok "and no other" fails 1 CERTIFICATE_VERIFY_FAILED python_client "https://localhost:$port"
ok "nor sends a token in clear text" fails 1 'clear text' python_client http://192.0.2.1:7878

serial() { openssl s_client -connect "127.0.0.1:$port" </dev/null 2>/dev/null | openssl x509 -noout -serial; }
before=$(serial)
renewed() {
    openssl req -x509 -new -key "$KEY" -subj /CN=renewed -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -days 30 -out new.pem
    mv new.pem "$CERT"
    within 60 is_another
}
is_another() { local now; now=$(serial) && [ -n "$now" ] && [ "$now" != "$before" ]; }
ok "a renewed certificate is taken over without a restart" renewed
ok "its key is the same, and so is the pin" "$ASSAY" ls
now=$(serial)
broken() {
    cp "$CERT" good.pem
    echo nonsense >"$CERT"
    within 60 grep -q tls.refused serve.log
    [ "$(serial)" = "$now" ] && [ "$(grep -c tls.refused serve.log)" = 1 ]
}
ok "a broken file changes nothing, and is told once" broken
mv good.pem "$CERT"
kill $SERVE
wait $SERVE 2>/dev/null
rm "$CERT"
ok "a start without the certificate makes one for the same key" serve --tls
ok "so that the pin holds, and the runner comes back" "$ASSAY" runner ls
kill $SERVE
wait $SERVE 2>/dev/null
ok "a certificate without its key" fails 2 'tls_key' "$ASSAY" serve --data-dir data --tls-cert "$CERT"
ok "a key that is none" fails 1 'private key' "$ASSAY" serve --data-dir data --tls-cert "$CERT" --tls-key "$CERT"
openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out other.pem 2>/dev/null
ok "somebody else's key" fails 1 'other.pem' "$ASSAY" serve --data-dir data --tls-cert "$CERT" --tls-key other.pem
openssl pkey -in other.pem -aes256 -passout pass:secret -out locked.pem 2>/dev/null
ok "a key with a passphrase asks nobody" fails 1 'passphrase' "$ASSAY" serve --data-dir data --tls-cert "$CERT" --tls-key locked.pem
ok "other machines may be listened to over TLS" fails 0 valid "$ASSAY" serve -n --listen 0.0.0.0:7878 --tls
ok "and not without" fails 2 'give --tls' "$ASSAY" serve -n --listen 0.0.0.0:7878
finish
