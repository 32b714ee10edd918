#!/bin/bash
# `make check-ansible`: the playbook of configs/ansible, run for real. As root; minutes.
#
# Six machines are played here: one network namespace for each, all on one bridge in a further one, and in five of them a
# container that systemd boots: this machine's own files below an overlay, so that nothing of this machine changes. Ansible
# reaches them over SSH. It installs the package (NEW=FILE takes one that is there), a second run must change nothing, and
# under a running study a newer package is a rolling upgrade. Where nothing can be booted, that is said; the exit code is 77.
set -u
cd "$(dirname "$0")/../.." || exit 1
ROOT=$PWD
PASSED=0 FAILED=0
WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-ansible-XXXXXX")
ID=as$$
HOSTS="head node1 node2 node3 node4"
BIN=$ROOT/build/ansible/bin
export PATH=$BIN:$PATH ANSIBLE_PIPELINING=true ANSIBLE_HOST_KEY_CHECKING=false ANSIBLE_NOCOLOR=1 ANSIBLE_FORKS=5 ANSIBLE_LOCAL_TEMP=$WORK/ansible

cleanup() {
    local h
    for h in $HOSTS; do
        [ ! -s "$WORK/$h.pid" ] || kill -9 "$(cat "$WORK/$h.pid")" 2>/dev/null
    done
    sleep 1
    for h in $HOSTS; do
        [ ! -d "$WORK/hosts/$h/root" ] || umount -R -l "$WORK/hosts/$h/root" 2>/dev/null
        ip netns del "$ID-$h" 2>/dev/null
    done
    ip netns del "$ID-hub" 2>/dev/null
    umount -l "$WORK/hosts" 2>/dev/null
    rm -rf --one-file-system "$WORK"
}
trap cleanup EXIT
skip_all() {
    echo "check-ansible: skipped, $1"
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
        tail -n 25 "$WORK/out"
    fi
}
within() { # seconds command...
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.5
    done
}

[ "$(id -u)" = 0 ] || skip_all "this needs root (containers, networks)"
for tool in systemd-nspawn nsenter ip ssh-keygen /usr/sbin/sshd jq dpkg-deb; do
    command -v $tool >/dev/null || skip_all "$tool is not installed: make ansible-peers"
done
[ -x "$BIN/ansible-playbook" ] || skip_all "ansible is not installed: make ansible-peers"
for file in /lib/systemd/systemd /usr/lib/python3/dist-packages/apt; do
    [ -e $file ] || skip_all "$file is missing: make ansible-peers"
done

cd configs/ansible || exit 1
ok "ansible-lint is silent" sh -c "ansible-lint --offline --profile production site.yaml remove.yaml roles 2>&1 | tee '$WORK/lint' | grep -q '0 failure(s), 0 warning(s) in'"
ok "it looked at the files" grep -qE 'in (1[0-9]|[2-9][0-9]) files' "$WORK/lint"
ok "the example of an inventory can be read" ansible-inventory -i inventory.example.yaml --list

if [ -z "${NEW:-}" ]; then
    NEW=$(cd "$ROOT" && CUDA=0 configs/debian/build.sh | grep '/assay_') || exit 1
fi
# The same package under a newer version stands for the next release.
dpkg-deb -R "$NEW" "$WORK/next"
sed -i 's/^\(Version: .*\)/\1+next/' "$WORK/next/DEBIAN/control"
dpkg-deb --root-owner-group -b "$WORK/next" "$WORK/next.deb" >/dev/null
version=$(dpkg-deb -f "$NEW" Version)

# ---- machines ----

ssh-keygen -q -t ed25519 -N '' -f "$WORK/key"
mkdir -p "$WORK/hosts"
mount -t tmpfs -o size=3g tmpfs "$WORK/hosts" || skip_all "nothing can be mounted here"
ip netns add "$ID-hub" || skip_all "there are no network namespaces here"
hub() { ip netns exec "$ID-hub" "$@"; }
hub ip link add br0 type bridge
hub ip addr add 10.77.0.1/24 dev br0
hub ip link set br0 up
hub ip link set lo up

in_host() { # host command...
    local leader
    leader=$(pgrep -P "$(cat "$WORK/$1.pid")" | head -1)
    shift
    nsenter -t "$leader" -a env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 "$@"
}

