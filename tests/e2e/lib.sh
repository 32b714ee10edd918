# lib.sh - what the end-to-end scripts share: cases that count themselves, a folder, processes that are stopped again.
# shellcheck shell=bash disable=SC2034
# Sourced with B set (build folder). `ok NAME CONDITION...` runs a command and counts; end with `finish`.
set -u
ASSAY=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/${B:-build/gcc}/assay
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
DATA=$ROOT/../shared/datasets
WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-e2e-XXXXXX")
PASSED=0
FAILED=0
SKIPPED=0
cd "$WORK" || exit 1
trap 'cleanup' EXIT

cleanup() {
    for p in ${PIDS:-}; do kill "$p" 2>/dev/null; done
    [ "$FAILED" -eq 0 ] && rm -rf "$WORK"
}

ok() { # name command...
    local name=$1
    shift
    if "$@" >"$WORK/out" 2>"$WORK/err"; then
        PASSED=$((PASSED + 1))
        echo "ok $name"
    else
        FAILED=$((FAILED + 1))
        echo "FAILED $name: $*"
        tail -n 12 "$WORK/out" "$WORK/err"
    fi
}

skip() { # name why
    SKIPPED=$((SKIPPED + 1))
    echo "skipped $1: $2"
}

finish() {
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    [ "$FAILED" -eq 0 ]
}

# Writes train.csv and test.csv by the datasets' split rule: row i is test if i * 2654435761 mod 2^32 is below 2^30.
split_table() { # file
    local reader="cat"
    case $1 in *.gz) reader="zcat" ;; esac
    $reader "$1" | awk 'NR == 1 { print > "train.csv"; print > "test.csv"; next }
        { i = NR - 2; h = (i * 2654435761) % 4294967296; print > (h < 1073741824 ? "test.csv" : "train.csv") }'
}

# Waits until the command succeeds. The limit is for what never comes; a slow machine is to reach it in time.
within() { # seconds command...
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.05
    done
}

# As curl --fail-with-body; sends a request again that a controller on a busy machine refuses (503).
patient_curl() {
    local answer=$WORK/answer.$BASHPID rc
    for _ in $(seq 60); do
        curl -sS --fail-with-body "$@" >"$answer"
        rc=$?
        [ $rc -eq 22 ] && grep -aq '"status": *503' "$answer" || break
        sleep 0.5
    done
    cat "$answer"
    rm -f "$answer"
    return $rc
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# Starts a controller that speaks over $WORK/data/sock only, and a runner unless the first argument is "alone". ASSAY_URL
# names it for the commands that follow.
start_service() { # [alone]
    export ASSAY_URL=unix:$WORK/data/sock
    "$ASSAY" serve --data-dir data --no-tcp >serve.log 2>&1 &
    PIDS="${PIDS:-} $!"
    until "$ASSAY" ls >/dev/null 2>&1; do
        kill -0 $! || return 1
        sleep 0.05
    done
    [ "${1:-}" = alone ] && return 0
    "$ASSAY" agent --controller "$ASSAY_URL" --devices cpu:1 --cache-dir cache >agent.log 2>&1 &
    PIDS="$PIDS $!"
}

# Runs a command on a terminal of its own, COLUMNS wide, and keeps all that it wrote in the file OUT. KEYS are typed at once.
on_terminal() { # columns out keys command...
    local columns=$1 out=$2 keys=$3
    shift 3
    TERM=xterm python3 - "$columns" "$out" "$keys" "$@" <<'PY'
import fcntl, os, pty, struct, sys, termios
columns, out, keys, command = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:]
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.execvp(command[0], command)
os.write(fd, keys.encode().decode("unicode_escape").encode())
with open(out, "wb") as f:
    while True:
        try:
            part = os.read(fd, 4096)
        except OSError:
            break
        if not part:
            break
        f.write(part)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
PY
}
