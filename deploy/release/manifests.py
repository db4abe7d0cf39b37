"""Every overlay as rendered, with this build's image."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import yaml

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
            raise Unfit(f"{name} would be in the open")
        for asked in _images(one):
            if not PINNED.fullmatch(asked):
                raise Unfit(f"{name} asks for {asked}, which is no exact image")
        try:
            kubernetes_validate.validate(one, KUBERNETES, strict=True)
        except kubernetes_validate.SchemaNotFoundError:
            continue  # what an operator brings: tests/deploy has schemas of ours
        except kubernetes_validate.ValidationError as error:
            raise Unfit(f"{name}: {error.message}") from error


def _images(value: object) -> Iterator[str]:
    """The images of containers, wherever a pod's template lies."""
    if isinstance(value, list):
        for part in value:
            yield from _images(part)
    elif isinstance(value, dict):
        for key, part in value.items():
            if key in ("containers", "initContainers"):
                yield from (one["image"] for one in part)
            else:
                yield from _images(part)
