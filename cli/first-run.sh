#!/bin/sh
# first-run.sh - what `make run` shows: a search on a problem made here, its leaderboard beside the best possible score, the
# saved model used on rows it never saw, and what to type next. Usage: cli/first-run.sh ASSAY [FOLDER]
set -eu
assay=$1
out=${2:-run}
problem=waveform
mkdir -p "$out"

"$assay" data make $problem --rows 3000 --seed 7 -o "$out/$problem.csv" \
    --test-output "$out/$problem-test.csv" --test-rows 3000
echo
echo "searching for 30 s: assay fit $out/$problem.csv --target class --metric accuracy --time 30s --test $out/$problem-test.csv"
"$assay" fit "$out/$problem.csv" --target class --metric accuracy --time 30s --seed 1 \
    --test "$out/$problem-test.csv" -o "$out/best.assay"
"$assay" predict "$out/best.assay" "$out/$problem-test.csv" -o "$out/predictions.csv"

# Score of the written predictions, computed here from the two files.
paste -d, "$out/$problem-test.csv" "$out/predictions.csv" | awk -F, '
    NR == 1 { for (i = 1; i <= NF; i++) { if ($i == "class") c = i; if ($i == "prediction") p = i } next }
    { n++; hit += $c == $p }
    END { printf "\non %d rows it never saw: accuracy %.4f; the best any model can reach is about 0.86 (Bayes error 14%%, Breiman et al. 1984)\n", n, hit / n }'
cat <<T

Next:
  $assay fit YOUR.csv --target COLUMN --time 60s     your own table
  $assay predict $out/best.assay NEW.csv             use the model
  $assay --help                                      all commands

The service, in three terminals:
  $assay serve                                       prints the address of its page
  $assay agent                                       a runner on this machine
  $assay submit configs/studies/quick.yaml           a study; watch its leaderboard on the page
T
