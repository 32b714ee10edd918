#!/bin/bash
# The example specs under configs/ are run as they stand (only their budgets are cut), and end with a model.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR" run
cp -R "$ROOT/configs" .
"$ASSAY" data make waveform --rows 400 -o run/waveform.csv 2>/dev/null
sed -i 's/time: 60s/time: 4s/' configs/studies/*.yaml
for spec in configs/studies/*.yaml; do
    ok "$spec runs" "$ASSAY" run "$spec" --dir data -o "$(basename "$spec").assay"
    ok "$spec leaves a model that predicts" "$ASSAY" predict "$(basename "$spec").assay" run/waveform.csv -o p.csv
done
for verb in preview run submit; do
    "$ASSAY" "$verb" run/waveform.csv 2>told && echo "$verb took a table" >>told
    ok "$verb of a table says that it is no spec" test "$(cat told)" = "assay: run/waveform.csv is no search spec: that has lines such as 'dataset: data.csv' and 'target: COLUMN'"
done
ok "one prediction per row" test "$(wc -l <p.csv)" -eq 401
start_service alone
for spec in configs/programs/*.yaml; do # they run in `make test-training`: what they import need not be here
    ok "$spec is taken, with its file" "$ASSAY" submit "$spec"
done
finish
