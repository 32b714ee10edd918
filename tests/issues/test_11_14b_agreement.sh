#!/bin/bash
# Found by hand: what `explain` added up to and what `predict` said differed by up to .04 on a bag of models; --metric rmse on
# whole numbers that are few was an error; --columns x=numeric was an error where one cell of x was no number.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"

# x1, x2, a level, a class that they decide half, a grade from 0 to 4; every 50th x1 of junk.csv is a word.
table() { # seed rows
    awk -v seed="$1" -v rows="$2" 'BEGIN { srand(seed); print "x1,x2,level,class,grade"
        for (i = 0; i < rows; i++) {
            a = rand() * 4 - 2; b = rand() * 4 - 2; l = int(rand() * 3); s = a * b + (l == 1) + rand() * 3 - 1.5
            printf "%.4f,%.4f,%s,%s,%d\n", a, b, substr("pqr", l + 1, 1), (s > 0.4 ? "yes" : "no"), (a + 2) * 1.25
        } }'
}
table 3 300 >train.csv
awk -F, -v OFS=, 'NR % 50 == 8 { $1 = "n.n." } { print }' train.csv >junk.csv

agrees() { # family: log-odds that the values add up to, as a probability, against predict's
    "$ASSAY" fit train.csv --target class --columns grade=ignore --families "$1" --trials 3 -o bag.assay >fit.out 2>&1 &&
        "$ASSAY" model bag.assay >about && grep -E 'models|bag' about
    "$ASSAY" predict bag.assay train.csv -o p.csv && "$ASSAY" explain bag.assay train.csv --class yes -o why.csv &&
        paste -d, p.csv why.csv | awk -F, '
            NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "p_yes") p = i; if ($i == "score") s = i; if ($i == "base") b = i }; next }
            { sum = 0; for (i = b; i <= NF; i++) sum += $i
              d = 1 / (1 + exp(-$s)) - $p; d = d < 0 ? -d : d; most = d > most ? d : most
              e = sum - $s; e = e < 0 ? -e : e; off = e > off ? e : off; n++ }
            END { print "rows", n, "off", most, off; exit !(n == 300 && most < 1e-5 && off < 1e-6) }'
}

rmse_of_grades() {
    "$ASSAY" fit train.csv --target grade --metric rmse --trials 2 -o grade.assay >grade.out 2>&1 &&
        "$ASSAY" predict grade.assay train.csv -o grades.csv && head -1 grades.csv && grep -qx prediction <(head -1 grades.csv)
}
junk_is_missing() {
    "$ASSAY" fit junk.csv --target class --columns x1=numeric --trials 2 -o junk.assay >junk.out 2>junk.err
    cat junk.err
    grep -F 'junk.csv: 6 cells of column "x1" are no numbers and read as missing' junk.err && [ -s junk.assay ]
}
predict_too() {
    "$ASSAY" predict junk.assay junk.csv -o jp.csv 2>jp.err && [ "$(wc -l <jp.csv)" -eq 301 ] &&
        grep -F '6 cells cannot be read and count as missing: "x1" 6' jp.err
}
words_only() {
    ! "$ASSAY" fit train.csv --target class --columns level=numeric --trials 2 -o no.assay 2>said &&
        grep -F 'train.csv: column "level" is to hold numbers, and no cell of it is one' said
}

ok "explain and predict agree on a bag of boosted trees" agrees boost
ok "explain and predict agree on a bag of linear models" agrees linear
ok "a metric of numbers makes few whole numbers a regression" rmse_of_grades
ok "a word in a column said to be numeric reads as missing, and is counted" junk_is_missing
ok "predict reads such a column the same way" predict_too
ok "a column of words alone is refused as numbers" words_only
finish
