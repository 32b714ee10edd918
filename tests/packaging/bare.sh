#!/bin/bash
# bare.sh - a bare Debian of this machine's release in a folder, for the scripts beside it. Sourced, with OUT set.
# debootstrap runs once; what it made is kept in $OUT/bare.tar.

chrooted() { # folder command...
    local folder=$1
    shift
    chroot "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"
}

# Packages come from where this machine has its own.
bare_system() { # folder
    local site
    mkdir -p "$1"
    if [ -s "$OUT/bare.tar" ]; then
        tar -x -C "$1" -f "$OUT/bare.tar"
        return
    fi
    site=$(apt-get indextargets --format '$(SITE)' | grep -v security | head -1)
    debootstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$1" "${site:-}" >"$OUT/debootstrap.log" 2>&1 || return 1
    cp /etc/resolv.conf "$1/etc/"
    cp /etc/apt/apt.conf.d/* "$1/etc/apt/apt.conf.d/" 2>/dev/null
    rm -f "$1"/etc/apt/apt.conf.d/docker-* "$1"/etc/apt/apt.conf.d/*packagekit* "$1"/etc/apt/apt.conf.d/*appstream*
    [ ! -f /etc/apt/sources.list.d/debian.sources ] || { cp /etc/apt/sources.list.d/debian.sources "$1/etc/apt/sources.list.d/" && rm -f "$1/etc/apt/sources.list"; }
    chrooted "$1" apt-get -q update >>"$OUT/debootstrap.log" 2>&1 || return 1
    tar -c --one-file-system -C "$1" -f "$OUT/bare.tar.new" . && mv "$OUT/bare.tar.new" "$OUT/bare.tar"
}
