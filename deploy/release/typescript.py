"""The TypeScript package: types of all calls, generated from this commit's OpenAPI document, compiled and packed."""

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from deploy.release.source import DIST, ROOT, Unfit, run, version

FOLDER: Final = DIST / "typescript"
SOURCE: Final = ROOT / "sdk" / "typescript"
MADE: Final = ("node_modules", "dist", "openapi.json", "api.d.ts")
"""Results of a build, which are not copied."""


def copy_source(folder: Path) -> None:
    """Copy the sources of the package to `folder` and write the OpenAPI document there."""
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns(*MADE))
    document = run([sys.executable, "-m", "playmolt_gateway.http.openapi"])
    (folder / "openapi.json").write_text(document, "utf-8")


def make() -> str:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "typescript"
        copy_source(folder)
        _release_version(folder / "package.json")
        for command in (
            ["npm", "install", "--silent", "--no-audit", "--no-fund"],
            ["npm", "run", "--silent", "generate"],
            ["npm", "run", "--silent", "build"],
            ["npm", "pack", "--silent", "--pack-destination", str(FOLDER)],
        ):
            run(command, root=folder)
        operations = _operations(folder)
    (packed,) = FOLDER.glob("*.tgz")
    return f"{packed.name} with {operations} calls"


def _release_version(manifest: Path) -> None:
    package = json.loads(manifest.read_text("utf-8"))
    manifest.write_text(json.dumps(package | {"version": version()}, indent=2) + "\n", "utf-8")


def _operations(folder: Path) -> int:
    """The number of calls in the document; raises Unfit if the types lack one."""
    document = json.loads((folder / "openapi.json").read_text("utf-8"))
    types = (folder / "src" / "api.d.ts").read_text("utf-8")
    names = [operation["operationId"] for path in document["paths"].values() for operation in path.values()]
    if missing := [name for name in names if f"    {name}: {{" not in types]:
        raise Unfit(f"the types have no {', '.join(missing)}")
    return len(names)
