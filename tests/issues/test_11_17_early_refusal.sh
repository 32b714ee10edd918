#!/bin/bash
# Found by hand: a positive class that the target lacks, and a table of test rows without a column of the training table, failed
# only inside the first trial, and without the file's name.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

printf 'a,b,c,y,z\n' >train.csv
for i in $(seq 60); do echo "$i,$((i * 7 % 11)),w$((i % 3)),$((i % 2)),l$((i % 2))"; done >>train.csv
cut -d, -f1,3,4,5 train.csv >narrow.csv
cut -d, -f1,2,3,4 train.csv >lacking.csv
awk -F, -v OFS=, 'NR > 1 { $2 = "word" } { print }' train.csv >words.csv
printf '{"other": 1}\n' >rows.jsonl

refused() { # text arguments...
    local text=$1
    shift
    ! "$ASSAY" fit train.csv --trials 2 -o no.assay "$@" >said 2>&1 && ! grep -qE 'trials|rank' said && [ ! -e no.assay ] &&
        { grep -F "$text" said || { cat said; false; }; }
}

ok "a class that a target of numbers lacks is refused" refused 'column "y" has no value "3": it holds 0 and 1' \
    --target y --positive 3
ok "a class that a target of words lacks is refused" refused 'column "z" has no value "l7"' --target z --positive l7
ok "a class may be written as another form of the number" "$ASSAY" fit train.csv --trials 1 -o yes.assay --target y --positive 1.0
ok "a target that is no column is told the columns" refused 'no column "class"; its columns: a, b, c, y, z' --target class
ok "a target that is nearly a column is told that one" refused 'no column "zz"; did you mean "z"?' --target zz
ok "a test table without a column is refused, by its name" refused 'narrow.csv has no column "b"' --target y --test narrow.csv
ok "a test table without the target is refused" refused 'lacking.csv has no column "z"' --target z --test lacking.csv
ok "a test table with words for numbers is refused" refused 'words.csv: column "b"' --target y --test words.csv
finish
