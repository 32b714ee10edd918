#!/bin/bash
# How soon halving with a model gets to where random search ends: on real tables, with real runners, boosting and linear
# models, each search for TIME with each of SEEDS. Prints, per table and seed, random's last validation score and the time at
# which it and the others first had that, then the median share of random's time (the bar: half).
# Usage: [SEEDS="1 2 3 4 5"] [TIME=120] [RUNNERS=1] [SEARCHES="tpe/asha tpe/hyperband"] tests/bench/bench_halving.sh [TABLE...]
B=${B:-build/gcc}
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
[ -d "$DATA" ] || { echo "no ../shared/datasets here"; exit 77; }
SEEDS=${SEEDS:-1 2 3 4 5}
TIME=${TIME:-120}
RUNNERS=${RUNNERS:-1}
SEARCHES=${SEARCHES:-tpe/asha tpe/hyperband}

# One search; leaves curve.json: [[seconds since the start, best score so far], ...].
search() { # file target metric validation seed sampler scheduler
    local dir=data.$6.$7 sock server
    cat >spec.yaml <<SPEC
name: search
dataset: $1
target: $2
metric: $3
validation: $4
seed: $5
budget: {time: ${TIME}s}
sampler: $6
scheduler: $7
space: [{family: boost}, {family: linear}]
SPEC
    rm -rf "$dir"
    "$ASSAY" run spec.yaml --dir "$dir" --runners "$RUNNERS" --json -o m.assay >run.json 2>err || cat err
    sock=$PWD/$dir/sock
    "$ASSAY" serve --data-dir "$dir" --listen "" >serve.log 2>&1 &
    server=$!
    PIDS=$server
    for _ in $(seq 100); do [ -S "$sock" ] && break; sleep 0.1; done
    "$ASSAY" trials search --limit 1000 --state completed --server "unix:$sock" --json >trials.json
    "$ASSAY" show search --server "unix:$sock" --json >study.json
    kill "$server" && wait "$server" 2>/dev/null
    # shellcheck disable=SC2034
    PIDS=""
    # Scores over all rows of the validation, also of trials that are paused: had the search ended then, one of these had shipped.
    sqlite3 -json "$dir/assay.db" "SELECT at AS ended_at, json_extract(data, '\$.value') AS score FROM journal WHERE
        event = 'report' AND json_extract(data, '\$.level') >= $([ "$4" = kfold ] && echo 2 || echo 1)" >rungs.json
    [ -s rungs.json ] || echo '[]' >rungs.json
    jq --slurpfile s study.json --slurpfile r rungs.json '($s[0].started_at) as $t | ($s[0].larger_is_better) as $up
        | [.trials[], $r[0][] | select(.score != null) | [(.ended_at - $t) / 1000, .score]] | sort_by(.[0])
        | reduce .[] as $x ([]; . + [[$x[0], if length == 0 then $x[1]
            elif $up then ([.[-1][1], $x[1]] | max) else ([.[-1][1], $x[1]] | min) end]])' \
        trials.json >curve.json
    jq .larger_is_better study.json >up.json
}

# Seconds until the curve has this score; "-" if it never has.
reach() { # score
    jq -r --argjson want "$1" --argjson up "$(cat up.json)" \
        '[.[] | select(if $up then .[1] >= $want else .[1] <= $want end)][0][0] // "-"' curve.json
}

median() { tr ' ' '\n' | grep . | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

table() { # name file target metric validation
    local seed want base took s shares
    case " ${WANT:-$1} " in *" $1 "*) ;; *) return ;; esac
    echo "$1 ($4, ${TIME} s, $RUNNERS runner(s))"
    : >shares
    for seed in $SEEDS; do
        search "$DATA/$2" "$3" "$4" "$5" "$seed" random none
        want=$(jq '.[-1][1]' curve.json)
        base=$(reach "$want")
        echo "  seed $seed: random/none $want at ${base} s of $TIME s, $(jq length curve.json) models"
        for s in $SEARCHES; do
            search "$DATA/$2" "$3" "$4" "$5" "$seed" "${s%/*}" "${s#*/}"
            took=$(reach "$want")
            echo "  seed $seed: $s has that at $took s; $(jq '.[-1][1]' curve.json) at the end, $(jq length curve.json) models"
            echo "$s ${took/-/$TIME}" >>shares
        done
    done
    for s in $SEARCHES; do
        shares=$(awk -v s="$s" -v t="$TIME" '$1 == s { print $2 / t }' shares | tr '\n' ' ')
        echo "$1: $s needs $(median <<<"$shares") of random's time (median of $(wc -w <<<"$shares"), bar 0.5)"
    done
}
WANT="$*"
[ -n "$WANT" ] || unset WANT
table adult adult.csv.gz income auc kfold
table letter letter.csv class accuracy holdout
table covertype covertype_150k.csv.gz Cover_Type accuracy holdout
