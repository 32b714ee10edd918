#!/bin/bash
# Pipelines that a spec fixes or ranges: preview and board say them, each trial's pipeline is in the API and drawn, the model
# carries its steps, and what it predicts scores what the leaderboard says, whichever way its table was prepared.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"

awk 'BEGIN { srand(11); print "x,holes,tails,zip,month,note,fixed,y" > "train.csv"; print "x,holes,tails,zip,month,note,fixed,y" > "test.csv"
    split("good bad fine poor great awful slow fast red blue", w, " ")
    for (i = 0; i < 2400; i++) {
        x = rand() * 4 - 2; z = int(rand() * 50); m = int(rand() * 12) + 1; t = exp(8 * (rand() - 0.5)); k = int(rand() * 10) + 1
        line = sprintf("%.5f,%s,%.6g,%d,%d,the %s thing that we saw in place %d was all of it,5,%.4f", x, i % 6 ? sprintf("%.4f", x + rand()) : "", \
            t, 20000 + z * 17, m, w[k], i % 50, x + 4 * sin(z * 37) + 2 * sin(m * 2.1) + 0.4 * log(t) + k / 3 + rand())
        print line > (i < 1800 ? "train.csv" : "test.csv")
    } }'
spec() { # family, its choices
    cat >spec.yaml <<END
name: $1
dataset: train.csv
test: {dataset: test.csv}
target: y
seed: 3
sampler: grid
columns: {note: text}
budget: {trials: 3}
validation: {kind: kfold, folds: 3}
ensemble: off
space:
  - {family: $1, $2}
END
}
start_service
spec linear "prep_scale: [robust, quantile], prep_codes: levels, prep_text: scores, prep_pairs: auto"
ok "preview takes words" "$ASSAY" preview spec.yaml
cp out previewed
ok "and says them" grep -q 'linear.prep_scale.*robust.*quantile' previewed
ok "a study of two scales" "$ASSAY" submit spec.yaml --follow
ok "its trials" "$ASSAY" trials linear
ok "the first of them" "$ASSAY" trial linear/2
cp out drawn
ok "has its words" grep -q 'prep_codes *levels' drawn
ok "is drawn: codes are levels" grep -q '2 codes *zip, month' drawn
ok "its scale" grep -qE 'drawn in beyond it|as a logit' drawn
ok "texts by scores only" grep -q 'what its words say of the target' drawn
ok "without topics" bash -c "! grep -q topics drawn"
ok "what is left out, and why" grep -q 'left out: fixed (the same value in all training rows)' drawn
ok "the target is told" grep -q 'left out: y (the target)' drawn
ok "a trial as JSON is as ever" "$ASSAY" trial linear/2 --json
ok "export" "$ASSAY" export linear -o linear.assay
ok "explain --pipeline" "$ASSAY" explain linear.assay --pipeline
cp out drawn
ok "draws the model's" grep -q '2 codes *zip, month' drawn
ok "as JSON" "$ASSAY" explain linear.assay --pipeline --json
cp out drawn
ok "with the form" grep -q '"form": "dense"' drawn
ok "explain draws it above the importance" "$ASSAY" explain linear.assay
cp out drawn
ok "both" bash -c "grep -q '→ linear, which reads' drawn && grep -q importance drawn"
ok "--pipeline and a table do not go together" bash -c "! $ASSAY explain linear.assay test.csv --pipeline"

# What ships predicts what was scored: the test score on the board is that of the model file, to the last digit.
same() { # model, study
    "$ASSAY" show "$2" --json >study.json && "$ASSAY" score "$1" test.csv --json >scored.json || return 1
    python3 - <<'END'
import json
best = json.load(open("study.json"))["best"]["test_score"]
said = json.load(open("scored.json"))
found = [v for v in json.dumps(said).replace("{", " ").replace("}", " ").replace(",", " ").split() if v.startswith(f"{best:.6f}"[:7])]
raise SystemExit(0 if found else f"{best} is not in {said}")
END
}
ok "predict is what was scored" same linear.assay linear
for f in boost "mlp epochs"; do
    set -- $f
    more="prep_codes: levels, prep_text: scores, prep_pairs: more"
    [ "$1" = mlp ] && more="$more, prep_scale: quantile, prep_missing: low, epochs: 4, width: 32, members: 1, embedding: none"
    spec "$1" "$more"
    sed -i 's/sampler: grid/sampler: random/; s/trials: 3/trials: 2/' spec.yaml
    ok "a study of $1" "$ASSAY" submit spec.yaml --follow
    ok "export $1" "$ASSAY" export "$1" -o "$1.assay"
    ok "$1 predicts what was scored" same "$1.assay" "$1"
done
ok "mlp is drawn though nothing else explains it" "$ASSAY" explain mlp.assay --pipeline
cp out drawn
ok "with its filling" grep -q 'missing values become the lowest value' drawn

# Bad words are refused with their place.
refused() { # place, choices
    spec linear "$2"
    sed -i 's/^name: .*/name: refused/' spec.yaml
    ! "$ASSAY" submit spec.yaml 2>refusal && grep -q "$1" refusal
}
ok "an unknown word" refused 'space\[0\].prep_scale' "prep_scale: log"
ok "an unknown word in a list" refused 'space\[0\].prep_text\[1\]' "prep_text: [scores, all]"
ok "the same word twice" refused 'twice' "prep_text: [scores, scores]"
spec boost "prep_scale: robust"
sed -i 's/^name: .*/name: refused/' spec.yaml
ok "a choice that the family does not have" bash -c "! $ASSAY submit spec.yaml 2>refusal && grep -q prep_scale refusal"
finish
