"""Renders every overlay with this build's image and checks the objects."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match
from kubernetes_validate.utils import schema_contents
from referencing import Registry, Resource

from deploy.release import image
from deploy.release.source import DIST, ROOT, Unfit, run, tool

FOLDER: Final = DIST / "manifests"
OVERLAYS: Final = ROOT / "deploy" / "k8s" / "overlays"
KUBERNETES: Final = "1.34"
PINNED: Final = re.compile(r"[^@\s]+(:v?\d[\w.-]*|@sha256:[0-9a-f]{64})")

Json = Mapping[str, Any]


def make() -> str:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    names = sorted(path.name for path in OVERLAYS.iterdir() if (path / "kustomization.yaml").exists())
    for name in names:
        text = _rendered(OVERLAYS / name)
        _check(name, [one for one in yaml.load_all(text, Loader=yaml.CSafeLoader) if one])
        (FOLDER / f"{name}.yaml").write_text(text, "utf-8")
    return f"{', '.join(names)} with {' '.join(image.transformer().values())}"


def _rendered(overlay: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        inside = Path(folder).resolve()
        wanted = {"resources": [os.path.relpath(overlay, inside)], "images": [image.transformer()]}
        (inside / "kustomization.yaml").write_text(json.dumps(wanted), "utf-8")
        return run([tool("kubectl"), "kustomize", str(inside)])


def _check(overlay: str, objects: list[Json]) -> None:
    for one in objects:
        name = f"{overlay}: {one['kind']}/{one['metadata']['name']}"
        if one["kind"] == "Secret":
            raise Unfit(f"{name} would publish a secret")
        for asked in _images(one):
            if not PINNED.fullmatch(asked):
                raise Unfit(f"{name} uses the image {asked}, which has no exact version or digest")
        found = validator(one["kind"], one["apiVersion"], KUBERNETES)
        # Kubernetes has no schema for the kinds of operators; tests/deploy checks those with our own schemas.
        if found and (error := best_match(found.iter_errors(one))):
            raise Unfit(f"{name}: {error.message}") from error


@cache
def validator(kind: str, api_version: str, version: str) -> Draft202012Validator | None:
    """Validates objects of a kind as a version of Kubernetes does, without unknown fields. None for an unknown kind.

    The cache is needed: `kubernetes_validate.validate` reads 1.5 MB of definitions for each object.
    """
    group, _, number = api_version.rpartition("/")
    name = "-".join(part for part in (kind.lower(), group.partition(".")[0], number) if part)
    try:
        schema = schema_contents(f"{_folder(version)}/{name}.json", version)
    except FileNotFoundError:
        return None
    return Draft202012Validator(schema, registry=Resource.from_contents(schema) @ _definitions(version))


@cache
def _definitions(version: str) -> Registry[Any]:
    definitions = schema_contents(f"{_folder(version)}/_definitions.json", version)
    return (Resource.from_contents(definitions) @ Registry()).crawl()


def _folder(version: str) -> str:
    return f"kubernetes-json-schema/v{version}.0-local-strict"


def _images(value: object) -> Iterator[str]:
    """The images of all containers in an object, however deep its pod template is."""
    if isinstance(value, list):
        for part in value:
            yield from _images(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key in ("containers", "initContainers"):
                yield from (one["image"] for one in part)
            else:
                yield from _images(part)
