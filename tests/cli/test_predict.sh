#!/bin/bash
# `assay predict` on tables that are not quite the one the model was made from: columns in another order, further ones and missing
# ones, cells that are no numbers, levels never seen; columns kept, a threshold, targets far from 0.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
export TMPDIR=$WORK/tmp
mkdir -p "$TMPDIR"

# y is about x; far is y times 50 on 1.7e9; who is two classes
awk 'BEGIN { srand(1); print "id,day,x,kind,y,far,who"; split("a b c", k, " ")
    for (i = 0; i < 400; i++) { x = rand() * 4 - 2; j = k[int(3 * rand()) + 1]; y = x + (j == "a")
        printf "%05d,2024-%02d-%02d,%.4f,%s,%.3f,%.3f,%s\n", i, i % 12 + 1, i % 28 + 1, x, j, y, 1.7e9 + 50 * y,
            (y + rand() > 1 ? "yes" : "no") } }' >train.csv
fit() { "$ASSAY" fit train.csv --trials 2 --seed 1 --families boost "$@" >fit.log 2>&1; }
fit --target who --columns y=ignore,far=ignore -o c.assay
fit --target far --columns y=ignore,who=ignore -o f.assay

cat >new.csv <<'END'
kind,id,extra,x,day
a,00017,q,1.5,2024-01-03
never seen,1.0,,-,2024-01-04
b,"NA, so",q,oops,not a day
c,+1,q,-2,
END
cut -d, -f1,2,4 train.csv >less.csv

keeps() { # the kept cells stand there as they were written, in the order of the option
    "$ASSAY" predict c.assay new.csv --keep id,day -o kept.csv && sed 's/,[^,]*,[^,]*,[^,]*$//' kept.csv >is
    printf '%s\n' id,day 00017,2024-01-03 1.0,2024-01-04 '"NA, so",not a day' +1, | diff - is
}
counts_bad_cells() {
    "$ASSAY" predict c.assay new.csv 2>said >bad.csv && [ "$(wc -l <bad.csv)" -eq 5 ] && cat said
    [ "$(wc -l <said)" -eq 1 ] && grep -F 'new.csv: 2 cells cannot be read and count as missing: ' said && grep -F '"x" 1' said && grep -F '"day" 1' said
}
refuses() { # pattern command...
    local pattern=$1
    shift
    "$@" >o 2>said && return 1
    cat said
    grep -F -- "$pattern" said && [ ! -s o ] && [ ! -e no.csv ]
}
reads_as_missing() {
    "$ASSAY" predict c.assay less.csv --missing-columns missing >miss.csv 2>said && cat said
    [ "$(wc -l <miss.csv)" -eq 401 ] && grep -F '"x"' said
}
ignores_order() { # the same rows with the columns turned about, and without the ones that no model needs
    "$ASSAY" predict c.assay train.csv >a.csv
    awk -F, -v OFS=, '{ print $4, $3, $2, $1 }' train.csv >turned.csv
    "$ASSAY" predict c.assay turned.csv | cmp - a.csv
}
threshold() { # more rows are positive below a low threshold than above a high one, and the probabilities stay
    for t in 0 0.5 1; do "$ASSAY" predict c.assay train.csv --threshold $t >t$t.csv || return 1; done
    "$ASSAY" predict c.assay train.csv | cmp - t0.5.csv &&
        [ "$(grep -c ^yes t0.csv)" -eq 400 ] && [ "$(grep -c ^yes t1.csv)" -eq 0 ] &&
        cmp <(cut -d, -f2- t0.csv) <(cut -d, -f2- t1.csv)
}
stays_near() { # predictions of 1.7e9 give or take 100 are right within a few units
    "$ASSAY" predict f.assay train.csv >far.csv && "$ASSAY" predict f.assay --json | grep -q '"target_unit":{"kind":"shift"' &&
        paste -d, far.csv train.csv | awk -F, 'NR > 1 { d = $1 - $7; s += d * d; seen[$1] = 1 }
            END { for (v in seen) n++; print sqrt(s / (NR - 1)), n; exit !(s / (NR - 1) < 400 && n > 100) }'
}
adds_up() { # base and values of an explanation are in the unit of the table
    "$ASSAY" explain f.assay train.csv --rows 5 | awk -F, 'NR > 1 { s = 0; for (i = 3; i <= NF; i++) s += $i
        if ((s - $1) ^ 2 > 1e-4 || $3 < 1.69e9) exit 1 } END { exit NR != 6 }'
}

