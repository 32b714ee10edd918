#!/bin/bash
# Programs that behave badly, one after the other on one device: a fork bomb, endless output, SIGTERM ignored, far too much memory,
# a child that hides from its parent, a checkpoint of a gigabyte, broken reports, a look at the runner's token and at other trials'
# files, crashes and exit codes. Each ends with its own sentence, nothing outlives its trial, and the next trial runs.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

cat >bad.py <<'PY'
import glob, json, os, signal, subprocess, sys, time

kind = sys.argv[1]

def score(v=1.0, level=1):
    print("assay:", json.dumps({"level": level, "score": v}), flush=True)

def hide():
    """A child of a child in a session of its own, without our environment: nobody's descendant, so to say."""
    code = "import time; open(%r, 'a').write(str(__import__('os').getpid()) + '\\n'); time.sleep(600)" % os.environ["PIDS"]
    subprocess.Popen(["setsid", "env", "-i", sys.executable, "-c", code], start_new_session=True)
    time.sleep(1)

open(os.environ["PIDS"], "a").write(f"{os.getpid()}\n")
if kind == "bomb":
    while True:
        try:
            os.fork()
        except OSError:
            time.sleep(0.05)
elif kind == "output":
    end = time.time() + 1.5
    while time.time() < end:
        sys.stdout.write("x" * 1000 + "\n")
    score(2)
    print("the last words")
elif kind == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    score(3)
    while True:
        time.sleep(1)
elif kind == "memory":
    held = []
    while True:
        held.append(bytearray(os.urandom(1 << 20) * 64))
elif kind == "hidden":
    hide()
    score(4)
elif kind == "orphan":  # the program ends while its child goes on and holds the output open
    subprocess.Popen(["sleep", "600"])
    score(5)
elif kind == "disk":
    with open(os.path.join(os.environ["ASSAY_CHECKPOINT_DIR"], "big"), "wb") as f:
        for _ in range(1024):
            f.write(b"\1" * (1 << 20))
    time.sleep(30)
elif kind == "broken":
    for line in ("assay:", "assay: {", "assay: []", "assay: {\"level\": -1, \"score\": 1}", "assay: level=1e9 score=1", "assay: x",
                 "assay: {\"score\": \"a\"}", "assay: level=7 score=1", "assay: " + "9" * 100000, "\0assay: 1", "\xff\xfe"):
        os.write(1, line.encode("latin-1") + b"\n")
    score(6)
elif kind == "nan":
    score(float("nan"))
    time.sleep(60)
elif kind == "crash":
    os.kill(os.getpid(), signal.SIGSEGV)
elif kind == "exit":
    print("no such learning rate")
    sys.exit(3)
elif kind == "silent":
    pass
elif kind == "retried":
    here = os.path.join(os.getcwd(), "once")
    if not os.path.exists(here):
        open(here, "w").close()
        print("CUDA out of memory: tried to allocate")
        sys.exit(1)
    score(7)
elif kind == "spy":
    found = []
    secret = os.environ["SECRET"]
    for path in [os.environ["TOKEN_FILE"], os.environ["OTHER"]] + glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as f:
                if secret[::-1].encode() in f.read() or path in (os.environ["TOKEN_FILE"], os.environ["OTHER"]):
                    found.append(path)
        except OSError:
            pass
    print("found", found)
    score(8 if not found else 0)
elif kind == "http":
    import urllib.request
    def call(path, body=None, token=os.environ["ASSAY_TOKEN"]):
        r = urllib.request.Request(os.environ["ASSAY_URL"] + path, body and json.dumps(body).encode(), {"Authorization": "Bearer " + token})
        try:
            return json.load(urllib.request.urlopen(r, timeout=20))
        except urllib.error.HTTPError as e:
            return json.load(e)
    assert call("/params")["kind"] == "http"
    assert call("/params", token="x" * 32)["status"] == 401
    assert call("/report", {"score": "x"})["status"] == 400
    assert call("/report", {"level": 2, "score": 1})["status"] == 400
    assert call("/nothing")["status"] == 404
    answer = call("/report", {"level": 1, "score": 9})
    assert answer["verdict"] == "done", answer
PY
kinds="bomb output stubborn memory hidden orphan disk broken nan crash exit silent retried spy http"
home=$(mktemp -d /tmp/assay-hostile-XXXXXX) # programs of other users must be able to come here
trap 'cleanup; rm -rf "$home"' EXIT
chmod 711 "$home"
mkdir -m 0777 "$home/notes"
ln -s "$home/notes" notes
secret=$(head -c 12 /dev/urandom | base64 | tr -dc a-z0-9)
printf '%s\n' "$secret" >token
chmod 600 token
spec() {
    cat <<YAML
name: $1
space: {kind: {choice: [$(echo "$kinds" | sed 's/ /, /g')]}}
metric: score
goal: maximize
budget: {trials: $(wc -w <<<"$kinds"), trial_time: 6s, trial_memory: 300MiB}
scheduler: none
sampler: grid
parallel: 1
command: [python3, bad.py, "{kind}"]
files: [bad.py]
limits: {processes: 40, output: 64KiB, checkpoint: 16MiB, disk: 100MiB, grace: 1s}
retry: [{output: "CUDA out of memory", times: 1}]
environment: {PIDS: $home/notes/pids, TOKEN_FILE: $2, OTHER: $WORK/cache/trials, SECRET: $(rev token)}
YAML
}
export ASSAY_URL=unix:$WORK/data/sock
"$ASSAY" serve --data-dir data --no-tcp >serve.log 2>&1 &
PIDS="$!"
until "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done

