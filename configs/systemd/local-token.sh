#!/bin/sh
# Gives the runner of this machine a token of the controller of this machine, once. Run as root by
# assay-runner.service. For a controller on another machine, `assay token add NAME runner` there
# prints a token; it belongs into the file that is named here.
set -eu
file=${1:-/var/lib/assay-runner/token}
socket=${2:-/run/assay/sock}
[ ! -s "$file" ] || exit 0
if [ ! -S "$socket" ]; then
    echo "no token in $file, and no controller on this machine: write a token there" \
        "('assay token add NAME runner' prints one, where the controller is)" >&2
    exit 1
fi
umask 077
token=$("${ASSAY:-assay}" token add "$(uname -n | tr -c 'A-Za-z0-9._\n-' -)" runner \
    --server "unix:$socket" --json | sed -n 's/^.*"token": *"\([^"]*\)".*$/\1/p')
[ -n "$token" ] || { echo "the controller made no token" >&2; exit 1; }
printf '%s\n' "$token" >"$file.new"
[ "$(id -u)" != 0 ] || chown assay-runner:assay-runner "$file.new"
mv "$file.new" "$file"
