#!/bin/bash
# `make deb`: builds the Debian packages into build/deb, of this tree, or of a commit (build.sh COMMIT).
#
# Debian wants debian/ at the top of the sources, where this project has it in configs/: the sources are copied to
# build/deb/assay, and the package's changelog is written there. A version is 0.1.0~gitTIME.COMMIT, which sorts by the
# commit's time and before the release; with changes that are not committed, the time is now.
set -eu
cd "$(dirname "$0")/../.."
out=$PWD/build/deb
src=$out/assay
profile=
[ "${CUDA:-0}" = 0 ] || profile=pkg.assay.cuda

rm -rf "$src"
mkdir -p "$src"
if [ -n "${1:-}" ]; then
    git archive "$1" | tar -x -C "$src"
    commit=$1 time=$(git log -1 --format=%ct "$1")
else
    git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' f; do
        [ ! -e "$f" ] || printf '%s\0' "$f"
    done 2>/dev/null | tar -c --null -T - | tar -x -C "$src"
    commit=HEAD time=$(git log -1 --format=%ct)
    [ -z "$(git status --porcelain)" ] || time=$(date +%s)
fi
[ -f "$src/configs/debian/control" ] || { echo "deb: $commit has no configs/debian" >&2; exit 3; }
release=$(sed -n 's/^#define ASSAY_VERSION "\(.*\)"$/\1/p' "$src/cli/main.c")
version=$release~git$(date -u -d "@$time" +%Y%m%d%H%M%S).$(git rev-parse --short=8 "$commit")
cp -R "$src/configs/debian" "$src/debian"
cat >"$src/debian/changelog" <<LOG
assay ($version) unstable; urgency=medium

  * Built from the project's sources; see changelog.gz for what changed.

 -- The Assay authors <assay@example.org>  $(date -u -R -d "@$time")
LOG
(cd "$src" && SOURCE_DATE_EPOCH=$time DEB_BUILD_PROFILES=$profile dpkg-buildpackage -us -uc -b >"$out/build.log" 2>&1) || {
    tail -n 40 "$out/build.log" >&2
    echo "deb: failed; all of it is in build/deb/build.log" >&2
    exit 1
}
ls "$out"/*"$version"*.deb
