#!/bin/bash
# Manual pages, completion, configuration files and units: made from the program's tables, installed and removed.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
man=$ROOT/${B:-build/gcc}/manual
flags=${B:+CC=$(basename "${B%%-*}")}
ok "the pages are made" make -s -C "$ROOT" ${flags:+"$flags"} ${SAN:+"SAN=$SAN"} CUDA=0 manual
[ -s "$man/assay.1" ] || { finish; exit 1; }

# ---- every option is in its page ----
"$ASSAY" help --json >help.json
plain() { sed 's/\\-/-/g; s/\\f.//g; s/\\&//g' "$1"; }
missing() { # page, then names on standard input
    plain "$1" >page.txt
    while read -r name; do grep -qF -- "$name" page.txt || echo "$name"; done
}
ok "there are options" test "$(jq '[.commands[].options[]?] | length' help.json)" -gt 200
ok "assay.1 has every option" test -z "$(jq -r '.commands[].options[]?.name | "--" + .' help.json | sort -u | missing "$man/assay.1")"
ok "assay.1 has every command" test -z "$(jq -r '.commands[].name | "assay " + .' help.json | missing "$man/assay.1")"
ok "assayd.8 has every option" test -z "$(jq -r '.assayd[].name | "--" + .' help.json | missing "$man/assayd.8")"
ok "assay-runner.8 has every option" test -z "$(jq -r '."assay-runner"[].name | "--" + .' help.json | missing "$man/assay-runner.8")"
ok "each command has its options under its own heading" test -z "$(jq -r '.commands[] | .name as $c | .options[]? | $c + " --" + .name' help.json |
    grep -vE -- '--(server|token|token-file|tls-pin|tls-ca|insecure)$' | while read -r c o; do
    plain "$man/assay.1" | sed -n "/^\.SS \"assay $c\"/,/^\.S[SH] /p" | grep -qF -- "$o" || echo "$c $o"; done)"
start_service alone
curl -s --unix-socket data/sock http://localhost/api/v1/openapi.json >api.json
ok "assay-spec.5 has every key of the spec's schema" test -z "$(jq -r '.components.schemas.Spec.properties | keys[]' api.json | missing "$man/assay-spec.5")"
ok "the schema has keys" test "$(jq '.components.schemas.Spec.properties | length' api.json)" -gt 20
if command -v mandoc >/dev/null; then
    for page in assay.1 assayd.8 assay-runner.8 assay-spec.5; do
        ok "mandoc finds nothing in $page" test -z "$(mandoc -T lint "$man/$page" 2>&1)"
        ok "no word of $page is left in Markdown" test -z "$(mandoc -T utf8 "$man/$page" | col -b | grep -E '\]\(|\*\*|^ *\|' | head -3)"
    done
else
    skip "mandoc" "it is not installed"
fi

# ---- completion, in the shells themselves ----
bash_completes() { # words...: the last one is completed
    bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _assay; printf "%s\n" "${COMPREPLY[@]}"' - "$man/assay.bash" "$@" 2>/dev/null | paste -sd' '
}
touch here.csv
ok "bash: a command" test "$(bash_completes assay pred)" = predict
ok "bash: an option of a command" test "$(bash_completes assay predict --thre)" = --threshold
ok "bash: only its own" test -z "$(bash_completes assay predict --sampl)"
ok "bash: a verb" test "$(bash_completes assay runner dr)" = drain
ok "bash: a file as a value" test "$(bash_completes assay submit --token-file he)" = "here.csv help.json"
ok "bash: a file as an operand" test "$(bash_completes assay fit her)" = here.csv
ok "bash: nothing where a number is wanted" test -z "$(bash_completes assay fit --trials h)"
ok "bash: the daemons" test "$(bash_completes assayd --lease) $(bash_completes assay-runner --cache-l)" = "--lease-ms --cache-limit"
if command -v zsh >/dev/null; then
    zsh_completes() { # typed text, with tabs
        on_terminal 200 zsh.out "fpath=($man \$fpath); autoload -Uz compinit; compinit -u -D; assay() { echo GOT \$* }\n$1\nexit\n" zsh -f -i
        tr -d '\r' <zsh.out | sed -n 's/^GOT //p' | tail -1 | sed 's/ *$//'
    }
    ok "zsh: a command and its option" test "$(zsh_completes 'assay predi\t--thre\t1')" = "predict --threshold=1"
    ok "zsh: a verb" test "$(zsh_completes 'assay runner dr\t')" = "runner drain"
    ok "zsh: a file" test "$(zsh_completes 'assay fit her\t')" = "fit here.csv"
