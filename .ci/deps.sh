#!/bin/sh
# Installs the Debian packages that are missing, and asks apt only when some are. `deps.sh` = to build, test and
# run; `deps.sh dev` = also to lint, fuzz, measure coverage and drive the page in a browser; `deps.sh deb` = also to build
# Debian packages and to check them. `deps.sh slurm` and `deps.sh ansible` = only what the tests of pools and of the playbook
# start.
set -eu

want="gcc g++ make pkg-config libsqlite3-dev libevent-dev libjansson-dev libcurl4-openssl-dev libyaml-dev \
zlib1g-dev liblzma-dev libzstd-dev liblz4-dev libsnappy-dev libpng-dev libjpeg62-turbo-dev libssl-dev libcmocka-dev sqlite3 curl jq procps ca-certificates"
if [ "${1:-}" = dev ]; then
    want="$want clang clang-format clang-tidy llvm libclang-rt-14-dev lcov shellcheck git python3"
    want="$want mandoc zsh fish" # the manual pages and the completions are tried
    want="$want libfaketime" # the date jumps in tests/e2e/test_chaos
    command -v systemd-analyze >/dev/null 2>&1 || want="$want systemd"
    command -v chromium >/dev/null 2>&1 || want="$want chromium"
    python3 -c 'import ensurepip, venv' 2>/dev/null || want="$want python3-venv"
    command -v node >/dev/null 2>&1 || want="$want nodejs npm"
fi
[ "${1:-}" = deb ] && want="$want debhelper dpkg-dev fakeroot lintian debootstrap systemd-container procps git"
[ "${1:-}" = slurm ] && want="slurmctld slurmd slurm-client munge python3 jq curl"
[ "${1:-}" = ansible ] && want="openssh-server openssh-client python3 python3-venv python3-apt iproute2 systemd-container systemd-sysv dbus jq"

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "deps: not a Debian system; please see that these are there: $want"
    exit 0
fi
have=$(dpkg-query -W -f='${db:Status-Abbrev} ${binary:Package}\n' 2>/dev/null | sed -n 's/^ii  *//p' | sed 's/:.*//')
missing=
for p in $want; do
    printf '%s\n' "$have" | grep -qxF "$p" || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "deps: some packages are missing, and this is neither root nor is sudo here. Please run as root: apt-get install$missing" >&2
    exit 1
fi
echo "deps: installing$missing"
apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=900"
# shellcheck disable=SC2086 # lists of words
$apt install --no-install-recommends $missing >/dev/null 2>&1 || {
    $apt update
    $apt install --no-install-recommends $missing
}
