"""The OpenAPI document in the hands of `openapi-python-client`: nothing is dropped, and what it makes plays a game."""

import json
import os
import re
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.platforms import Stack

SECONDS = 200
NO_JSON = {
    "*/*", "application/atom+xml", "application/x-ndjson", "application/xml", "application/zip", "image/png",
    "image/svg+xml", "image/x-icon",
}  # fmt: skip
"""Answers that are no JSON document; the generator leaves them to whoever reads the bytes."""
PLAYER = Path(__file__).with_name("generated_player.py")


@pytest.fixture(scope="module")
def generated(platform: Stack, foreign_python: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the client, and what its generator said."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_bytes(httpx.get(f"{platform.run.gateway}/openapi.json", timeout=SECONDS).content)
    command = [
        foreign_python.with_name("openapi-python-client"), "generate", "--meta", "none",
        "--path", folder / "openapi.json", "--output-path", folder / "playmolt_client",
    ]  # fmt: skip
    path = f"{foreign_python.parent}:{os.environ['PATH']}"
    made = subprocess.run(
        command, capture_output=True, text=True, timeout=SECONDS, check=False, env={**os.environ, "PATH": path}
    )
    assert made.returncode == 0, made.stdout + made.stderr
    return folder, made.stdout + made.stderr


def test_no_schema_is_dropped(generated: tuple[Path, str]) -> None:
    folder, said = generated
    assert "Unable to" not in said
    dropped = [line for line in said.splitlines() if "omitted from generated client" in line]
    kinds = [re.search(r"Unsupported content_type ([^)]+)\)", line) for line in dropped]
    assert {kind for found in kinds for kind in (found[1].split(", ") if found else ["another reason"])} <= NO_JSON
    document = json.loads((folder / "openapi.json").read_text())
    models = (folder / "playmolt_client" / "models" / "__init__.py").read_text()
    objects = {name for name, schema in document["components"]["schemas"].items() if schema.get("type") == "object"}
    assert {name for name in objects if f'"{name}"' not in models} == set()


def test_it_plays_a_game(platform: Stack, generated: tuple[Path, str], foreign_python: Path) -> None:
    played = subprocess.run(
        [foreign_python, PLAYER, platform.run.gateway],
        capture_output=True, text=True, timeout=SECONDS, check=False,
        env={**os.environ, "PYTHONPATH": str(generated[0])},
    )  # fmt: skip
    assert played.returncode == 0, played.stderr
    assert len(played.stdout.split()) == 6
