#!/bin/bash
# The daemons as services: sockets that a supervisor opened, what is said to NOTIFY_SOCKET, the watchdog, reload and stop.
# A few lines of Python stand for systemd.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || { echo "python3 is not installed"; exit 77; }

# supervise.py LOG [SOCKET] -- COMMAND...: opens SOCKET, starts the command with it as LISTEN_FDS, writes what the command
# says into LOG, one line a message; starts it again when it has ended, until its own standard input closes.
cat >supervise.py <<'PY'
import os, select, socket, sys
log, rest = open(sys.argv[1], "w", buffering=1), sys.argv[2:]
name, command = (rest[0], rest[2:]) if rest[0] != "--" else (None, rest[1:])
note = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
note.bind(sys.argv[1] + ".notify")
here = os.path.abspath(sys.argv[1] + ".notify")
if name == "tcp":
    door = socket.create_server(("127.0.0.1", 0))
    print(door.getsockname()[1], flush=True)
elif name:
    door = socket.socket(socket.AF_UNIX)
    door.bind(name)
    door.listen(64)
def start():
    pid = os.fork()
    if pid == 0:
        os.environ.update(NOTIFY_SOCKET=here, WATCHDOG_USEC="400000", WATCHDOG_PID=str(os.getpid()))
        if name:
            os.dup2(door.fileno(), 3)
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
        os.execv(command[0], command)
    log.write("pid %d\n" % pid)
    return pid
pid = start()
while True:
    if select.select([note, sys.stdin], [], [], 0.05)[0]:
        if sys.stdin in select.select([sys.stdin], [], [], 0)[0]:
            os.kill(pid, 15)
            os.waitpid(pid, 0)
            while select.select([note], [], [], 0)[0]:
                log.write(note.recv(4096).decode().replace("\n", " ") + "\n")
            break
        log.write(note.recv(4096).decode().replace("\n", " ") + "\n")
    elif os.waitpid(pid, os.WNOHANG)[0]:
        log.write("ended\n")
        pid = start()
PY

count() { grep -c -- "$2" "$1"; }
has() { [ "$(count "$1" "$2")" -ge "$3" ]; }
at_least() { # file pattern times
    within 60 has "$@" && return 0
    cat "$1"
    return 1
}
pid_of() { sed -n 's/^pid //p' "$1" | tail -1; }

mkfifo stop1 stop2
: >assayd.log
sleep 1000 >stop1 &
held=$!
: >runner.log
python3 supervise.py assayd.log "$WORK/door" -- "$ASSAY" serve --data-dir data --no-tcp <stop1 >assayd.out 2>&1 &
PIDS="$held $!"
ok "assayd says that it is ready" at_least assayd.log '^READY=1 STATUS=answering at the Unix socket only$' 1
ok "it answers at the inherited socket" "$ASSAY" ls --server "unix:$WORK/door"
ok "it made no socket of its own" test ! -e data/sock
ok "it tells the watchdog that it lives" at_least assayd.log '^WATCHDOG=1$' 2
kill -HUP "$(pid_of assayd.log)"
ok "a reload is announced" at_least assayd.log '^RELOADING=1$' 1
ok "and its end" at_least assayd.log '^READY=1$' 1
kill -TERM "$(pid_of assayd.log)"
ok "a client that comes during a restart waits and is answered" "$ASSAY" ls --server "unix:$WORK/door"
ok "the stop was announced" at_least assayd.log '^STOPPING=1 STATUS=stopping$' 1
ok "it was started anew" at_least assayd.log '^READY=1 STATUS=' 2
ok "the socket is still there" test -S door

sleep 1000 >stop2 &
held2=$!
PIDS="$PIDS $held2"
python3 supervise.py runner.log -- "$ASSAY" agent --controller "unix:$WORK/door" --devices cpu:1 --cache-dir cache <stop2 >runner.out 2>&1 &
PIDS="$PIDS $!"
ok "a runner says that it is ready" at_least runner.log '^READY=1 STATUS=1 devices for unix:' 1
ok "it tells the watchdog that it lives" at_least runner.log '^WATCHDOG=1$' 2
"$ASSAY" data make waveform --rows 300 -o waveform.csv 2>/dev/null
printf 'dataset: waveform.csv\ntarget: class\nbudget: {trials: 2}\nspace: [{family: linear}]\n' >spec.yaml
ok "a study runs" "$ASSAY" submit spec.yaml --follow -o best.assay --server "unix:$WORK/door"
ok "no worker speaks to the supervisor" test "$(grep -cvE '^(pid|READY|WATCHDOG|STOPPING|RELOADING|ended)' runner.log)" -eq 0
kill "$held2"
ok "its stop is announced" at_least runner.log '^STOPPING=1' 1
kill "$held"

# A TCP socket is taken as well, with the same rule as for one of our own: beyond this machine only with TLS.
mkfifo stop3
sleep 1000 >stop3 &
held3=$!
PIDS="$PIDS $held3"
python3 supervise.py tcp.log tcp -- "$ASSAY" serve --data-dir data3 <stop3 >tcp.out 2>&1 &
PIDS="$PIDS $!"
ok "an inherited TCP socket is listened on" at_least tcp.log '^READY=1 STATUS=answering at http://127.0.0.1:' 1
ok "at the port that was given" grep -q "127.0.0.1:$(head -1 tcp.out) " tcp.out
ok "where a token is needed" test "$("$ASSAY" ls --server "http://127.0.0.1:$(head -1 tcp.out)" 2>&1 | grep -c token)" -ge 1
kill "$held3"

LISTEN_FDS=1 LISTEN_PID=$$ bash -c 'exec 3</dev/null; export LISTEN_PID=$$; exec "$@"' - "$ASSAY" serve --data-dir data4 --no-tcp >fd.out 2>&1
ok "a descriptor that is no socket is refused by its number" grep -q 'descriptor 3 of LISTEN_FDS is no listening stream socket' fd.out
finish
