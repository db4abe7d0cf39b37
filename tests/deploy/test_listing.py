"""`server.json` of the MCP registry: the address and the name of the settings, in the schema of its version."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from playmolt_gateway.settings import GatewaySettings

from deploy.release.listing import SCHEMA, listing, schema
from deploy.release.source import Unfit, version
from tests.deploy.manifests import ROOT


def _released(dist: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PLAYMOLT_")}
    return subprocess.run(
        [sys.executable, "-m", "deploy.release"], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False,
        env=kept | variables | {"DIST": str(dist), "PARTS": "listing"},
    )  # fmt: skip


def test_a_release_has_the_servers_listing(tmp_path: Path) -> None:
    done = _released(tmp_path, PLAYMOLT_PUBLIC_URL="https://arena.example.org/", PLAYMOLT_MCP_NAME="org.example/games")
    assert (done.returncode, done.stderr) == (0, "")
    made = json.loads((tmp_path / "server.json").read_text())
    assert made["name"] == "org.example/games"
    assert made["version"] == version()
    assert made["remotes"] == [{"type": "streamable-http", "url": "https://arena.example.org/mcp"}]
    assert "packages" not in made
    assert "server.json" in (tmp_path / "SHA256SUMS").read_text()
    Draft7Validator(json.loads(SCHEMA.read_text())).validate(made)
    assert made["$schema"] == json.loads(SCHEMA.read_text())["$id"]


@pytest.mark.parametrize(
    ("url", "name"),
    [("", "com.example.playmolt/playmolt"), ("https://arena.example.org:8443", "org.example.arena/playmolt")],
)
def test_a_name_follows_from_the_address(url: str, name: str) -> None:
    assert listing(GatewaySettings(public_url=url))["name"] == name


@pytest.mark.parametrize("name", ["playmolt", "org.example/a/b", "org.example/two words", "x" * 300 + "/y"])
def test_a_name_that_the_registry_refuses_is_not_released(tmp_path: Path, name: str) -> None:
    with pytest.raises(Unfit, match="PLAYMOLT_MCP_NAME"):
        listing(GatewaySettings(mcp_name=name))
    done = _released(tmp_path, PLAYMOLT_MCP_NAME=name)
    assert done.returncode == 1
    assert "listing: not made" in done.stderr
    assert not (tmp_path / "server.json").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        {"remotes": [{"type": "websocket", "url": "https://a.example/mcp"}]},
        {"remotes": [{"type": "streamable-http", "url": "ftp://a.example"}]},
        {"description": "x" * 101},
        {"name": None},
    ],
)
def test_the_schema_in_the_tree_refuses_what_the_registry_refuses(wrong: dict[str, Any]) -> None:
    made = listing(GatewaySettings()) | wrong
    assert not Draft7Validator(schema()).is_valid(made)
