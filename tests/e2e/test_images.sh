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

# Folders of pictures: classes a and b, of which one picture is of another size, or ends early.
pictures() { # folder odd
    python3 - "$1" "$2" <<'END'
import os, struct, sys, zlib

def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

def png(width, height, light):
    lines = b"".join(b"\0" + bytes(light if x < width // 2 else 90 for x in range(width)) for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))

folder, odd = sys.argv[1:]
for name, light in (("a", 20), ("b", 200)):
    os.makedirs(f"{folder}/{name}")
    for i in range(30):
        is_odd = name == "b" and i == 7
        bytes_ = png(5 if is_odd and odd == "size" else 6, 6, light + i)
        with open(f"{folder}/{name}/{i:02}.png", "wb") as f:
            f.write(bytes_[:len(bytes_) // 2] if is_odd and odd == "cut" else bytes_)
END
}
if command -v python3 >/dev/null; then
    pictures sizes size
    pictures cut cut
    pictures whole none
    ok "a picture of another size is named" says '"b/07.png" is 5 x 6 with 1 channels, the images before it are 6 x 6' \
        "$ASSAY" fit sizes --trials 2
    ok "and one that ends early" says 'PNG is damaged' "$ASSAY" fit cut --trials 2
    # Kernels that are larger than what pooling leaves, steps that fly apart, a batch larger than the table; and one as it should be.
    cat >bad.yaml <<'END'
name: bad
dataset: whole
target: label
metric: logloss
budget: {trials: 6}
seed: 5
enqueue:
  - {family: cnn, blocks: 4, kernel: 5, filters: 4, epochs: 2}
  - {family: cnn, blocks: 1, filters: 4, epochs: 4, learning_rate: 10, weight_decay: 100, optimizer: sgd}
  - {family: cnn, blocks: 1, filters: 4, epochs: 2, batch: 65536}
  - {family: linear}
space:
  - {family: cnn, blocks: 1, filters: 4, epochs: 2}
END
    ok "a search with networks that cannot be ends well" "$ASSAY" run bad.yaml --dir bad -o bad.assay
    cp out told.txt
    ok "a shape that is absurd, or diverges, fails alone" grep -Eq '^[12] trials? failed, .*(larger than the image|diverged|overflowed)' told.txt
    ok "the others have scores" sh -c "[ \"\$(grep -Ec '(cnn|linear) +[0-9]' told.txt)\" -ge 3 ]"
else
    skip "folders of pictures" "no python3"
fi
finish
