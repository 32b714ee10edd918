#!/bin/bash
# The manifests of configs/kubernetes: rendered by kubectl, validated strictly by kubernetes-validate, planted mistakes
# caught (kubernetes/manifests.py). `make kubernetes-peers` installs the validator; kubectl must be there.
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$0")/../e2e/lib.sh"
python=${KUBERNETES_PYTHON:-$ROOT/build/kubernetes/bin/python}
"$python" -c 'import kubernetes_validate' 2>/dev/null || { echo "kubernetes-validate is not installed: make kubernetes-peers"; exit 77; }
command -v kubectl >/dev/null || { echo "kubectl is not installed"; exit 77; }
"$ASSAY" help --json >help.json
for overlay in cpu gpu; do
    ok "kubectl renders $overlay" sh -c "kubectl kustomize '$ROOT/configs/kubernetes/overlays/$overlay' >$overlay.yaml"
done
while IFS= read -r line; do
    echo "$line"
    case $line in
    ok*) PASSED=$((PASSED + 1)) ;;
    *) FAILED=$((FAILED + 1)) ;;
    esac
done < <("$python" "$ROOT/tests/packaging/kubernetes/manifests.py" help.json cpu.yaml gpu.yaml "$ROOT/configs/kubernetes/secret.yaml" 2>&1)
ok "there were cases" test "$PASSED" -gt 15
ok "the controller takes its configuration" "$ASSAY" serve -n --config "$ROOT/configs/kubernetes/base/assayd.yaml"
sed -n 's/^ *- {name: \(ASSAY_[A-Z_]*\), value: "\{0,1\}\([^"}]*\)"\{0,1\}}.*/\1=\2/p' "$ROOT/configs/kubernetes/base/runner.yaml" | sed 's/\$(CORES)/4/' >runner.env
ok "the runner's values were found" test "$(wc -l <runner.env)" -ge 6
ok "the runner takes them" sh -c "env \$(cat runner.env | tr '\n' ' ') ASSAY_CACHE_DIR=$WORK/cache ASSAY_TOKEN_FILE=$WORK/none '$ASSAY' agent 2>&1 | grep -q 'token file $WORK/none'"
finish
