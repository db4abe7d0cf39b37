"""The committed build is what the committed source compiles to."""

import json
from collections.abc import Callable

from playmolt_jury.chain import contract


def test_the_committed_code_and_interface_are_those_of_the_source(build: Callable[[], str]) -> None:
    built = json.loads(build())

    assert built == contract.artifact()
    assert built["compiler"].startswith("0.8.19+")


def test_nothing_in_the_interface_belongs_to_an_owner() -> None:
    functions = {
        entry["name"]: entry["stateMutability"]
        for entry in contract.artifact()["abi"]
        if "name" in entry and entry["type"] == "function"
    }

    assert {name for name, kind in functions.items() if kind != "view"} == {"vote", "finalize"}
    assert functions.keys() >= {"verdict", "tally", "reading", "logHash", "deadline"}
