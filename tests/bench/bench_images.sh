#!/bin/bash
# Searches on images: a multilayer perceptron and a small convolutional network on Fashion-MNIST, each within a budget of
# trials. Rows are the resource: most trials see 3,000 of the 60,000 images. The best configuration is trained once more on all
# of them, and its model file is scored on the 10,000 test images, which the search never saw.
# Bars: mlp 0.895, cnn 0.915. Prints accuracy, processor seconds of everything, and the winner. Usage: [SEED=1]
# tests/bench/bench_images.sh [mlp|cnn]
B=${B:-build/gcc}
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
images=$DATA/fashion_mnist
[ -d "$images" ] || { echo "no ../shared/datasets/fashion_mnist here: skipped"; exit 77; }
SEED=${SEED:-1}

spec() { # family, then its space on stdin
    cat <<END
name: images-$1
dataset: $images/train-images-idx3-ubyte.gz
target: label
metric: accuracy
test: {dataset: $images/t10k-images-idx3-ubyte.gz}
validation: {kind: holdout, fraction: 0.1}
resource: rows
scheduler: {kind: asha, eta: 3}
budget: {trials: 9}
parallel: 2
seed: $SEED
space:
END
    cat
}

bar() { # family bar
    local start used
    [ "${WANT:-$1}" = "$1" ] || return 0
    start=$(awk '{ print $16 + $17 }' /proc/$$/stat)
    "$ASSAY" run "$1.yaml" --dir "data-$1" -o "$1.assay" >"$1.txt" 2>&1 || cat "$1.txt"
    used=$((($(awk '{ print $16 + $17 }' /proc/$$/stat) - start) / $(getconf CLK_TCK)))
    "$ASSAY" predict "$1.assay" "$images/t10k-images-idx3-ubyte.gz" -o "$1.csv"
    zcat "$images/t10k-labels-idx1-ubyte.gz" | tail -c +9 | od -An -v -tu1 -w1 | awk '{ print $1 }' >labels
    tail -n +2 "$1.csv" | paste -d, labels - | awk -F, -v family="$1" -v bar="$2" -v used="$used" '
        { n++; ok += $1 == $2 } END { printf "%s: accuracy %.4f on %d test images, bar %s: %s; %d s of processor time\n",
            family, ok / n, n, bar, (ok / n >= bar ? "met" : "MISSED"), used }'
    grep -A 3 '^rank' "$1.txt"
}

spec mlp >mlp.yaml <<'END'
  - family: mlp
    embedding: none
    members: 1
    layers: {int: [1, 3]}
    width: {int_log: [128, 320]}
    learning_rate: {log: [0.01, 0.1]}
    dropout: {uniform: [0.0, 0.4]}
    epochs: 15
END
spec cnn >cnn.yaml <<'END'
  - family: cnn
    blocks: 2
    convs: 1
    filters: {int_log: [16, 24]}
    kernel: "3"
    pool: max
    learning_rate: {log: [0.03, 0.15]}
    dropout: {uniform: [0.1, 0.4]}
    augment: {choice: [none, flip]}
    epochs: 6
END
WANT=$1
[ -n "$WANT" ] || unset WANT
bar mlp 0.895
bar cnn 0.915
