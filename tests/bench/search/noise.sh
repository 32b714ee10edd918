#!/bin/sh
# noise.sh - regret of samplers on generated functions with noise, failures and branches that mislead.
#   noise.sh [SEEDS] [SAMPLERS] [TABLE:NOISE...]
# By default 60 seeds of random, tpe and duo on all of them, about a minute of one core.
set -eu
assay=${ASSAY:-${B:-build/gcc}/assay}
seeds=${1:-60}
samplers=${2:-random,tpe,duo}
if [ $# -gt 2 ]; then
    shift 2
else
    set -- bumps:0.3 bumps:1 bumps:3 mixed:0.3 mixed:1 mixed:3 few:0.3 few:1 few:3 \
    bumps_fail50:0 bumps_fail90:0 mixed_fail50:0 mixed_fail90:0 bumps_chance90:0 lure:0 lure:0.3 lure3:0 lure3:0.3
fi
folder=build/search-functions
python3 "$(dirname "$0")/functions.py" "$folder"
for cell; do
    echo "== ${cell%%:*}, noise ${cell##*:}"
    "$assay" simulate --table "$folder/${cell%%:*}.table.json" --noise "${cell##*:}" \
        --sampler "$samplers" --scheduler none --seeds "$seeds" | sed '1,/^sampler /d'
done
