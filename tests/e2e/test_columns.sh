#!/bin/bash
# A table as people write them: fit says how it read the columns, and a table to predict is read by the model's own reading,
# so that the same facts in the training table's spelling and as plain numbers give the same predictions.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { srand(7); print "price,share,q,when,tags,y"
    split("red blue green pink gold", c, " ")
    for (i = 0; i < 600; i++) {
        p = int(rand() * 9000) + 1000; s = int(rand() * 100); q = rand() * 4 - 2; d = int(rand() * 28) + 1; m = int(rand() * 12) + 1
        price = i % 40 ? sprintf("\"$%d,%03d.50\"", int(p / 1000), p % 1000) : "-"
        a = int(rand() * 5) + 1; b = int(rand() * 5) + 1
        tags = a == b ? c[a] : c[a] "|" c[b]
        printf "%s,%d%%,%s,%02d/%02d/2023,%s,%.4f\n", price, s, i % 30 ? sprintf("%.4f", q) : "None", m, d, tags, p / 1000 + s / 20 + q + m / 3
    } }' >train.csv
ok "fit reads them" "$ASSAY" fit train.csv --target y --trials 3 -o m.assay
cp err told
ok "and tells the currency" grep -q 'price: numbers with \$, thousands parted by ","' told
ok "the words for missing" grep -q 'missing: "-" 15' told
ok "the per cent" grep -q 'share: numbers with % as written' told
ok "the order of dates" grep -q 'when: dates, month first (as all values show)' told
ok "the lists" grep -q 'tags: lists parted by "|"' told
ok "fit tells classes" "$ASSAY" fit train.csv --target tags --trials 2 -o tags.assay
cp err told
ok "not that the target holds lists, which are classes there" bash -c '! grep -q "tags: lists" told && grep -q "when: dates" told'

printf 'price,share,q,when,tags\n"$2,500.50",40%%,0.5,03/05/2023,red|blue\n-,7%%,None,12/01/2023,gold\n' >one.csv
printf 'price,share,q,when,tags\n2500.5,40,0.5,2023-03-05,red|blue\n,7,,2023-12-01,gold\n' >two.csv
for t in one two; do ok "predict $t" "$ASSAY" predict m.assay $t.csv -o $t.out; done
ok "both spellings predict alike" cmp one.out two.out
ok "which depend on the table" test "$(sort -u one.out | wc -l)" -eq 3
printf 'x0,y\n-,1\n5,2\n$7,3\n6,4\n8,5\n9,6\n4,7\n1,8\n2,9\n3,10\n' >few.csv
ok "--columns x0=numeric reads - as missing" "$ASSAY" fit few.csv --target y --columns x0=numeric --trials 1 -o few.assay
awk 'BEGIN { print "x,region,y"; for (i = 0; i < 200; i++) print (i % 9 ? i % 50 : -999) "," (i % 3 ? "NA" : "EU") "," i % 50 + 100 * (i % 3 == 0) }' >na.csv
ok "--missing lists the only words" "$ASSAY" fit na.csv --target y --missing=-999 --trials 2 -o na.assay
printf 'x,region\n7,NA\n7,EU\n-999,EU\n,EU\n' >na-two.csv
ok "and predict" "$ASSAY" predict na.assay na-two.csv -o na.out
ok "keeps to them: NA is a level, -999 is missing" test "$(sort -u na.out | wc -l)" -eq 4 -a "$(sed -n 4p na.out)" = "$(sed -n 5p na.out)"
ok "a type that is none is refused" bash -c "! $ASSAY fit few.csv --target y --columns x0=money --trials 1 -o few.assay"
start_service
ok "data add tells as well" "$ASSAY" data add train.csv --name t
cp err told
ok "in words" grep -q 'when: dates, month first' told
ok "data show" "$ASSAY" data show t
cp out shown
ok "shows kinds" grep -q 'tags.* list ' shown
ok "and readings" grep -q 'q: numbers; missing: "None" 20' shown
finish
