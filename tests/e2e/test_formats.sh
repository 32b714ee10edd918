#!/bin/bash
# One table in every format that is read, put together by hand in tables.py: CSV, JSON lines, Parquet, Arrow files and
# streams, plain and packed with gzip, xz and zstd, as a file and through standard input. fit gives the same model file for
# all of them, and predict the same predictions.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || { skip "every format" "python3 is not here"; finish; exit; }
ok "the files are made" python3 "$ROOT/tests/e2e/tables.py" good .

fit() { "$ASSAY" fit "$@" --target y --trials 3 --seed 1; }
piped() { # file command...: the command with the file on standard input
    local file=$1
    shift
    "$@" <"$file"
}

ok "fit t.csv" fit t.csv -o csv.assay
ok "predict t.csv" "$ASSAY" predict csv.assay t.csv -o csv.out
ok "with a prediction for each row" test "$(wc -l <csv.out)" -eq 401
ok "which differ" test "$(sort -u csv.out | wc -l)" -gt 300
for t in t.csv.gz t.csv.xz t.csv.zst t.jsonl t.jsonl.zst t.parquet tz.parquet t.parquet.gz t.arrow t.arrows t.arrows.xz; do
    ok "fit $t" fit $t -o one.assay
    ok "gives the model of t.csv" cmp one.assay csv.assay
    ok "predict $t" "$ASSAY" predict csv.assay $t -o one.out
    ok "gives the predictions of t.csv" cmp one.out csv.out
    rm -f one.assay one.out
done
for t in t.csv t.csv.gz t.csv.zst t.jsonl tz.parquet t.arrow t.arrows t.arrows.xz; do
    ok "fit - < $t" piped $t fit - -o one.assay
    ok "gives the model of t.csv" cmp one.assay csv.assay
    ok "predict - < $t" piped $t "$ASSAY" predict csv.assay - -o one.out
    ok "gives the predictions of t.csv" cmp one.out csv.out
    rm -f one.assay one.out
done
ok "predict - --keep reads it twice" piped t.arrows "$ASSAY" predict csv.assay - --keep s,y -o kept.out
ok "and writes what was kept" test "$(head -n 1 kept.out)" = "s,y,prediction"
ok "in UTF-8" grep -q '^Grün,' kept.out
empty() { ! "$ASSAY" "$@" </dev/null && grep -q 'standard input is empty' "$WORK/err"; }
ok "fit - of nothing is an error" empty fit - --target y --trials 1 -o no.assay
ok "predict - of nothing is an error" empty predict csv.assay - -o no.out
twice() { ! "$ASSAY" fit - --test - --target y --trials 1 -o no.assay <t.csv && grep -q 'one table only' "$WORK/err"; }
ok "standard input is one table" twice
ok "and nothing is left" test ! -e no.assay -a ! -e no.out
finish
