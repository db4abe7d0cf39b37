"""`sdk/typescript`: its types are those of the OpenAPI document, and with them a bot plays a game under Node."""

import asyncio
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playmolt import bots
from playmolt_gateway.routes.documents import openapi_bytes

from deploy.release.typescript import MADE, SOURCE, copy_source
from tests.platforms import Stack

SECONDS = 200
NPM, NODE, GIT = shutil.which("npm"), shutil.which("node"), shutil.which("git")


@pytest.fixture(scope="module")
def packages() -> Path:
    """The packages of its manifest, kept beside this interpreter's."""
    manifest = (SOURCE / "package.json").read_bytes()
    folder = Path(sys.prefix) / "npm" / f"typescript-{hashlib.sha256(manifest).hexdigest()[:16]}"
    if not (folder / "made").exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", ".npmrc"):
            shutil.copy(SOURCE / name, folder)
        run(folder, NPM, "install", "--no-audit", "--no-fund")
        (folder / "made").touch()
    return folder / "node_modules"


@pytest.fixture(scope="module")
def project(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "typescript"
    copy_source(folder)
    (folder / "node_modules").symlink_to(packages)
    run(folder, NPM, "run", "--silent", "generate")
    return folder


def run(folder: Path, *command: str | Path | None) -> str:
    assert all(command), "these tests need Node and npm on PATH"
    ended = subprocess.run(
        [str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False,
        env={name: value for name, value in os.environ.items() if name != "NODE_OPTIONS"},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_the_types_are_those_of_the_document(project: Path) -> None:
    document = json.loads((project / "openapi.json").read_text("utf-8"))
    assert document == json.loads(openapi_bytes())
    types = (project / "src" / "api.d.ts").read_text("utf-8")
    operations = {one["operationId"] for path in document["paths"].values() for one in path.values()}
    assert set(re.findall(r"^    (\w+): \{$", types.partition("export interface operations {")[2], re.MULTILINE)) == (
        operations
    )
    schemas = types.partition("    schemas: {")[2].partition("    responses: ")[0]
    assert set(re.findall(r"^        (\w+): ", schemas, re.MULTILINE)) == document["components"]["schemas"].keys()
    assert '"/api/games/{id}/actions": {' in types


def test_no_message_is_typed_as_an_empty_object_or_as_a_list_of_anything(project: Path) -> None:
    """An open object would be `Record<string, never>`, of which nothing can be read."""
    types = (project / "src" / "api.d.ts").read_text("utf-8")
    assert re.findall(r"^ +(\S+): Record<string, never>;$", types, re.MULTILINE) == ["NoFields"]
    assert re.findall(r"^ +(\S+): unknown\[\];$", types, re.MULTILINE) == []


def test_nothing_that_is_generated_from_the_document_is_in_the_repository() -> None:
    listed = subprocess.run(
        [str(GIT), "ls-files", str(SOURCE)], cwd=SOURCE, capture_output=True, text=True, timeout=SECONDS, check=True
    ).stdout.split()
    assert not {Path(name).name for name in listed} & {*MADE}


async def test_its_bot_plays_a_game(project: Path, platform: Stack) -> None:
    await asyncio.to_thread(run, project, NPM, "run", "--silent", "build")
    house = asyncio.create_task(bots.run_house_bots(platform.run.gateway, "ox", 4, seed="typescript"))
    told = await asyncio.to_thread(run, project, NODE, "dist/examples/play.js", platform.run.gateway)
    (game,) = {result.game_id for result in await house}
    assert told.split()[1:] == ["points", "in", game]
