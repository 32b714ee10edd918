# hostile.sh - what the scripts with hostile tables share: a command that must be refused, within bounds.
# shellcheck shell=bash
# Sourced after lib.sh, with TMPDIR set to a folder of its own before the first case.

# Runs a command within 200 s and prints its exit status and the most memory that any process of it took, in MB.
bounded() {
    python3 - "$@" <<'PY'
import resource, subprocess, sys
try:
    rc = subprocess.run(sys.argv[1:], stdout=open("o", "wb"), stderr=open("e", "wb"), timeout=200).returncode
except subprocess.TimeoutExpired:
    rc = "timeout"
print(rc, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
PY
}
refuses() { # text most-MB command...: one clear message, nothing written, nothing left of temporary files
    local text=$1 most=$2 rc mb
    shift 2
    read -r rc mb < <(bounded "$@")
    head -c 600 e
    [ "$rc" = 1 ] || { echo "exit $rc, not 1"; return 1; }
    grep -qE -- "$text" e || { echo "no \"$text\""; return 1; }
    [ "$(grep -c . e)" -le 3 ] || { echo "more than three lines"; return 1; }
    [ "$mb" -le $((most + MORE)) ] || { echo "$mb MB, not $most at most"; return 1; }
    [ ! -e h.assay ] && [ ! -e h.out ] || { echo "a file was written"; return 1; }
    [ -z "$(ls "$TMPDIR")" ] || { echo "left in TMPDIR: $(ls "$TMPDIR")"; return 1; }
}
both() { # text file [most-MB]: fit and predict
    ok "fit $2" refuses "$1" "${3:-100}" "$ASSAY" fit "$2" --target y --trials 1 -o h.assay
    ok "predict $2" refuses "$1" "${3:-100}" "$ASSAY" predict good/m.assay "$2" -o h.out
}
# A sanitizer takes memory of its own.
case $B in *address* | *thread*) MORE=4000 ;; *) MORE=0 ;; esac
fits() { ok "fit $2" refuses "$1" "${3:-100}" "$ASSAY" fit "$2" --target y --trials 1 -o h.assay; }
