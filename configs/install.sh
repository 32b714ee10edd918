#!/bin/sh
# `make install` and `make uninstall`, from one list, so that what is installed can be removed.
#   install.sh install|uninstall
# In the environment: B (build folder), PREFIX, SYSCONFDIR, UNITDIR, LIBDIR (absolute), DESTDIR, CUDA_SO ("" = none).
# Files under SYSCONFDIR that are there already are kept, and uninstall leaves them, like all data.
set -eu
cd "$(dirname "$0")/.."
verb=$1
BINDIR=$PREFIX/bin
SHARE=$PREFIX/share
# Debian's zsh looks for packaged functions elsewhere than for those of /usr/local.
zsh=$SHARE/zsh/site-functions
[ "$PREFIX" != /usr ] || zsh=$SHARE/zsh/vendor-completions

# Removes empty folders above a path, up to DESTDIR/PREFIX.
prune() {
    folder=$(dirname "$1")
    while [ "$folder" != "$DESTDIR$PREFIX" ] && [ "$folder" != "${DESTDIR:-/}" ] && rmdir "$folder" 2>/dev/null; do
        folder=$(dirname "$folder")
    done
}

put() { # mode source target
    to=$DESTDIR$3
    case $verb in
    install) install -D -m "$1" "$2" "$to" ;;
    *) rm -f "$to" && prune "$to" ;;
    esac
}

link() { # text target
    to=$DESTDIR$2
    case $verb in
    install) mkdir -p "$(dirname "$to")" && ln -sfn "$1" "$to" ;;
    *) rm -f "$to" && prune "$to" ;;
    esac
}

filled() { # source target: paths are filled in
    made=$B/manual/$(basename "$1")
    [ "$verb" != install ] || sed -e "s|@BINDIR@|$BINDIR|g; s|@SYSCONFDIR@|$SYSCONFDIR|g; s|@LIBDIR@|$LIBDIR|g" "$1" >"$made"
    put 644 "$made" "$2"
}

put 755 "$B/assay" "$BINDIR/assay"
link assay "$BINDIR/assayd"
link assay "$BINDIR/assay-runner"
[ -z "$CUDA_SO" ] || put 755 "$CUDA_SO" "$LIBDIR/assay/libassay-cuda.so"
[ "$verb" = install ] || put 755 - "$LIBDIR/assay/libassay-cuda.so"

for page in assay.1 assayd.8 assay-runner.8 assay-spec.5; do
    put 644 "$B/manual/$page" "$SHARE/man/man${page##*.}/$page"
done
put 644 "$B/manual/assay.bash" "$SHARE/bash-completion/completions/assay"
link assay "$SHARE/bash-completion/completions/assayd"
link assay "$SHARE/bash-completion/completions/assay-runner"
put 644 "$B/manual/_assay" "$zsh/_assay"
put 644 "$B/manual/assay.fish" "$SHARE/fish/vendor_completions.d/assay.fish"
link assay.fish "$SHARE/fish/vendor_completions.d/assayd.fish"
link assay.fish "$SHARE/fish/vendor_completions.d/assay-runner.fish"

for unit in assayd.socket assayd.service assay-runner.service; do
    filled configs/systemd/$unit "$UNITDIR/$unit"
done
put 644 configs/systemd/sysusers.conf "$PREFIX/lib/sysusers.d/assay.conf"
put 644 configs/systemd/tmpfiles.conf "$PREFIX/lib/tmpfiles.d/assay.conf"
put 755 configs/systemd/local-token.sh "$LIBDIR/assay/local-token"
for conf in assayd.yaml assay-runner.yaml; do
    [ "$verb" != install ] || [ -e "$DESTDIR$SYSCONFDIR/assay/$conf" ] ||
        put 644 configs/etc/$conf "$SYSCONFDIR/assay/$conf"
done

for doc in README.md LICENSE NOTICE docs/API.md docs/CHANGES.md docs/DEBUG.md docs/INSTALL.md docs/SECURITY.md \
    docs/SIMULATE.md docs/SPEC.md docs/leaderboard.png; do
    put 644 $doc "$SHARE/doc/assay/${doc#docs/}"
done
find configs/ansible configs/clients configs/grafana configs/kubernetes configs/prometheus configs/studies -type f | sort | while read -r file; do
    put 644 "$file" "$SHARE/doc/assay/examples/${file#configs/}"
done
[ "$verb" = install ] || echo "uninstalled; $SYSCONFDIR/assay and the data folders are left"
