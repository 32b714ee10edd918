#!/bin/bash
# `make check-deb`: the Debian packages, proved in a bare Debian of their own. As root; minutes.
#
# Builds the package of this tree and of the commit before (OLD=FILE and NEW=FILE: takes these instead), runs lintian,
# makes a bare system with debootstrap (once; kept in build/deb), boots it with systemd in a container without a
# network, and does there what a user does: install, search, upgrade under a running study, downgrade, remove, purge.
# Where nothing can be made or booted, that is said, and the exit code is 77.
set -u
cd "$(dirname "$0")/../.." || exit 1
ROOT=$PWD
OUT=$ROOT/build/deb
PASSED=0 FAILED=0 SKIPPED=0
WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-deb-XXXXXX")
BOX=$WORK/box
NSPAWN=
mkdir -p "$OUT"

cleanup() {
    [ -z "$NSPAWN" ] || { stop_box; }
    rm -rf --one-file-system "$WORK"
}
trap cleanup EXIT
skip_all() {
    echo "check-deb: skipped, $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}
ok() { # name command...
    local name=$1
    shift
    if "$@" >"$WORK/out" 2>&1; then
        PASSED=$((PASSED + 1))
        echo "ok $name"
    else
        FAILED=$((FAILED + 1))
        echo "FAILED $name: $*"
        tail -n 15 "$WORK/out"
    fi
}

[ "$(id -u)" = 0 ] || skip_all "this needs root (debootstrap, a container)"
for tool in debootstrap lintian systemd-nspawn nsenter dpkg-buildpackage; do
    command -v $tool >/dev/null || skip_all "$tool is not installed"
done

# ---- packages ----
if [ -z "${NEW:-}" ]; then
    NEW=$(CUDA=${CUDA:-0} configs/debian/build.sh | grep '/assay_') || exit 1
fi
if [ -z "${OLD:-}" ]; then
    OLD=$(CUDA=0 configs/debian/build.sh HEAD~1 2>"$WORK/old" | grep '/assay_')
fi
echo "new: $(basename "$NEW")"
echo "old: $(basename "${OLD:-none: $(cat "$WORK/old")}")"
ok "lintian finds nothing in the package" lintian --fail-on error,warning --allow-root "$NEW"
ok "lintian is silent" test -z "$(lintian --allow-root "$NEW" 2>/dev/null)"
cuda=${NEW/\/assay_/\/assay-cuda_}
if [ -f "$cuda" ]; then
    ok "lintian finds nothing in assay-cuda" test -z "$(lintian --allow-root "$cuda" 2>&1)"
else
    SKIPPED=$((SKIPPED + 1))
    echo "skipped assay-cuda: it was not built (CUDA=1 builds it where nvcc is)"
fi

# ---- a bare system, with what the package depends on ----
# shellcheck source=tests/packaging/bare.sh
. tests/packaging/bare.sh
BASE=$OUT/base-$(dpkg-deb -f "$NEW" Depends | cksum | cut -d' ' -f1).tar
if [ ! -s "$BASE" ]; then
    bare_system "$BOX" || skip_all "debootstrap failed: $(tail -1 "$OUT/debootstrap.log")"
    : >"$WORK/apt"
    chrooted "$BOX" apt-get -q -y install --no-install-recommends systemd-sysv dbus >>"$WORK/apt" 2>&1 &&
        chrooted "$BOX" apt-get -q -y satisfy --no-install-recommends "$(dpkg-deb -f "$NEW" Depends)" >>"$WORK/apt" 2>&1 ||
        skip_all "no packages can be installed there: $(tail -1 "$WORK/apt")"
    tar -c --one-file-system -C "$BOX" -f "$BASE.new" . && mv "$BASE.new" "$BASE"
else
    mkdir -p "$BOX" && tar -x -C "$BOX" -f "$BASE"
fi
cp "$NEW" "$BOX/root/new.deb"
[ -z "${OLD:-}" ] || cp "$OLD" "$BOX/root/old.deb"
# The same package, made to know no format of a database, stands for one that is too old.
dpkg-deb -R "$NEW" "$WORK/ancient"
sed -i 's/^knows=.*/knows=0/' "$WORK/ancient/DEBIAN/preinst"
sed -i 's/^Version: .*/Version: 0.0.1/' "$WORK/ancient/DEBIAN/control"
dpkg-deb --root-owner-group -b "$WORK/ancient" "$BOX/root/ancient.deb" >/dev/null

# ---- booted ----
stop_box() {
    [ -z "${LEADER:-}" ] || nsenter -t "$LEADER" -a poweroff >/dev/null 2>&1
    for _ in $(seq 100); do kill -0 "$NSPAWN" 2>/dev/null || break; sleep 0.1; done
    kill "$NSPAWN" 2>/dev/null
    wait "$NSPAWN" 2>/dev/null
    NSPAWN=
}
in_box() { nsenter -t "$LEADER" -a env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
as() { # user groups command...
    local user=$1 groups=$2
    shift 2
    in_box setpriv --reuid="$user" --regid=nogroup --groups="$groups" "$@"
}
refused() { ! "$@"; }
prints() { # pattern command...
    local pattern=$1
    shift
    "$@" 2>&1 | tee "$WORK/printed" | grep -qE -- "$pattern" || { cat "$WORK/printed"; return 1; }
}
within() { # seconds command...: until it succeeds
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || { "$@"; return 1; }
        sleep 0.2
    done
}
quiet_files() { # all that the system has, without what every installation changes
    in_box find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /run -o -path /tmp -o -path /var/tmp -o -path /root \
        -o -path /var/log -o -path /var/cache -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/lib/systemd/catalog \
        -o -path /var/lib/private \) -prune -o -print | grep -vE '^/etc/(passwd|group|shadow|gshadow|subuid|subgid)-$|/\.(pwd|updated)|^/var/lib/systemd/(random-seed|timers|coredump|linger|pstore)' | sort
}
systemd-nspawn -q -D "$BOX" --register=no --keep-unit --private-network --boot >"$WORK/console" 2>&1 &
NSPAWN=$!
for _ in $(seq 300); do
    LEADER=$(pgrep -P "$NSPAWN" | head -1)
    [ -n "$LEADER" ] && in_box systemctl is-active multi-user.target >/dev/null 2>&1 && break
    kill -0 "$NSPAWN" 2>/dev/null || break
    sleep 0.2
done
if ! in_box systemctl is-active multi-user.target >/dev/null 2>&1; then
    skip_all "no container boots here: $(tail -1 "$WORK/console")"
fi
quiet_files >"$WORK/before"

main_pid() { in_box systemctl show -p MainPID --value "$1"; }
version() { in_box dpkg-query -W -f '${Version}' assay; }
first=${OLD:+old}
first=${first:-new}
ok "the package installs" in_box apt-get -q -y install "/root/$first.deb"
ok "the controller is ready" within 20 in_box systemctl is-active assayd.service
ok "the runner is ready" within 30 in_box systemctl is-active assay-runner.service
ok "all are started at boot" in_box systemctl is-enabled assayd.service assayd.socket assay-runner.service
ok "nothing has failed" test -z "$(in_box systemctl --failed --no-legend --plain)"
ok "the command finds the service, and there is this machine's runner" within 20 prints '"state"' in_box assay runner ls --json
ok "assayd runs as its own user" prints '^assay$' in_box stat -c %U "/proc/$(main_pid assayd.service)"
ok "a stranger may not use the socket" refused as nobody nogroup assay ls
ok "a member of the group assay may" as nobody assay assay ls
ok "the runner's user cannot read the database" refused as assay-runner assay-runner cat /var/lib/assay/assay.db
ok "its token has mode 0600" prints '^600 assay-runner$' in_box stat -c '%a %U' /var/lib/assay-runner/token
ok "the page's port wants a token" prints 'needs a token' in_box assay ls --server http://127.0.0.1:7878
ok "and takes the administrator's" in_box assay ls --server http://127.0.0.1:7878 --token-file /var/lib/assay/admin-token
in_box sh -c 'cd /root && assay data make waveform --rows 400 -o waveform.csv 2>/dev/null
printf "name: first\ndataset: waveform.csv\ntarget: class\nbudget: {trials: 4}\nspace: [{family: linear}, {family: boost}]\n" >first.yaml
printf "name: long\ndataset: waveform.csv\ntarget: class\nbudget: {trials: 60}\nspace: [{family: boost}]\n" >long.yaml'
ok "a study finds a model" in_box sh -c 'cd /root && assay submit first.yaml --follow -o best.assay'
ok "which predicts" in_box sh -c 'cd /root && assay predict best.assay waveform.csv -o p.csv && test $(wc -l <p.csv) -eq 401'
ok "the journal has the log" prints 'assayd.started' in_box journalctl -u assayd --no-pager

# A controller whose loop stands still is killed and started again.
in_box sh -c 'mkdir -p /run/systemd/system/assayd.service.d && printf "[Service]\nWatchdogSec=2\n" >/run/systemd/system/assayd.service.d/test.conf && systemctl daemon-reload && systemctl restart assayd'
was=$(main_pid assayd.service)
in_box sh -c "kill -STOP $was"
restarted() { [ "$(main_pid assayd.service)" != "$was" ] && [ "$(main_pid assayd.service)" != 0 ] && in_box systemctl is-active assayd.service; }
ok "the watchdog replaces a controller that stands still" within 60 restarted
in_box sh -c 'rm -r /run/systemd/system/assayd.service.d && systemctl daemon-reload && systemctl restart assayd'

if [ -n "${OLD:-}" ]; then
    in_box sh -c 'cd /root && assay submit long.yaml' >/dev/null 2>&1
    # Somebody asks all the time.
    (
        while [ ! -e "$WORK/enough" ]; do in_box assay show first >/dev/null 2>>"$WORK/refused" || echo refused >>"$WORK/refused"; done
    ) &
    asks=$!
    ok "the upgrade installs under a running study" in_box apt-get -q -y -o Dpkg::Options::=--force-confold install /root/new.deb
    touch "$WORK/enough"
    wait $asks
    ok "it is the new version" test "$(version)" = "$(dpkg-deb -f "$NEW" Version)"
    ok "no command was refused meanwhile" test ! -s "$WORK/refused"
    ok "the controller is ready again" within 20 in_box systemctl is-active assayd.service
    ok "the runner is ready again" within 40 in_box systemctl is-active assay-runner.service
    ok "the first study is there, with its model" in_box sh -c 'cd /root && assay export first -o again.assay && cmp again.assay best.assay'
    ok "the study that was running ends with all its trials" within 300 prints '^state +completed' in_box assay show long
    ok "none of its trials failed" test -z "$(in_box assay trials long --state failed --json | grep '"id"')"
else
    SKIPPED=$((SKIPPED + 1))
    echo "skipped upgrade: the commit before has no package"
fi
ok "systemd-analyze verify is silent" test -z "$(in_box systemd-analyze verify --man=no assayd.socket assayd.service assay-runner.service 2>&1)"
ok "a reload works" in_box systemctl reload assayd
ok "a downgrade that could not open the database is refused" refused in_box dpkg -i /root/ancient.deb
in_box dpkg -i /root/ancient.deb >"$WORK/down" 2>&1
ok "with a sentence" grep -q 'assay: /var/lib/assay/assay.db was written by a newer version (format [0-9]*, this one knows 0)' "$WORK/down"
ok "and nothing was replaced" test "$(version)" = "$(dpkg-deb -f "$NEW" Version)"
ok "the service goes on" in_box assay show first

ok "removing stops the services" in_box apt-get -q -y remove assay
ok "they are gone" refused in_box systemctl is-active assayd.service assayd.socket assay-runner.service
ok "the data are not" in_box test -s /var/lib/assay/assay.db
ok "installing again finds the studies" in_box sh -c 'apt-get -q -y install /root/new.deb && assay show first'
ok "purging works" in_box apt-get -q -y purge assay
quiet_files >"$WORK/after"
ok "and leaves no file" diff "$WORK/before" "$WORK/after"
ok "no user and no group" refused grep -hE '^assay' "$BOX/etc/passwd" "$BOX/etc/group" "$BOX/etc/shadow"
ok "and no cache" test ! -e "$BOX/var/cache/assay-runner"
stop_box
echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
[ "$FAILED" -eq 0 ]
