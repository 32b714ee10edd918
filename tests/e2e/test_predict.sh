#!/bin/bash
# Predictions over REST: rows as JSON and as CSV give what `assay predict` gives of the same rows, digit for digit; what
# is wrong is named by row and column; the models in memory have a bound; a killed predictor costs its request only.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/lib.sh"
command -v curl >/dev/null && command -v python3 >/dev/null || { echo "skipped: no curl or python3"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }

python3 - <<'END'
import random
r = random.Random(3)
def table(name, n, target):
    with open(name, "w") as f:
        f.write("age,job,town,income\n" if target else "age,job,town\n")
        for _ in range(n):
            age, job, town = r.randint(18, 80), r.choice(["nurse", "cook", 'say "x", y', "smith"]), r.choice("ABCD")
            cells = [str(age) if r.random() > .05 else "", '"' + job.replace('"', '""') + '"', town if r.random() > .05 else "unseen"]
            if target == "class":
                cells.append("high" if (age > 45) ^ (job == "cook") ^ (r.random() < .1) else "low")
            elif target:
                cells.append(f"{1e6 + age * 3.7 + len(job) + r.gauss(0, 1):.4f}")
            f.write(",".join(cells) + "\n")
table("class.csv", 500, "class"), table("number.csv", 500, "number"), table("new.csv", 300, None)
END
python3 - <<'END'
import csv, json
rows = list(csv.DictReader(open("new.csv")))
typed = [{k: (None if v == "" else int(v) if k == "age" else v) for k, v in row.items()} for row in rows]
json.dump({"rows": typed}, open("new.json", "w"))
json.dump({"columns": ["town", "age", "job"], "rows": [[t["town"], t["age"], t["job"]] for t in typed]}, open("lists.json", "w"))
END

start_service
TOKEN_ARGS=(--unix-socket data/sock)
api() { patient_curl "${TOKEN_ARGS[@]}" "$@"; }
URL=http://localhost/api/v1
for target in class number; do
    cat >$target.yaml <<END
{name: $target, dataset: $target.csv, target: income, budget: {trials: 6}, seed: 3, space: [{family: linear}, {family: boost}]}
END
    "$ASSAY" submit $target.yaml --follow -o $target.assay >submit.log 2>&1 || cat submit.log
    "$ASSAY" predict $target.assay new.csv -o $target.expected 2>/dev/null
done

csv_of() { # study: what the service says of new.csv
    api -H 'Content-Type: text/csv' --data-binary @new.csv "$URL/models/$1/predict" >"$1.csv.out" && cmp "$1.csv.out" "$1.expected"
}
ok "CSV in, CSV out: the bytes of assay predict (classes)" csv_of class
ok "CSV in, CSV out: the bytes of assay predict (numbers)" csv_of number
json_of() { # study file
    api -H 'Content-Type: application/json' --data-binary @"$2" "$URL/models/$1/predict" >"$1.json.out" || return 1
    python3 - "$1" <<'END'
import csv, json, sys
name = sys.argv[1]
out, expected = json.load(open(f"{name}.json.out")), list(csv.DictReader(open(f"{name}.expected")))
assert out["rows"] == len(expected) == len(out["predictions"])
for i, row in enumerate(expected):
    if name == "class":
        assert out["predictions"][i] == row["prediction"], i
        for k, c in enumerate(out["classes"]):
            assert out["probabilities"][i][k] == float(row["p_" + c]), (i, c)
    else:
        assert out["predictions"][i] == float(row["prediction"]), i
END
}
ok "JSON objects: the same predictions and probabilities" json_of class new.json
ok "JSON lists with named columns: the same" json_of class lists.json
ok "JSON: the same numbers" json_of number new.json
both_ways() {
    api -H 'Content-Type: application/json' --data-binary @new.json "$URL/models/class/predict?format=csv" | cmp - class.expected
}
ok "JSON in, CSV out" both_ways

named() { # every name of a model: the study's id, its trial, the hash
    local sha id name
    sha=$(sha256sum class.assay | cut -d' ' -f1)
    id=$(api "$URL/studies/class" | jq .id)
    for name in "$id" "$sha"; do
        api -H 'Content-Type: text/csv' --data-binary @new.csv "$URL/models/$name/predict" | cmp - class.expected || return 1
    done
    id=$(api "$URL/studies/class/leaderboard" | jq '[.rows[] | select(.artifact)][0].trial')
    api -H 'Content-Type: text/csv' --data-binary @new.csv "$URL/models/trial:$id/predict" | head -1 | grep -q '^prediction,p_' || return 1
    api "$URL/models/class" | jq -e --arg sha "$sha" '.model == $sha and .description.target == "income"'
}
command -v jq >/dev/null && ok "a model has three names, and a description" named

