#!/bin/bash
# Networks on input that they cannot learn from, or only badly: each is a clear success, or one plain sentence about that trial
# alone or about the table, and the search goes on with the others.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

# Rows of three numbers of two digits and a target; y is an awk expression of a, b, c and the row i.
table() { # file rows y
    LC_ALL=C awk -v n="$2" "BEGIN { srand(3); print \"a,b,c,y\"
        for (i = 0; i < n; i++) { a = int(rand() * 100); b = int(rand() * 100); c = int(rand() * 100)
            print a \",\" b \",\" c \",\" ($3) } }" >"$1"
}
table classes.csv 200 '(a + b > 100 ? "yes" : "no")'
table numbers.csv 200 'a - 2 * b'
table huge.csv 200 '(a - 2 * b) "e30"'
table one_class.csv 50 '"yes"'
table constant.csv 50 '5'
table one_row.csv 1 'a'
table three.csv 3 'a'
LC_ALL=C awk 'BEGIN { print "a,b,y"; for (i = 0; i < 60; i++) print ",," i % 7 }' >missing.csv

says() { # text command...
    local text=$1
    shift
    "$@" >says.txt 2>says.err && return 1
    grep -qF "$text" says.err && [ "$(grep -c '^assay:' says.err)" = 1 ] || { cat says.txt says.err >&2; return 1; }
}
fit() { "$ASSAY" fit "$@" --target y --families mlp --trials 2 --seed 3 -o m.assay; }

ok "one class is refused" says 'target: column "y" has one value only' fit one_class.csv
ok "a constant target too" says 'target: column "y" has one value only' fit constant.csv
ok "and one row" says 'target: column "y" has one value only' fit one_row.csv
ok "three rows are too few, and it says so" says '3 rows are too few for' fit three.csv
ok "columns without any value are told" says 'no column holds anything to learn from' fit missing.csv

# Weights that fly apart, a network of 5 x 512 on few rows, a batch larger than the table; and one that is as it should be.
cat >bad.yaml <<'END'
name: bad
dataset: FILE
target: y
budget: {trials: 6}
seed: 5
enqueue:
  - {family: mlp, learning_rate: 10, epochs: 30, layers: 1, width: 64, weight_decay: 100}
  - {family: mlp, learning_rate: 10, epochs: 30, layers: 5, width: 64, weight_decay: 100, activation: relu}
  - {family: mlp, epochs: 3, layers: 5, width: 512, batch: 65536}
  - {family: mlp, epochs: 60, layers: 1, width: 32, batch: 32}
  - {family: linear}
space:
  - {family: mlp, epochs: 4}
  - {family: linear}
END
for file in classes numbers; do
    sed "s/FILE/$file.csv/" bad.yaml >"$file.yaml"
    ok "$file: a search with networks that diverge ends well" "$ASSAY" run "$file.yaml" --dir "$file" -o "$file.assay"
    cp out told.txt
    ok "$file: one plain sentence says what failed" grep -Eq \
        '^2 trials failed, the last one trial 3: mlp: the ((training diverged|weights overflowed) in epoch [0-9]+: a smaller learning_rate may help|fit diverged: its predictions are not finite)$' \
        told.txt
    ok "$file: all others have a score" grep -Eq '^ +4 +[0-9]+ ' told.txt
done
shows_diverged() {
    "$ASSAY" serve --data-dir classes --no-tcp >serve.log 2>&1 &
    PIDS="${PIDS:-} $!"
    until ASSAY_URL=unix:$WORK/classes/sock "$ASSAY" ls >/dev/null 2>&1; do sleep 0.05; done
    [ "$(ASSAY_URL=unix:$WORK/classes/sock "$ASSAY" trials bad | grep -Ec 'failed +mlp .* diverged$')" = 2 ]
}
ok "they failed because they diverged" shows_diverged

ok "a target of 1e30 is learned" "$ASSAY" fit huge.csv --target y --families mlp,linear --trials 3 --seed 3 -o huge.assay
ok "and predicted" "$ASSAY" predict huge.assay huge.csv -o p.csv
near() { # the mean error is well below the spread of the target, which is about 65e30
    paste -d, p.csv huge.csv | LC_ALL=C awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "y") y = i; next }
        { d = $1 - $y; s += d < 0 ? -d : d; n++ } END { exit !(n == 200 && s / n < 20e30) }'
}
ok "near the truth" near
finish