else
    skip "zsh" "it is not installed"
fi
if command -v fish >/dev/null; then
    fish_completes() { HOME=$WORK fish --no-config -c "source $man/assay.fish; complete -C '$1'" 2>&1 | cut -f1 | paste -sd' '; }
    ok "fish: a command" test "$(fish_completes 'assay predi')" = predict
    ok "fish: an option of a command" test "$(fish_completes 'assay predict --thre')" = --threshold
    ok "fish: only its own" test -z "$(fish_completes 'assay predict --sampl')"
    ok "fish: a verb" test "$(fish_completes 'assay runner dr')" = drain
    ok "fish: the daemons" test "$(fish_completes 'assayd --lease') $(HOME=$WORK fish --no-config -c "source $man/assay.fish; complete -C 'assay-runner --cache-l'" | cut -f1)" = "--lease-ms --cache-limit"
else
    skip "fish" "it is not installed"
fi

# ---- installed configuration, as it is and with every line that is commented out ----
for name in assayd assay-runner; do
    conf=$ROOT/configs/etc/$name.yaml
    ok "$name.yaml is valid" test "$(grep -cE '^[a-z_]+: ' "$conf")" -gt 1
    ok "$name.yaml names only options that exist" test -z "$(sed -nE 's/^#?([a-z_]+): .*/\1/p' "$conf" | sort -u |
        grep -vxF "$(jq -r --arg n "$name" '.[$n][].key' help.json)")"
done
ok "assayd takes its configuration" "$ASSAY" serve -n --config "$ROOT/configs/etc/assayd.yaml"

# ---- install and uninstall ----
install_to() { make -s -C "$ROOT" ${flags:+"$flags"} ${SAN:+"SAN=$SAN"} CUDA=0 "$1" "DESTDIR=$WORK/root" PREFIX=/opt/assay; }
ok "make install" install_to install
ok "the installed program runs" root/opt/assay/bin/assay --version
ok "the units name what was installed" grep -qx 'ExecStart=/opt/assay/bin/assayd --config /opt/assay/etc/assay/assayd.yaml' root/opt/assay/lib/systemd/system/assayd.service
ok "no placeholder is left" test -z "$(grep -rIlE "@[A-Z]+@" root)"
echo "listen: 127.0.0.1:1" >root/opt/assay/etc/assay/assayd.yaml
ok "installing again" install_to install
ok "keeps a configuration that was changed" grep -qx 'listen: 127.0.0.1:1' root/opt/assay/etc/assay/assayd.yaml
ok "make uninstall" install_to uninstall
ok "leaves the configuration only" test "$(cd root && find . -type f -o -type l | sort | paste -sd' ')" = "./opt/assay/etc/assay/assay-runner.yaml ./opt/assay/etc/assay/assayd.yaml"
ok "and no empty folders" test "$(cd root && find . -mindepth 1 -type d | sort | paste -sd' ')" = "./opt ./opt/assay ./opt/assay/etc ./opt/assay/etc/assay"

# ---- units ----
if command -v systemd-analyze >/dev/null; then
    mkdir units
    for unit in assayd.socket assayd.service assay-runner.service; do
        sed "s|@BINDIR@|$(dirname "$ASSAY")|; s|@SYSCONFDIR@|/etc|; s|@LIBDIR@/assay/local-token|/bin/true|" "$ROOT/configs/systemd/$unit" >units/$unit
    done
    ok "systemd finds nothing wrong with the units" test -z "$(systemd-analyze verify --man=no units/assayd.socket units/assayd.service units/assay-runner.service 2>&1)"
    sed 's/^Restart=/Restrat=/' units/assayd.service >units/wrong.service
    ok "it would find a misspelt key" test -n "$(systemd-analyze verify --man=no units/wrong.service 2>&1)"
    for unit in assayd assay-runner; do
        level=$(systemd-analyze security --offline=true units/$unit.service | sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p')
        ok "the exposure of $unit.service, ${level:-unknown}, is below 3" awk -v l="${level:-10}" 'BEGIN { exit !(l < 3) }'
    done
else
    skip "units" "systemd-analyze is not installed"
fi
finish
