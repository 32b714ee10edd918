#!/bin/bash
# Tables whose declared sizes, counts and lengths are not what follows, whose rows, names and values are odd, and files
# that were cut short anywhere: one clear error each and no file, or a sensible result; little memory.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/e2e/hostile.sh
. "$ROOT/tests/e2e/hostile.sh"
command -v python3 >/dev/null || { skip "odd tables" "python3 is not here"; finish; exit; }
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR" good
ok "the files are made" python3 "$ROOT/tests/e2e/tables.py" odd .
ok "and a good one" python3 "$ROOT/tests/e2e/tables.py" good good
ok "with its model" "$ASSAY" fit good/t.csv --target y --trials 2 -o good/m.assay

# Declared sizes, counts and lengths that are not what follows.
fits '1073741824 rows of 2 columns in .* bytes: such a file was made to fill disks' runs.parquet
fits 'column "x", row group 1: page 1: pages of more than 256 MiB are not read' page.zstd.parquet
fits 'column "x", row group 1: page 1: pages of more than 256 MiB are not read' page.snappy.parquet
for codec in zstd gzip snappy; do
    fits "page 1: .* bytes of $codec data are damaged: they do not unpack to 32 bytes" lie.$codec.parquet
done
fits 'column "x", row group 1: page 1: it holds fewer values than it says' length.parquet
fits 'column "x", row group 1: page 1: it has more values than the row group has rows' values.parquet
fits 'the footer: row group 1: its head is damaged' rows.parquet
fits 'two columns are called "y"' twice.parquet
fits 'the footer: the name of a column is not valid text' nameless.parquet
fits 'the table has no rows' none.parquet
# Odd rows, names and values.
fits 'line 52: expected 3 fields, found 4' long.csv
fits 'line 52: expected 3 fields, found 2' short.csv
fits 'line 1: two columns are called "a"' twice.csv
fits 'line 1: column 1 has no name' nameless.csv
fits 'there is a header but no data' header.csv
fits 'empty.csv: the file is empty' empty.csv
fits 'newlines.csv: the file is empty' newlines.csv
fits 'column "y" has one value only: there is nothing to predict' one.csv
fits '2 rows are too few for 2 folds' two.csv
fits 'column "y" has no values: there is nothing to predict' nothing.csv
fits 'column "y" has no values: there is nothing to predict' notarget.csv
fits 'no column holds anything to learn from' noinput.csv
fits 'column "y" has one value only: there is nothing to predict' same.csv
fits 'the target column "y" is infinite in data row 2' endless.csv
fits 'line 52, column "b": a NUL byte' nul.csv
fits 'line 52, column "b": a quote is opened here and never closed' quote.csv
fits 'line 1, column 3: a carriage return without a line feed after it' return.csv
fits 'line 1, column 1: invalid UTF-8.*iconv -f WINDOWS-1252' head.csv
fits 'line 100: more than 100000 keys' keys.jsonl 200
fits 'the objects have no keys' nokeys.jsonl
fits 'the file is packed twice, inside with gzip; unpack it once' twice.csv.gz
fits 'the file is packed twice, inside with xz; unpack it once' twice.csv.zst
sensible() { # file most-MB: a model, and a prediction for each row
    local rc mb
    read -r rc mb < <(bounded "$ASSAY" fit "$1" --target y --trials 1 --families linear -o s.assay)
    [ "$rc" = 0 ] && [ "$mb" -le $(($2 + MORE)) ] || { cat e; echo "exit $rc, $mb MB"; return 1; }
    "$ASSAY" predict s.assay "$1" -o s.out && [ "$(wc -l <s.out)" -eq "$(wc -l <"$1")" ]
}
ok "dates beyond the year 9999" sensible far.csv 100
ok "infinite numbers" sensible inf.csv 100
ok "a million levels" sensible levels.csv 250
ok "200,000 rows of one text of 1 MiB" bash -c "'$ASSAY' fit texts.parquet --target y --trials 1 -o h.assay; [ ! -e h.assay ] || rm h.assay"
# Cut short anywhere, packed and columnar files are never half a table.
cut_anywhere() {
    local file=$1 n at k
    n=$(wc -c <"good/$file")
    for k in 1 2 3 5 7 9 11 12; do
        at=$((k < 12 ? n * k / 12 : n - 1))
        head -c "$at" "good/$file" >"cut.${file#*.}"
        refuses "cut.${file#*.}: " 100 "$ASSAY" predict good/m.assay "cut.${file#*.}" -o h.out || { echo "at $at of $n"; return 1; }
    done
}
for file in t.csv.gz t.csv.xz t.csv.zst t.parquet tz.parquet t.arrow; do
    ok "$file cut anywhere" cut_anywhere "$file"
done
finish
