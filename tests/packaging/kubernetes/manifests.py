"""Checks rendered manifests: manifests.py HELP.json FILE...; prints "ok NAME" or "FAILED NAME: why", one line a case.

Every object must pass the schemas of the three newest versions, strictly; in each kind of object, planted mistakes must be
caught; and what the manifests say to Assay (options, labels that select each other, names) must fit together."""
import copy
import glob
import json
import os
import sys

import kubernetes_validate
import yaml


def case(name, problem):
    print(f"FAILED {name}: {problem}" if problem else f"ok {name}")


def newest(n):
    folder = os.path.join(os.path.dirname(kubernetes_validate.__file__), "kubernetes-json-schema")
    names = {os.path.basename(p)[1:].split("-")[0] for p in glob.glob(folder + "/v*-local-strict")}
    return sorted(names, key=lambda v: [int(x) for x in v.split(".")])[-n:]


def problem_of(thing, version):
    try:
        kubernetes_validate.validate(thing, version, strict=True)
    except Exception as e:  # the library has several kinds, and every one of them is a refusal
        return str(e).split("\n")[0][:200] or type(e).__name__
    return None


def mistakes(thing):
    """The object with one mistake each: a misspelt key at each depth of its main part, and a value of a wrong type."""
    part = next(k for k in ("spec", "data", "stringData", "automountServiceAccountToken", "metadata") if k in thing)
    bad = copy.deepcopy(thing)
    bad[part + "z"] = bad.pop(part)
    yield f"{part}z", bad
    bad = copy.deepcopy(thing)
    bad[part] = 7 if part != "automountServiceAccountToken" else "perhaps"
    yield f"{part} of a wrong type", bad
    bad = copy.deepcopy(thing)
    bad["metadata"]["namez"] = "x"
    yield "metadata.namez", bad
    if isinstance(thing.get("spec"), dict) and thing["spec"]:
        key = sorted(thing["spec"])[0]
        bad = copy.deepcopy(thing)
        bad["spec"][key + "z"] = bad["spec"].pop(key)
        yield f"spec.{key}z", bad
    pod = thing.get("spec", {}).get("template", {}).get("spec") if isinstance(thing.get("spec"), dict) else None
    if pod:
        bad = copy.deepcopy(thing)
        bad["spec"]["template"]["spec"]["containers"][0]["imagez"] = "x"
        yield "containers[0].imagez", bad
        bad = copy.deepcopy(thing)
        bad["spec"]["template"]["spec"]["containers"][0]["ports"] = [{"containerPort": "many"}]
        yield "containerPort: many", bad


def fits(things, options):
    """What no schema knows."""
    by = {(t["kind"], t["metadata"]["name"]): t for t in things}
    pods = [t["spec"]["template"] for t in things if "template" in t.get("spec", {})]
    for t in things:
        spec = t.get("spec", {})
        selector = spec.get("selector") or spec.get("podSelector") or {}
        labels = selector.get("matchLabels", selector)
        if labels and not any(labels.items() <= p["metadata"]["labels"].items() for p in pods):
            yield f"{t['kind']} {t['metadata']['name']} selects no pod by {labels}"
        if "template" in spec and not labels.items() <= spec["template"]["metadata"]["labels"].items():
            yield f"{t['kind']} {t['metadata']['name']} does not select its own pods"
    for p in pods:
        for c in p["spec"]["containers"]:
            known = options["assayd" if "assayd" in c["command"] else "assay-runner"]
            for e in c["env"]:
                if e["name"].startswith("ASSAY_") and e["name"] != "ASSAY_URL" and e["name"] not in known:
                    yield f"{e['name']} is no option of {c['command'][0]}"
            mounts = {m["name"] for m in c["volumeMounts"]}
            volumes = {v["name"] for v in p["spec"]["volumes"]} | {"data"}
            if not mounts <= volumes:
                yield f"no volume for {mounts - volumes}"
        for v in p["spec"]["volumes"]:
            name = v.get("configMap", {}).get("name")
            if name and ("ConfigMap", name) not in by:
                yield f"no ConfigMap {name}"
    dns = [peer for (kind, name), t in by.items() if kind == "NetworkPolicy" for rule in t["spec"].get("egress", [])
           for peer in rule.get("to", []) if "namespaceSelector" in peer]
    if [peer["podSelector"]["matchLabels"] for peer in dns] != [{"k8s-app": "kube-dns"}]:
        yield f"runners may ask for names at {dns}"
    target = by[("HorizontalPodAutoscaler", "assay-runner")]["spec"]["scaleTargetRef"]
    if (target["kind"], target["name"]) not in by:
        yield "the autoscaler scales nothing"


help_ = json.load(open(sys.argv[1]))
options = {k: {o["variable"] for o in help_[k]} for k in ("assayd", "assay-runner")}
versions = newest(3)
kinds = {}
for path in sys.argv[2:]:
    things = [t for t in yaml.safe_load_all(open(path)) if t]
    name = os.path.basename(path)
    for version in versions:
        bad = [f"{t['kind']}/{t['metadata']['name']}: {problem_of(t, version)}" for t in things if problem_of(t, version)]
        case(f"{name}: {len(things)} objects are valid for {version}", "; ".join(bad))
    for t in things:
        kinds.setdefault(t["kind"], t)
    if len(things) > 1:
        case(f"{name}: options, selectors, volumes and names fit together", "; ".join(fits(things, options)))
for kind, thing in sorted(kinds.items()):
    missed = [what for what, bad in mistakes(thing) if not problem_of(bad, versions[-1])]
    case(f"{kind}: {len(list(mistakes(thing)))} planted mistakes are caught", ", ".join(missed))
