#!/bin/bash
# Images on the command line: arrays in idx files become a dataset, a search, a model file and predictions; what is wrong with
# them is one clear line.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# N images of 6 x 6 bytes, bright in the left or the right half, with their labels: FRONT-images-idx3-ubyte and -labels-idx1-.
make_images() { # front n seed
    LC_ALL=C awk -v n="$2" -v seed="$3" 'BEGIN { srand(seed); printf "%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c%c",
        0, 0, 8, 3, 0, 0, n / 256, n % 256, 0, 0, 0, 6, 0, 0, 0, 6
        for (i = 0; i < n; i++) for (p = 0; p < 36; p++)
            printf "%c", int(rand() * 120) + ((p % 6 < 3) == (i % 3 == 0) ? 60 : 0) }' >"$1-images-idx3-ubyte"
    LC_ALL=C awk -v n="$2" 'BEGIN { printf "%c%c%c%c%c%c%c%c", 0, 0, 8, 1, 0, 0, n / 256, n % 256
        for (i = 0; i < n; i++) printf "%c", i % 3 == 0 ? 7 : 3 }' >"$1-labels-idx1-ubyte"
}
make_images train 300 1
make_images test 90 2
gzip -k train-labels-idx1-ubyte
rm train-labels-idx1-ubyte

ok "a search on images, with their labels found beside them" "$ASSAY" fit train-images-idx3-ubyte --families linear,mlp \
    --trials 3 --metric logloss --test test-images-idx3-ubyte -o best.assay
cp out fit.txt
ok "the leaderboard has scores of the test images" grep -Eq ' (linear|mlp) .* 0\.0' fit.txt
ok "predictions of new images" "$ASSAY" predict best.assay test-images-idx3-ubyte -o p.csv
right() {
    awk -F, 'NR > 1 { n++; ok += $1 == ((NR - 2) % 3 == 0 ? 7 : 3) } END { exit !(n == 90 && ok >= 85) }' p.csv
}
ok "which are right" right

head -c 2000 train-images-idx3-ubyte >cut-images-idx3-ubyte
cp test-labels-idx1-ubyte cut-labels-idx1-ubyte
cp test-images-idx3-ubyte alone-images-idx3-ubyte
mkdir -p empty junk/a
echo hello >junk/a/b.png
says() { # text command...
    local text=$1
    shift
    "$@" >says.txt 2>&1 && return 1
    if ! grep -qF "$text" says.txt || [ "$(wc -l <says.txt)" != 1 ]; then
        cat says.txt >&2
        return 1
    fi
}
ok "a file that ends early is told" says 'ends after 55 of 300 images' "$ASSAY" fit cut-images-idx3-ubyte --trials 2
ok "images without labels are told" says 'no labels beside these images (looked for alone-labels-idx1-ubyte' \
    "$ASSAY" fit alone-images-idx3-ubyte --trials 2
ok "an empty folder is told" says 'the folder is empty' "$ASSAY" fit empty --trials 2
ok "a picture that is none is told" says '"a/b.png": neither a PNG' "$ASSAY" fit junk --trials 2
ok "images of another shape are told" says 'the model reads images of 6 x 6 with 1 channels' \
    "$ASSAY" predict best.assay <(printf '\0\0\10\3\0\0\0\1\0\0\0\3\0\0\0\3%s' 123456789)
finish
