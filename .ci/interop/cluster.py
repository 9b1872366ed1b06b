"""Applies the manifests of the deployment to a real API server, and watches what its controllers make of them.

    python cluster.py SPENDSYNC DEPLOY
"""
import copy
import json
import os
import subprocess
import sys
import time

import yaml

spendsync, deploy = sys.argv[1:3]


def kubectl(*args, stdin=None, ok=True):
    done = subprocess.run(["kubectl", *args], input=stdin, capture_output=True, text=True)
    if ok and done.returncode:
        sys.exit(f"kubectl {' '.join(args)}: {done.stderr}")
    return done if not ok else done.stdout


def get(namespace, kind, *args):
    return json.loads(kubectl("-n", namespace, "get", kind, "-o", "json", *args))


def until(what, look, seconds=150):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.3)
    sys.exit(f"not seen in {seconds} s: {what}")


def namespace(name):
    kubectl("create", "namespace", name)
    kubectl("label", "namespace", name, "pod-security.kubernetes.io/enforce=restricted")
    return name


def templates(objects):
    """The pod templates in some objects."""
    for o in objects:
        if o["kind"] == "CronJob":
            yield o, o["spec"]["jobTemplate"]["spec"]["template"]
        elif o["kind"] in ("Deployment", "Job"):
            yield o, o["spec"]["template"]


def pod(name, template):
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **template.get("metadata", {})},
                       "spec": template["spec"]})


# Apply all variants of the deployment, each in a namespace that admits only restricted pods. A warning is a failure.
sources = [("base", ["kustomize", deploy + "/base"])]
sources += [(o, ["kustomize", f"{deploy}/overlays/{o}"]) for o in sorted(os.listdir(deploy + "/overlays"))]
rendered = {name: kubectl(*how) for name, how in sources}
rendered["cronjob"] = subprocess.run([spendsync, "cronjob", "--example"], capture_output=True, text=True, check=True).stdout
# Without values the command prints the base, except for the image's tag.
printed, base = (sorted(yaml.safe_load_all(rendered[name]), key=lambda o: o["kind"]) for name in ("cronjob", "base"))
for objects in (printed, base):
    for _, template in templates(objects):
        template["spec"]["containers"][0].pop("image")
if printed != base:
    sys.exit(f"cronjob prints {printed}, and the base is {base}")
for name, text in rendered.items():
    ns = namespace("of-" + name)
    kubectl("-n", ns, "apply", "--warnings-as-errors", "--validate=strict", "-f", "-", stdin=text)
    pods = 0
    for o, template in templates(yaml.safe_load_all(text)):
        kubectl("-n", ns, "create", "--dry-run=server", "--warnings-as-errors", "-f", "-",
                stdin=pod(o["metadata"]["name"], template))
        pods += 1
    assert pods, name
    print(f"{name}: applied, {pods} pods pass Pod Security restricted")