host_up() { # name number
    local dir=$WORK/hosts/$1 root=$WORK/hosts/$1/root wants
    mkdir -p "$dir/upper" "$dir/work" "$root"
    mount -t overlay overlay -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$root" || return 1
    wants=$root/etc/systemd/system
    rm -f "$wants"/multi-user.target.wants/* "$wants"/timers.target.wants/* "$wants"/sysinit.target.wants/* \
        "$root/usr/sbin/policy-rc.d"
    ln -s /lib/systemd/system/ssh.service "$wants/multi-user.target.wants/ssh.service"
    echo "$1" >"$root/etc/hostname"
    { echo "127.0.0.1 localhost" && echo "10.77.0.10 head"; } >"$root/etc/hosts"
    mkdir -p "$root/root/.ssh"
    chmod 700 "$root/root/.ssh"
    cp "$WORK/key.pub" "$root/root/.ssh/authorized_keys"
    printf 'PermitRootLogin yes\nStrictModes no\n' >"$root/etc/ssh/sshd_config.d/test.conf"
    ip netns add "$ID-$1"
    ip -n "$ID-hub" link add "v$2" type veth peer name eth0 netns "$ID-$1"
    ip -n "$ID-hub" link set "v$2" master br0 up
    ip -n "$ID-$1" addr add "10.77.0.$2/24" dev eth0
    ip -n "$ID-$1" link set eth0 up
    ip -n "$ID-$1" link set lo up
    systemd-nspawn -q -D "$root" --register=no --keep-unit "--network-namespace-path=/run/netns/$ID-$1" --boot \
        systemd.unit=multi-user.target >"$WORK/$1.console" 2>&1 &
    echo $! >"$WORK/$1.pid"
}

n=10
for h in $HOSTS; do
    host_up "$h" $n || skip_all "no overlay can be mounted here"
    n=$((n + 1))
done
{
    echo "all: {vars: {ansible_user: root, ansible_ssh_private_key_file: $WORK/key, ansible_python_interpreter: /usr/bin/python3,"
    echo "  assay_controller_address: head, assay_runner_options: {devices: 'cpu:1', log_level: info}}, children: {"
    echo "  assay_controller: {hosts: {head: {ansible_host: 10.77.0.10}}},"
    echo "  assay_runners: {hosts: {node1: {ansible_host: 10.77.0.11}, node2: {ansible_host: 10.77.0.12},"
    echo "    node3: {ansible_host: 10.77.0.13}, node4: {ansible_host: 10.77.0.14}}}}}"
} >"$WORK/inventory.yaml"
for h in $HOSTS; do
    within 120 in_host "$h" systemctl is-active ssh.service || skip_all "no container boots here: $(tail -1 "$WORK/$h.console")"
done
echo "five machines are up after $SECONDS s"
play() { hub env HOME="$WORK" timeout 900 ansible-playbook -i "$WORK/inventory.yaml" "$@"; }
assay_head() { in_host head assay "$@"; }
changes_nothing() { ! grep -E ' (changed|unreachable|failed)=[1-9]' "$1" && [ "$(grep -c 'ok=[1-9]' "$1")" = 5 ]; }
alive() { [ "$(assay_head runner ls --json | jq '[.runners[] | select(.alive)] | length')" -ge "$1" ]; }

# ---- install, and again ----

ok "the playbook installs a controller and four runners" play site.yaml -e "assay_package_deb=$NEW"
cp "$WORK/out" "$WORK/first"
ok "four runners are there" within 30 alive 4
for h in node1 node4; do
    ok "only a runner runs on $h" test "$(in_host $h systemctl is-active assayd.service assayd.socket assay-runner.service | paste -sd' ')" = "inactive inactive active"
done
ok "the token belongs to the runner alone" test "$(in_host node1 stat -c '%a %U' /var/lib/assay-runner/token)" = "600 assay-runner"
ok "and the runner speaks TLS to a key that it knows" in_host node1 grep -qE '^tls_pin: sha256//.{43}=$' /etc/assay/assay-runner.yaml
ok "a second run succeeds" play site.yaml -e "assay_package_deb=$NEW"
cp "$WORK/out" "$WORK/second"
ok "and changes nothing" changes_nothing "$WORK/second"

# ---- a rolling upgrade under a running study ----

in_host head sh -c 'cd /root && assay data make waveform --rows 400 -o waveform.csv 2>/dev/null
printf "name: long\ndataset: waveform.csv\ntarget: class\nbudget: {trials: 80}\nseed: 3\nspace: [{family: boost, rounds: 300}]\n" >long.yaml
assay submit long.yaml' >/dev/null 2>&1
running() { [ "$(assay_head ls --json | jq '.studies[0].trials.completed')" -ge 1 ]; }
ok "a study runs" within 60 running
ok "the newer package is rolled out" play site.yaml -e "assay_package_deb=$WORK/next.deb"
echo "while it was, $(assay_head ls --json | jq -c '.studies[0] | [.state, .trials]')"
for h in head node2; do
    ok "$h has it" test "$(in_host $h dpkg-query -W -f "\${Version}" assay)" = "$version+next"
done
ends() { [ "$(assay_head ls --json | jq -r '.studies[0].state')" = completed ]; }
ok "the study completes" within 300 ends
ok "no trial was lost" sh -c "test \"$(assay_head ls --json | jq -c '.studies[0].trials | [.failed, .cancelled, .completed + .pruned]')\" = '[0,0,80]'"
ok "four runners are there again" within 30 alive 4
play site.yaml -e "assay_package_deb=$WORK/next.deb" >"$WORK/third" 2>&1
ok "a run after an upgrade changes nothing" changes_nothing "$WORK/third"

# ---- removal ----

ok "the playbook removes all" play remove.yaml -e assay_purge=true
ok "nothing is left on a runner" sh -c "! ls -d '$WORK/hosts/node1/root'/var/lib/assay* '$WORK/hosts/node1/root'/etc/assay '$WORK/hosts/node1/root'/usr/bin/assay 2>/dev/null"
echo "$PASSED passed, $FAILED failed, 0 skipped"
[ "$FAILED" -eq 0 ]
