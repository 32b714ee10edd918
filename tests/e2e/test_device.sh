#!/bin/bash
# Trials on a GPU's worker, from the command line to the model file, on an emulated device (tests/cuda): the runner finds it,
# boosting trains there, what has no form for it trains all the same, and the model file is the CPU's bit for bit.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
emulated=$(dirname "$ASSAY")/libassay-cuda-emulated.so
[ -e "$emulated" ] || { echo "no $emulated (sanitizer builds have none)"; exit 77; }
export TMPDIR=$WORK/tmp ASSAY_KEEP_TEMP=1 ASSAY_LOG_LEVEL=debug
mkdir -p "$TMPDIR"

"$ASSAY" data make twonorm --rows 400 --seed 3 -o train.csv --test-output test.csv --test-rows 100 2>/dev/null
cat >spec.yaml <<'END'
name: device
dataset: train.csv
target: class
metric: logloss
validation: {kind: kfold, folds: 2}
budget: {trials: 5}
scheduler: none
seed: 5
space:
  - {family: linear}
  - {family: forest, trees: 4}
  - {family: boost, rounds: 6, leaves: {int_log: [4, 8]}, row_sample: [0.6, 1]}
END

run() { # device arguments...
    local device=$1
    shift
    rm -rf "data-$device"
    env "$@" "$ASSAY" run spec.yaml --dir "data-$device" --device "$device" -o "$device.assay" >"$device.txt" 2>&1
}

ok "a search on the CPU" run cpu
ok "the same search on the device" run cuda ASSAY_CUDA="$emulated"
ok "the runner names what it found" grep -rqs 'gpu.found name="emulation".*used=yes' "$TMPDIR"
ok "boosting trained on it" grep -Eqrs 'boost.device lanes=[2-9]' "$TMPDIR"
ok "boosting was tried" grep -q '  boost ' cuda.txt
ok "and so were forests" grep -q '  forest ' cuda.txt
ok "and so was what has no form for a GPU" grep -q '  linear ' cuda.txt
ok "the model files are equal bit for bit" cmp cpu.assay cuda.assay
sed -i -e '/family: linear/d' -e '/family: forest/d' -e 's/trials: 5/trials: 6/' spec.yaml
ok "boosting alone on the CPU" run cpu
ok "boosting alone on the device" run cuda ASSAY_CUDA="$emulated"
ok "several trials trained in the same launches" grep -Eqrs 'boost.device lanes=([4-9]|1[0-9])' "$TMPDIR"
ok "their model file is the CPU's, too" cmp cpu.assay cuda.assay
ok "with all devices, too" run auto ASSAY_CUDA="$emulated"
ok "and their model file" cmp cpu.assay auto.assay
sed -i -e '/family: boost/d' -e 's/trials: 6/trials: 4/' spec.yaml
cat >>spec.yaml <<'END'
  - {family: mlp, embedding: none, members: 1, layers: 2, width: {int_log: [8, 40]}, batch: 64, epochs: 4, dropout: [0, 0.4], learning_rate: [0.01, 0.1]}
END
ok "networks on the CPU" run cpu
ok "networks on the device" run cuda ASSAY_CUDA="$emulated"
ok "networks of several trials trained in the same launches" grep -Eqrs 'net.device lanes=([4-9]|1[0-9])' "$TMPDIR"
ok "their model file is the CPU's" cmp cpu.assay cuda.assay
run cuda ASSAY_CUDA=/nonexistent.so
ok "no GPU is one clear line where one is asked for" diff cuda.txt - <<<"assay: devices: cuda: this machine has no GPU that can be used"
ok "an unknown device is refused" grep -q 'not auto, cpu or cuda' <("$ASSAY" fit train.csv --target class --device tpu 2>&1)
finish
