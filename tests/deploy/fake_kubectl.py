"""`kubectl` of a cluster that stands in a file: renders with the real one, and answers scripts as that file says.

The file (JSON, named by CLUSTER): `calls`, what was asked so far; `fails`, beginnings of calls that fail; `conditions`,
what a Job has come to, a list what it says one after another; `replicasets` and `pods`, lines as roll.sh asks for them;
`rollout`, the ConfigMap's data; `answers`, what is said to calls by their beginnings, before all of these.
"""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

K8S = Path(__file__).parents[2] / "deploy" / "k8s"


def main(arguments: list[str]) -> int:
    if arguments[0] == "kustomize" or "--dry-run=client" in arguments:
        return _real(arguments)
    file = Path(os.environ["CLUSTER"])
    cluster = json.loads(file.read_text("utf-8"))
    words = [word for word in arguments if word != "--namespace"]
    if "--namespace" in arguments:
        words.remove(cluster["namespace"])
    call = " ".join(words)
    cluster["calls"].append(call)
    said = ""
    if words[:3] == ["apply", "--filename", "-"]:
        import yaml  # few calls read objects

        objects = [one for one in yaml.load_all(sys.stdin.read(), Loader=yaml.CSafeLoader) if one]
        step = words[4].partition("=")[2] if len(words) > 4 else ""
        taken = [one for one in objects if not step or one["metadata"].get("labels", {}).get("playmolt/step") == step]
        cluster["applied"] += [
            [one["kind"], one["metadata"]["name"], one.get("spec", {}).get("suspend", False)] for one in taken
        ]
        for one in taken:
            if (one["kind"], one["metadata"]["name"]) == ("ConfigMap", "rollout"):
                cluster["rollout"] = one["data"]
    elif call.startswith("get configmap rollout"):
        said = cluster["rollout"].get("finish-after", "")
    elif call.startswith("get replicasets"):
        said = cluster["replicasets"]
    elif call.startswith("get pods"):
        said = cluster["pods"]
    elif call.startswith("get job/"):
        conditions = cluster["conditions"].get(words[1].partition("/")[2], "")
        said = conditions.pop(0) if isinstance(conditions, list) else conditions
    elif call.startswith("get deployments"):
        said = "deployment.apps/gateway\ndeployment.apps/relay\n"
    elif call.startswith("logs"):
        said = f"the last lines of {words[1]}\n"
    file.write_text(json.dumps(cluster), "utf-8")
    sys.stdout.write(_answer(cluster, call, said))
    return int(any(call.startswith(beginning) for beginning in cluster["fails"]))


def _real(arguments: list[str]) -> int:
    """Run the real one. What it rendered of these manifests is in the folder RENDERED, for later calls."""
    if arguments[0] != "kustomize" or not Path(arguments[-1]).resolve().is_relative_to(K8S):
        return subprocess.run([os.environ["KUBECTL"], *arguments], check=False).returncode
    file = Path(os.environ["RENDERED"]) / f"{hashlib.sha256(' '.join(arguments).encode()).hexdigest()}.yaml"
    if not file.exists():
        done = subprocess.run([os.environ["KUBECTL"], *arguments], stdout=subprocess.PIPE, check=False)
        if done.returncode != 0:
            return done.returncode
        new = file.with_suffix(f".{os.getpid()}")
        new.write_bytes(done.stdout)
        new.rename(file)
    sys.stdout.write(file.read_text("utf-8"))
    return 0


def _answer(cluster: dict[str, Any], call: str, otherwise: str) -> str:
    answers: dict[str, str] = cluster.get("answers", {})
    return next((said for beginning, said in answers.items() if call.startswith(beginning)), otherwise)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
