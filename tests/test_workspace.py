"""The hand-written lists in pyproject.toml name every package; a missing package would not be checked."""

import ast
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
SETTINGS: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
LINTER = SETTINGS["tool"]["importlinter"]
CONTRACTS = {contract["name"].partition(":")[0]: contract for contract in LINTER["contracts"]}
PLACES = {
    marker.parent.name: marker.parent
    for pattern in ("schemas/*", "core/*", "services/*/*", "lab/*", "sdk/*", "cli/*")
    for marker in ROOT.glob(f"{pattern}/py.typed")
}
PACKAGES = set(PLACES)
GAMES = {
    ".".join(rules.parent.relative_to(package.parent).parts)
    for package in ROOT.glob("services/*/playmolt_*")
    for rules in package.rglob("rules.py")
}


def test_there_are_packages_and_games() -> None:
    assert {"playmolt_core", "playmolt_gateway", "playmolt_ox", "playmolt"} <= PACKAGES
    assert {
        "playmolt_trial",
        "playmolt_jury",
        "playmolt_ox",
        "playmolt_legal",
        "playmolt_agora_runner.run",
        "playmolt_agora_runner.experiment",
    } <= GAMES
    folders = {path.parent.name for path in ROOT.glob("services/*/*/__init__.py") if path.parent.name != "tests"}
    assert folders <= PACKAGES, "a package has no py.typed"


def test_import_contracts_know_every_package() -> None:
    assert set(LINTER["root_packages"]) == PACKAGES
    drivers = CONTRACTS["only the log and core.db import asyncpg, only the bus imports nats"]
    assert set(drivers["source_modules"]) == PACKAGES
    layers = CONTRACTS["dependencies run one way, and services never import each other"]["layers"]
    assert {name for layer in layers for name in layer.split(" | ")} == PACKAGES - {"playmolt"}
    sdk = CONTRACTS["the sdk needs only the schemas"]
    assert set(sdk["forbidden_modules"]) == PACKAGES - {"playmolt", "playmolt_schemas"}


@pytest.mark.parametrize("game", sorted(GAMES))
def test_the_purity_of_every_game_is_proven(game: str) -> None:
    for contract, modules in (
        ("rules are pure", "rules views"),
        ("rules import no infrastructure", "rules views"),
    ):
        proven = set(CONTRACTS[contract]["source_modules"])
        assert contract != "rules are pure" or "playmolt_schemas.stored" in proven
        named = (f"{game}.{module}" for module in modules.split())
        assert game in proven or {module for module in named if find_spec(module)} <= proven


_MAY_READ = re.compile(r"\b(?:read_text|write_text|universal_newlines|text\s*=\s*True)\b")
"""A source without a match need not be parsed."""


def _reads_as_the_machine_likes(call: ast.Call) -> bool:
    keywords = {keyword.arg for keyword in call.keywords}
    if "encoding" in keywords:
        return False
    named = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return (
        (named == "read_text" and not call.args)
        or (named == "write_text" and len(call.args) < 2)
        or any(
            keyword.arg in {"text", "universal_newlines"} and getattr(keyword.value, "value", None) is True
            for keyword in call.keywords
        )
    )


def test_text_is_utf_8_also_where_the_linter_cannot_see_that_it_is_a_path() -> None:
    sources = [path for folder in PLACES.values() for path in folder.rglob("*.py")]
    assert len(sources) > 300
    texts = {path: path.read_text("utf-8") for path in sources}
    lax = [
        f"{path.relative_to(ROOT)}:{call.lineno}"
        for path, text in texts.items()
        if _MAY_READ.search(text)
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call) and _reads_as_the_machine_likes(call)
    ]
    assert lax == []


def test_every_service_belongs_to_the_workspace() -> None:
    members = {path.parent.name for path in ROOT.glob("services/*/pyproject.toml")}
    assert members == {path.name for path in (ROOT / "services").iterdir() if path.is_dir()}
    for file in ("pyproject.toml", "cli/pyproject.toml"):
        project = tomllib.loads((ROOT / file).read_text())
        assert {f"playmolt-{name}" for name in members} <= set(project["project"]["dependencies"]), file
