#!/bin/sh
# report.sh - what a machine with a GPU is asked for, as one report: when, where, on what, then one part after another, each
# within a limit of time and whatever became of those before. `make gpu-check` and `make gpu-bench` call it; both together
# fit ten minutes. Exits 1 when a part failed or ran out of its time.
#   ml/cuda/report.sh check|bench BUILD_FOLDER
set -u
what=$1
build=$2
bad=0
parts=0
PATH=$PATH:/usr/local/cuda/bin
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# part NAME SECONDS COMMAND...
part() {
    name=$1
    limit=$2
    shift 2
    from=$(date +%s)
    parts=$((parts + 1))
    echo "== $name"
    timeout -k 5 "$limit" "$@" >"$log" 2>&1
    rc=$?
    tail -n 200 "$log"
    case $rc in
    0) verdict=ok ;;
    124 | 137) verdict="OUT OF TIME, $limit s" bad=$((bad + 1)) ;;
    *) verdict="FAILED with $rc" bad=$((bad + 1)) ;;
    esac
    if grep -q 'Device not supported' "$log"; then # a sanitizer that this kind of machine does not let in
        bad=$((bad - (rc != 0)))
        verdict='not possible here'
    fi
    echo "== $name: $verdict, $(($(date +%s) - from)) s"
}

heading() {
    echo "gpu-$what: $(date -u '+%Y-%m-%d %H:%M') UTC, $(uname -sm), $(nproc) cores, $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)"
    command -v git >/dev/null && git log -1 --format='commit %h of %cs' 2>/dev/null
    nvcc --version 2>/dev/null | sed -n 's/^Cuda compilation tools, /nvcc /p'
    nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.sm,clocks.max.sm,power.limit --format=csv 2>/dev/null
}

heading
devices=$("$build/ml/cuda/check_models" count) || devices=0
if [ "$what" = check ]; then
    part operations 60 "$build/ml/cuda/check_ops"
    part networks 30 "$build/ml/cuda/check_nets" check
    part models 100 "$build/ml/cuda/check_models" check
    if [ "$devices" -gt 0 ] 2>/dev/null && command -v compute-sanitizer >/dev/null; then
        for tool in memcheck racecheck synccheck initcheck; do
            part "$tool" 45 compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 20 "$build/ml/cuda/check_models" few
        done
    fi
elif [ "$devices" -gt 0 ] 2>/dev/null; then
    part networks 60 "$build/ml/cuda/check_nets" bench
    part "kernels of networks" 60 env ASSAY_CUDA_TRACE=1 "$build/ml/cuda/check_nets" bench
    part lanes 60 "$build/ml/cuda/check_models" lanes
    part kernels 60 env ASSAY_CUDA_TRACE=1 "$build/ml/cuda/check_models" trace
    part models 150 "$build/ml/cuda/check_models" bench
else
    echo "no CUDA device here: nothing to time"
fi
echo "gpu-$what: $parts parts, $bad failed"
[ "$bad" -eq 0 ]