# Variants with one mistake each. The API server must refuse them, or Pod Security must refuse their pods.
whole = {o["kind"]: o for o in yaml.safe_load_all(rendered["base"])}
job = ["spec", "jobTemplate", "spec"]
of_pod = job + ["template", "spec"]
of_container = of_pod + ["containers", 0]
rules = job + ["podFailurePolicy", "rules", 1, "onExitCodes"]
gone = object()
broken = [
    ("a field that there is not", "CronJob", job + ["activeDeadlineSecond"], 10, "unknown field"),
    ("a schedule of four fields", "CronJob", ["spec", "schedule"], "10 * * *", "schedule"),
    ("a time zone that there is not", "CronJob", ["spec", "timeZone"], "America/Chicgo", "timeZone"),
    ("a policy that there is not", "CronJob", ["spec", "concurrencyPolicy"], "Never", "concurrencyPolicy"),
    ("pods that start again", "CronJob", of_pod + ["restartPolicy"], "Always", "restartPolicy"),
    ("a failure policy whose pods start again", "CronJob", of_pod + ["restartPolicy"], "OnFailure", "podFailurePolicy"),
    ("a failure policy for another container", "CronJob", rules + ["containerName"], "sync", "containerName"),
    ("a failure policy for success", "CronJob", rules + ["values"], [0, 2], "values"),
    ("a mount of a volume that there is not", "CronJob", of_container + ["volumeMounts", 0, "name"], "date", "volumeMounts"),
    ("two mounts in one place", "CronJob", of_container + ["volumeMounts", 1, "mountPath"], "/data", "must be unique"),
    ("less memory than it asks for", "CronJob", of_container + ["resources", "limits", "memory"], "256Mi", "memory"),
    ("a mode of a secret that there is not", "CronJob", of_pod + ["volumes", 1, "secret", "defaultMode"], 1023, "defaultMode"),
    ("two modes of a volume", "PersistentVolumeClaim", ["spec", "accessModes"], ["ReadWriteOncePod", "ReadWriteMany"],
     "ReadWriteOncePod"),
    ("a port that there is not", "NetworkPolicy", ["spec", "egress", 0, "ports", 0, "port"], 77777, "port"),
    ("root", "Pod", of_pod + ["securityContext", "runAsUser"], 0, "runAsUser"),
    ("perhaps root", "Pod", of_pod + ["securityContext", "runAsNonRoot"], gone, "runAsNonRoot"),
    ("no seccomp", "Pod", of_pod + ["securityContext", "seccompProfile", "type"], "Unconfined", "seccompProfile"),
    ("more privileges", "Pod", of_container + ["securityContext", "allowPrivilegeEscalation"], gone,
     "allowPrivilegeEscalation"),
    ("capabilities", "Pod", of_container + ["securityContext", "capabilities"], gone, "capabilities"),
    ("a folder of the node", "Pod", of_pod + ["volumes", 0], {"name": "data", "hostPath": {"path": "/var/data"}},
     "hostPath"),
    ("the network of the node", "Pod", of_pod + ["hostNetwork"], True, "host namespaces"),
]
ns = namespace("broken")
for name, kind, path, value, says in broken:
    o = copy.deepcopy(whole["CronJob" if kind == "Pod" else kind])
    at = o
    for key in path[:-1]:
        at = at[key]
    if value is gone:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    text = pod("p", o["spec"]["jobTemplate"]["spec"]["template"]) if kind == "Pod" else json.dumps(o)
    done = kubectl("-n", ns, "apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=text, ok=False)
    if done.returncode == 0 or says not in done.stderr:
        sys.exit(f"{name}: exit {done.returncode}, not refused for {says}: {done.stdout}{done.stderr}")
print(f"{len(broken)} broken variants are refused, each for its own reason")

# The CronJob must make a job. This is the only test that waits for the next minute.
ns = "of-bucket"
kubectl("-n", ns, "patch", "cronjob", "spendsync", "--type=merge", "-p", '{"spec":{"schedule":"* * * * *"}}')
made = until("a job of the CronJob", lambda: [j for j in get(ns, "jobs")["items"]
                                              if (j["metadata"].get("ownerReferences") or [{}])[0].get("name") == "spendsync"])
until("its pod", lambda: get(ns, "pods", "-l", "job-name=" + made[0]["metadata"]["name"])["items"])
kubectl("-n", ns, "patch", "cronjob", "spendsync", "--type=merge", "-p", '{"spec":{"suspend":true}}')
print("the CronJob made", made[0]["metadata"]["name"], "and a pod")


def end_pod(ns, name, code, reason=None):
    """The status that a kubelet reports for a pod whose container spendsync exited with a code."""
    spec = get(ns, "pod", name)["spec"]
    state = {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed"}}
    status = {"phase": "Failed" if code else "Succeeded",
              "containerStatuses": [{"name": "spendsync", "image": "i", "imageID": "i", "ready": False, "restartCount": 0,
                                     "state": state}],
              "initContainerStatuses": [{"name": c["name"], "image": "i", "imageID": "i", "ready": False,
                                         "restartCount": 0, "state": {"terminated": {"exitCode": 0}}}
                                        for c in spec.get("initContainers", [])]}
    if reason:
        status["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": reason}]
    kubectl("-n", ns, "patch", "pod", name, "--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))


def pods_of(ns, job):
    return [p["metadata"]["name"] for p in get(ns, "pods", "-l", "job-name=" + job)["items"]]


def condition(ns, job):
    for c in get(ns, "job", job)["status"].get("conditions", []):
        if c["status"] == "True" and c["type"] in ("Complete", "Failed"):
            return c["type"], c.get("reason", "")
    return None


# Whether the cluster retries a run depends on its exit code, as the manual states: does running again help? A signal
# that ends a pod counts as a disruption, not as a failure.
for ns, cronjob in (("of-base", "spendsync"), ("of-bucket", "spendsync"), ("of-bucket", "spendsync-drill")):
    for code, again in [(0, False), (2, False), (3, False), (4, False), (6, False), (8, False), (9, False), (10, False),
                        (11, False), (1, True), (5, True), (7, True), (143, True), ("drained", True)]:
        job = f"{cronjob}-{code}"
        kubectl("-n", ns, "create", "job", job, "--from=cronjob/" + cronjob)
        first = until(f"a pod of {job}", lambda: pods_of(ns, job))[0]
        end_pod(ns, first, *((143, "EvictionByEvictionAPI") if code == "drained" else (code,)))
        if again:
            until(f"a second pod of {job}", lambda: set(pods_of(ns, job)) - {first})
            status = get(ns, "job", job)["status"]
            want = 0 if code == "drained" else 1
            if condition(ns, job) or status.get("failed", 0) != want:
                sys.exit(f"{ns} {job}: {condition(ns, job)}, {status.get('failed', 0)} failures, want {want}")
            continue
        is_so = until(f"the end of {job}", lambda: condition(ns, job))
        want = "Complete" if code == 0 else "Failed"
        if is_so[0] != want or code and is_so[1] != "PodFailurePolicy" or pods_of(ns, job) != [first]:
            sys.exit(f"{ns} {job}: {is_so}, pods {pods_of(ns, job)}")
    print(f"{ns} {cronjob}: 0 completes; 2, 3, 4, 6, 8, 9, 10, 11 end the job; 1, 5, 7, 143 are tried again; "
          "a drained node counts as no failure")