refused() { # status text query body
    local status
    status=$(curl -sS --retry 20 --retry-delay 1 "${TOKEN_ARGS[@]}" -o problem.json -w '%{http_code}' -H "Content-Type: ${5:-application/json}" --data-binary "$4" "$URL/models/${6:-class}/predict$3")
    [ "$status" = "$1" ] && grep -qF -- "$2" problem.json || { echo "$status"; cat problem.json; return 1; }
}
ok "a missing column is named" refused 400 'lacks 1 of the 3 columns of the model: \"town\"' '' '{"rows": [{"age": 1, "job": "cook"}]}'
ok "... or read as missing, with a note" eval 'api -H "Content-Type: application/json" -d "{\"rows\": [{\"age\": 1, \"job\": \"cook\"}]}" "$URL/models/class/predict?missing_columns=missing" | grep -q "\"notes\":\[\"1 columns are missing"'
ok "a bad cell is named by row and column (JSON)" refused 400 '"where":"rows[1].age"' '?bad_cells=error' '{"rows": [{"age": 1, "job": "cook", "town": "A"}, {"age": "many", "job": "cook", "town": "A"}]}'
ok "a bad cell is named by row and column (CSV)" refused 400 'row 2, column \"age\": \"many\" is no number' '?bad_cells=error' $'age,job,town\n?,cook,A\nmany,cook,A\n7,cook,A\n' text/csv
ok "... or counts as missing, with a note" eval 'api -D head -H "Content-Type: text/csv" --data-binary $'"'"'age,job,town\nmany,cook,A\n7,cook,A\n'"'"' "$URL/models/class/predict" && grep -qi "^x-assay-note: 0 columns and 1 further cells" head'
ok "a row that is no row" refused 400 '"where":"rows[1]"' '' '{"rows": [{"age": 1, "job": "cook", "town": "A"}, 7]}'
ok "a list of another length" refused 400 '"where":"rows[0]"' '' '{"rows": [[1, "cook"]]}'
ok "no rows" refused 400 '"where":"rows"' '' '{"rows": []}'
ok "an unknown key" refused 400 'did you mean rows' '' '{"row": [1]}'
ok "no body" refused 400 'rows are needed' '' ''
ok "no JSON" refused 400 'the body' '' '{"rows": ['
ok "a broken CSV row is named" refused 400 'line 3' '' $'age,job,town\n1,cook,A\n1,cook\n' text/csv
ok "another form of body" refused 400 'text/csv' '' 'x' application/xml
ok "a threshold for numbers" refused 400 '"where":"threshold"' '?threshold=0.5' '{"rows": [{"age": 1, "job": "cook", "town": "A"}]}' application/json number
ok "a threshold that is none" refused 400 '"where":"threshold"' '?threshold=2' '{"rows": []}'
ok "a study that is not there" refused 404 'nothing' '' '{"rows": [[1]]}' application/json nothing
ok "a hash that is not there" refused 404 'no blob' '' '{"rows": [[1]]}' application/json "$(printf 'a%.0s' $(seq 64))"
ok "a file that is no model" refused 400 'model' '' '{"rows": [[1]]}' application/json "$(sha256sum class.csv | cut -d' ' -f1)"
ok "a NUL byte" eval 'printf "age,job,town\n1,co\0ok,A\n" >nul.csv; api -H "Content-Type: text/csv" --data-binary @nul.csv "$URL/models/class/predict" | grep -q "NUL"'
threshold() {
    api -H 'Content-Type: text/csv' --data-binary @new.csv "$URL/models/class/predict?threshold=0.9" >high
    "$ASSAY" predict class.assay new.csv --threshold 0.9 2>/dev/null | cmp - high
}
ok "a threshold" threshold
python3 -c 'print("age,job,town"); [print("1,cook,A") for _ in range(100001)]' >many.csv
ok "more rows than are predicted at once" refused 413 '100001 rows' '' @many.csv text/csv

survives() { # the predictor is killed: the next request starts it again
    local pid
    pid=$(sed -n 's/.*predictor.start pid=\([0-9]*\).*/\1/p' serve.log | tail -1)
    kill -9 "$pid"
    until grep -q "predictor.dead pid=$pid" serve.log; do sleep 0.05; done
    csv_of class && csv_of number && [ "$(grep -c predictor.start serve.log)" = 2 ]
}
ok "a predictor that was killed is started again" survives
secret() { # it holds no token, and no frame of anybody's rows is left
    local pid
    pid=$(sed -n 's/.*predictor.start pid=\([0-9]*\).*/\1/p' serve.log | tail -1)
    ! tr '\0' '\n' <"/proc/$pid/environ" | grep -q '^ASSAY' && [ -z "$(ls -A data/predict)" ]
}
ok "it has no token, and rows are not kept" secret
together() { # 40 requests at once: answered, or told to come again
    local pids=
    for i in $(seq 40); do
        curl -sS --retry 5 --retry-delay 1 "${TOKEN_ARGS[@]}" -o "many.$i" -w '%{http_code}\n' -H 'Content-Type: text/csv' --data-binary @new.csv \
            "$URL/models/class/predict" >"code.$i" &
        pids="$pids $!"
    done
    # shellcheck disable=SC2086
    wait $pids
    for i in $(seq 40); do
        case $(cat "code.$i") in 200) cmp "many.$i" class.expected || return 1 ;; 503) ;; *) return 1 ;; esac
    done
    [ "$(cat code.* | grep -c 200)" -ge 30 ]
}
ok "many at once" together
ends() { # it ends with the controller
    local pid
    pid=$(sed -n 's/.*predictor.start pid=\([0-9]*\).*/\1/p' serve.log | tail -1)
    for p in $PIDS; do kill "$p"; done
    within 30 is_gone "$pid"
}
is_gone() { ! kill -0 "$1" 2>/dev/null; }
ok "it ends with the controller" ends
finish
