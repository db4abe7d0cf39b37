"""Each fault that the platform must survive has a test that causes it."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.integration.faults.scenarios import SCENARIOS

ROOT = Path(__file__).parent.parent
AUDITED = 28


@cache
def named_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text("utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name for node in ast.walk(tree) if isinstance(node, functions) and node.name.startswith("test_")}


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_scenario_has_its_tests(scenario: str) -> None:
    assert SCENARIOS[scenario]
    for named in SCENARIOS[scenario]:
        file, _, name = named.partition("::")
        assert name in named_in(file), named


def test_none_of_the_audit_is_forgotten() -> None:
    assert len(SCENARIOS) >= AUDITED + 2