keeps_labels() { # classes are called as they are written
    awk -F, 'BEGIN { split("1.0 +1 01 NA 9007199254740993", l, " ") } { print $3 "," (NR > 1 ? l[NR % 5 + 1] : "y") }' train.csv >labels.csv
    "$ASSAY" fit labels.csv --target y --columns y=label --trials 1 -o l.assay >fit.log 2>&1
    [ "$("$ASSAY" predict l.assay labels.csv | head -1)" = 'prediction,p_+1,p_01,p_1.0,p_9007199254740993,p_NA' ]
}

ok "labels stay as they are spelt" keeps_labels
ok "kept columns come first, as they were written" keeps
ok "cells that are no numbers are missing, with one warning that counts them" counts_bad_cells
ok "or they are an error" refuses '"x" 1' "$ASSAY" predict c.assay new.csv --bad-cells error -o no.csv
one_bad() { printf 'id,x,kind,day\n1,1,a,soon\n2,1,b,2024-01-05\n' | "$ASSAY" predict c.assay - 2>said >o; cat said; grep -F 'standard input: 1 cell cannot be read and counts as missing: "day" 1' said; }
ok "a bad date is no bad number" one_bad
kept() { cp c.assay m.assay; cp new.csv n.csv; refuses 'is the file that is read' "$ASSAY" predict "$@" && cmp c.assay m.assay && cmp new.csv n.csv; }
ok "predictions do not replace the table" kept m.assay n.csv -o n.csv
ok "nor the model" kept m.assay n.csv -o m.assay
awk 'BEGIN { srand(3); print "x,due,at"; for (i = 0; i < 200; i++) printf "%.3f,2024-%02d-%02d,%02d:%02d\n", rand(), i % 12 + 1, i % 28 + 1, i % 24, i % 60 }' >due.csv
unit() { # target text
    "$ASSAY" fit due.csv --target "$1" --trials 1 -o due.assay >fit.log 2>&1; "$ASSAY" predict due.assay due.csv 2>said >o; cat said
    [ "$(wc -l <o)" -eq 201 ] && [ "$(cat said)" = "$2" ]
}
ok "predictions of dates say what they are" unit due 'the target "due" holds dates: predictions are seconds since 1970 in UTC'
ok "of times of day too" unit at 'the target "at" holds times of day: predictions are seconds since midnight'
ok "columns that the table lacks are named" refuses 'less.csv lacks 1 of the' "$ASSAY" predict c.assay less.csv -o no.csv
ok "with the way out" refuses '(--missing-columns missing reads them as missing)' "$ASSAY" predict c.assay less.csv -o no.csv
tail -n +2 train.csv >bare.csv
ok "a table without a header" refuses '(if its first line is data, give --no-header)' "$ASSAY" predict c.assay bare.csv -o no.csv
ok "and one with a header that was said to have none" refuses 'leave out --no-header)' "$ASSAY" predict c.assay train.csv --no-header -o no.csv
ok "or they are missing in every row" reads_as_missing
ok "the order of columns does not matter, nor do further ones" ignores_order
ok "a threshold decides between two classes" threshold
ok "a threshold of more than 1 is refused" refuses '--threshold is a number from 0 to 1' "$ASSAY" predict c.assay new.csv --threshold 1.1
ok "a threshold needs two classes" refuses 'two classes' "$ASSAY" predict f.assay train.csv --threshold 0.3
ok "a column that is not there cannot be kept" refuses 'has no column "nope"' "$ASSAY" predict c.assay new.csv --keep id,nope -o no.csv
ok "what the model is needs no table" refuses 'takes no table and no -o' "$ASSAY" predict c.assay new.csv --json
ok "and goes to no file" refuses 'takes no table and no -o' "$ASSAY" predict c.assay --json -o no.csv
ok "a target of 1.7e9 keeps its digits" stays_near
ok "and so do its explanations" adds_up
finish
