#!/bin/bash
# `assay fit` as a stranger uses it: what is refused before a table is uploaded, and warnings that name the options to give.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

# y is about 2 x; "the y" gives it away, n numbers the rows, no two notes are the same
awk 'BEGIN { srand(1); print "n,day,x,the y,note,y"
    for (i = 0; i < 1000; i++) { x = rand(); y = 2 * x + rand()
        printf "%d,2024-%02d-%02d,%.4f,%.4f,w%dz,%.4f\n", i, i % 12 + 1, i % 28 + 1, x, 3 * y, i * 7919 % 1009, y } }' >t.csv
awk 'NR > 1 { printf "{\"x\": %d%s}\n", NR, (NR > 50 ? ", \"y\": " NR % 7 : "") }' t.csv >late.jsonl
gzip -k t.csv
ln -s t.csv u.csv
awk -F, -v OFS=, 'NR > 1 { $3 = "word" } { print }' t.csv >words.csv
printf "x,y\n1,2\n" >l.csv

refused() { # code text arguments...: one line, before anything is started
    local code=$1 text=$2 rc
    shift 2
    "$ASSAY" fit --trials 1 -o no.assay "$@" >o 2>said
    rc=$?
    cat said
    [ $rc -eq "$code" ] && [ "$(wc -l <said)" -eq 1 ] && grep -F -- "assay: $text" said && [ ! -s o ] && [ ! -e no.assay ]
}
ok "a metric that is none" refused 2 '--metric: "rsme" is not known; did you mean rmse?' t.csv --target y --metric rsme
ok "a target that is no column" refused 1 '--target: t.csv has no column "z"; its columns: n, day, x, the y, note, y' t.csv --target z
ok "also of a compressed table" refused 1 '--target: t.csv.gz has no column "yy"; did you mean "y"?' t.csv.gz --target yy
ok "a column of groups" refused 1 '--groups: t.csv has no column "who"' t.csv --target y --groups who
ok "a column of weights" refused 1 '--weights: t.csv has no column "w"' t.csv --target y --weights w
ok "a column of times" refused 1 '--time-column: t.csv has no column "days"; did you mean "day"?' t.csv --target y --time-column days
ok "a column that gets a type" refused 1 '--columns: t.csv has no column "xx"; did you mean "x"?' t.csv --target y --columns xx=numeric
ok "a column of a monotone model" refused 1 '--monotone: t.csv has no column "m"' t.csv --target y --monotone m=increasing
ok "a test table without a column" refused 1 '--test: l.csv has no column "n", which the training table has' t.csv --target y --test l.csv
cut -d, -f2- t.csv >part.csv
ok "that of groups may be missing" "$ASSAY" fit t.csv --target y --groups n --test part.csv --trials 1 -o g.assay
ok "and one that is ignored" "$ASSAY" fit t.csv --target y --columns n=ignore --test part.csv --trials 1 -o g.assay
ok "words for missing values are not columns" "$ASSAY" fit t.csv --target y --missing -,none --trials 1 -o m.assay
ok "a model beside the leaderboard" refused 2 '--output: name a file: standard output shows the leaderboard' t.csv --target y -o -

ok "a model in the place of its table" refused 2 '--output: t.csv is the file that is read: name another one' t.csv --target y -o t.csv
ok "also under another name" refused 2 '--output: u.csv is the file' t.csv --target y -o u.csv
piped() { "$ASSAY" fit - --target z -o no.assay <t.csv 2>said; cat said; grep -F 'standard input has no column "z"' said; }
ok "standard input is called so" piped
in_time() { # the same with --time, where the baseline is made of the same rows
    "$ASSAY" fit t.csv --target z --time 9s -o no.assay 2>said
    [ $? -eq 1 ] && grep -F -- '--target: t.csv has no column "z"' said && [ ! -e no.assay ]
}
ok "with a limit in time too" in_time
ok "a column that only later lines name is there" "$ASSAY" fit late.jsonl --target y --trials 1 -o l.assay

told() { # text arguments...: what only the table tells is an error about the option, too
    local text=$1
    shift
    ! "$ASSAY" fit t.csv --target y --trials 1 -o no.assay "$@" 2>said && cat said && grep -F -- "assay: $text" said
}
ok "a metric that does not suit the target" told '--metric: auc does not suit the task regression' --metric auc
ok "a family that needs images" told '--families: cnn needs images' --families cnn
ok "weights that are words" told '--weights: column "note" holds words' --weights note
ok "an order of words" told '--monotone note: needs a column of numbers' --monotone note=increasing
ok "a positive class of numbers" told '--positive: only a binary task has a positive class' --positive 1
ok "a test table with words for numbers" told 'words.csv: column "x" is to hold numbers, and no cell of it is one' --test words.csv

"$ASSAY" fit t.csv --target y --trials 2 -o w.assay >/dev/null 2>warned
ok "a column that gives the target away" grep -F "leave it out (--columns 'the y=ignore')." warned
ok "a column that numbers the rows" grep -F 'leave it out (--columns n=ignore).' warned
ok "a column without repeats" grep -F 'say so: --columns note=numeric.' warned
ok "dates" grep -F 'then give --time-column day.' warned
ok "no warning names a key of a spec" test "$(grep -cE 'columns: \{|give (groups|time)|as (groups|time)\b' warned)" -eq 0
awk 'BEGIN { srand(2); print "x,due"; for (i = 0; i < 300; i++) printf "%.3f,2024-%02d-15\n", rand() + i % 3, i % 3 + 1 }' >due.csv
"$ASSAY" fit due.csv --target due --trials 1 -o due.assay >/dev/null 2>dated
ok "classes that are dates" grep -F 'make them labels (--columns due=label).' dated
labels() { "$ASSAY" fit due.csv --target due --columns due=label --trials 1 -o due.assay 2>said; "$ASSAY" predict due.assay due.csv | head -1 | grep -F p_2024-02-15 && ! grep 1970 said; }
ok "are then called as they are written" labels
sed '5s/2024-[0-9-]*/soon/' t.csv >soon.csv
bad_date() { "$ASSAY" fit soon.csv --target y --trials 1 -o soon.assay 2>said; grep -F 'soon.csv: 1 cell of column "day" is no date and reads as missing' said; }
ok "a cell that is no date is not called a bad number" bad_date
taken() { "$ASSAY" fit t.csv --target y --trials 1 --time-column day --columns 'the y=ignore,n=ignore' -o w.assay 2>said; ! grep -E 'the y|"n"' said; }
ok "the advice can be taken" taken
finish
