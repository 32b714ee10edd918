#!/bin/bash
# `make check-image`: where no container engine runs, the Dockerfile's own steps in two bare Debian systems: each RUN line
# in a chroot, each COPY by cp. What comes out must serve and find a model as the user that the Dockerfile names, without
# a writable root. As root; many minutes, because everything is compiled there; CCACHE=FOLDER lends it a compiler cache.
set -u
cd "$(dirname "$0")/../.." || exit 1
OUT=$PWD/build/deb
FILE=configs/kubernetes/Dockerfile
WORK=$(mktemp -d "${TMPDIR:-/tmp}/assay-image-XXXXXX")
mkdir -p "$OUT"
# shellcheck source=tests/packaging/bare.sh
. tests/packaging/bare.sh
cleanup() {
    # Never removes through a mount: the cache is another folder of this machine, on the same file system.
    for m in "$WORK"/*/proc "$WORK"/*/ccache; do
        mountpoint -q "$m" || continue
        umount -l "$m" || return
    done
    rm -rf --one-file-system "$WORK"
}
trap cleanup EXIT
skip() {
    echo "check-image: skipped, $1"
    echo "0 passed, 0 failed, 1 skipped"
    exit 77
}
fail() {
    echo "FAILED $1"
    tail -n 20 "$WORK/log" 2>/dev/null
    echo "$PASSED passed, 1 failed, 0 skipped"
    exit 1
}
PASSED=0
ok() {
    PASSED=$((PASSED + 1))
    echo "ok $1 ($((SECONDS - start)) s)"
}
[ "$(id -u)" = 0 ] || skip "this needs root (debootstrap, chroot)"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"

box='' user='' folder=/
while IFS= read -r line; do
    start=$SECONDS
    # shellcheck disable=SC2086 # the words of the line
    set -- $line
    case ${1:-} in
    FROM)
        box=$WORK/${4:-image} folder=/
        bare_system "$box" || skip "debootstrap failed: $(tail -1 "$OUT/debootstrap.log")"
        mount -t proc proc "$box/proc"
        if [ -n "${CCACHE:-}" ] && [ "${4:-}" = build ]; then
            mkdir -p "$box/ccache" && mount --bind "$CCACHE" "$box/ccache"
            chrooted "$box" apt-get -q -y install --no-install-recommends ccache >"$WORK/log" 2>&1 || fail "ccache"
        fi
        ;;
    ARG) export "${2?}" ;;
    WORKDIR)
        folder=$2
        mkdir -p "$box$folder"
        ;;
    COPY)
        case $2 in
        --from=*) cp -a "$WORK/${2#--from=}$3/." "$box$4" ;;
        *) git ls-files -z --cached --others --exclude-standard | xargs -0 tar -c --ignore-failed-read 2>/dev/null | tar -x -C "$box$folder" ;;
        esac || fail "$line"
        ;;
    RUN) chrooted "$box" CUDA="${CUDA:-0}" CCACHE_DIR=/ccache CCACHE_BASEDIR="$folder" CCACHE_NOHASHDIR=1 PATH=/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin sh -c "cd $folder && ${line#RUN }" >"$WORK/log" 2>&1 </dev/null || fail "$line" ;;
    USER) user=$2 ;;
    CMD | '#' | '') continue ;;
    *) fail "$1: this script does not know that step" ;;
    esac
    ok "${line:0:90}"
done <"$FILE"

# As Kubernetes would start it: this user, a root that cannot be written to, a folder for data.
start=$SECONDS
mkdir -p "$box/data" && chown "$user" "$box/data"
cat >"$box/try.sh" <<'TRY'
set -e
cd /data
touch /usr/written 2>/dev/null && { echo "the root can be written to" >&2; exit 1; }
export ASSAY_URL=unix:/data/assay/sock HOME=/data TMPDIR=/data
assayd --data-dir /data/assay --listen 127.0.0.1:0 --tls >served 2>log &
assayd=$!
while ! assay ls >/dev/null 2>&1; do kill -0 $assayd || { cat log; exit 1; }; sleep 0.2; done
assay-runner --controller $ASSAY_URL --devices cpu:1 --cache-dir /data/cache 2>runner.log &
runner=$!
assay data make waveform --rows 400 -o waveform.csv
printf 'dataset: waveform.csv\ntarget: class\nbudget: {trials: 3}\nspace: [{family: linear}]\n' >spec.yaml
assay submit spec.yaml --follow -o best.assay
assay predict best.assay waveform.csv -o p.csv
test "$(wc -l <p.csv)" -eq 401
grep -q 'key of the certificate: ' served
kill $runner && wait $runner
kill $assayd && wait $assayd
TRY
unshare -m sh -c "mount --bind '$box' '$box' && mount --bind '$box/data' '$box/data' && mount -o remount,ro,bind '$box' && mount --bind /dev '$box/dev' && mount -t proc proc '$box/proc' &&
    chroot '$box' setpriv --reuid=${user%:*} --regid=${user#*:} --clear-groups --no-new-privs --bounding-set=-all env -i PATH=/usr/bin:/bin sh /try.sh" >"$WORK/log" 2>&1 ||
    fail "it serves and finds a model as $user, with a root that cannot be written to"
ok "it serves and finds a model as $user, with a root that cannot be written to"
du -sh --exclude=proc "$box" | sed 's/\s.*/ is the size of the image/'
echo "$PASSED passed, 0 failed, 0 skipped"