run_all() { # study agent-options...
    local name=$1
    shift
    : >notes/pids
    chmod 666 notes/pids
    ASSAY_TOKEN=$secret "$ASSAY" agent --controller "$ASSAY_URL" --devices cpu:1 --cache-dir cache --allow-command "$@" >agent.log 2>&1 &
    AGENT=$!
    PIDS="$PIDS $AGENT"
    spec "$name" "$WORK/token" >"$name.yaml"
    "$ASSAY" submit "$name.yaml" >/dev/null
    for _ in $(seq 2000); do
        [ "$("$ASSAY" show "$name" --json | jq -r .state)" = completed ] && break
        sleep 0.3
    done
    "$ASSAY" trials "$name" --limit 100 --json | jq -c '.trials[] | [.config.kind, .state, .reason, .score, .detail]' >"$name.ends"
    for kind in $kinds; do
        n=$("$ASSAY" trials "$name" --limit 100 --json | jq --arg k "$kind" '.trials[] | select(.config.kind == $k) | .number')
        "$ASSAY" logs "$name/$n" >"log.$kind" 2>&1
    done
}
alive() {
    local p
    while read -r p; do
        grep -qaE 'bad.py|time.sleep' "/proc/$p/cmdline" 2>/dev/null && echo "$p"
    done <notes/pids
}
none_alive() { [ -z "$(alive)" ]; }
ends() { # kind pattern
    grep "^\[\"$1\"," "$STUDY.ends" | grep -q "$2" || { grep "^\[\"$1\"," "$STUDY.ends"; tail -n 5 agent.log; return 1; }
}
checks() {
    ok "every program had its trial ($STUDY)" test "$(wc -l <"$STUDY.ends")" = "$(wc -w <<<"$kinds")"
    ok "a fork bomb ends within its time" ends bomb '"failed"'
    ok "endless output is no failure" ends output '"completed","none",2'
    ok "of which the beginning and the end are kept" sh -c "grep -q 'bytes are left out here' log.output && tail -n 1 log.output | grep -q 'last words'"
    ok "and no more than its limit" test "$(wc -c <log.output)" -lt 100000
    ok "SIGTERM may be ignored, the time limit not" ends stubborn '"completed","none",3'
    ok "too much memory" ends memory '"failed","memory".*budget.trial_memory is 300.0 MiB'
    ok "a hidden child does not keep its trial" ends hidden '"completed","none",4'
    ok "nor does one that holds the output open" ends orphan '"completed","none",5'
    ok "a large checkpoint" ends disk '"failed","invalid".*\(limits.disk\|exit 1\|File too large\)'
    ok "broken reports are named and the good one counts" sh -c "grep -q 'the last report' log.broken && grep -q '^\[\"broken\",\"completed\",\"none\",6' $STUDY.ends"
    ok "a score that is no number" ends nan '"failed","diverged"'
    ok "a crash" ends crash '"failed","crashed_alone".*signal 11'
    ok "an exit code, with the last line" ends exit '"failed","invalid".*exit 3; its last line: no such learning rate'
    ok "no score at all" ends silent '"failed","invalid".*reported no score'
    ok "a retry rule starts it again" ends retried '"completed","none",7'
    ok "reports over HTTP, with the trial's own token" ends http '"completed","none",9'
    ok "nothing lives that a program started" within 20 none_alive
    ok "and the hidden child had begun" test "$(wc -l <notes/pids)" -gt "$(wc -w <<<"$kinds")"
}

if [ "$(id -u)" = 0 ]; then
    STUDY=others
    run_all others --command-uids 210400-210401 --command-dir "$home/trials"
    checks
    ok "it cannot read the runner's token or another trial's files" ends spy '"completed","none",8'
    no_folder() { [ -z "$(ls "$home"/trials/*/ 2>/dev/null)" ]; }
    ok "no folder of a trial is left" within 20 no_folder
    no_process() { [ -z "$(ps -u 210400 -o pid= 2>/dev/null)" ]; }
    ok "no process of that user is left" within 20 no_process
    kill "$AGENT" && wait "$AGENT" 2>/dev/null
else
    STUDY=same
    run_all same
    checks
    kill "$AGENT" && wait "$AGENT" 2>/dev/null
fi
finish
