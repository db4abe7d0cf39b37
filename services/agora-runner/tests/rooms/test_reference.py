"""The page of keys and faults is what the code reads and says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playmolt_agora_runner.folder import reference, world_file
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.world import worlds

PAGE = Path(__file__).parents[4] / "docs" / "agora-folder-keys.md"
PASTURE = "worlds/pasture.toml"


def test_the_page_is_made_of_the_code() -> None:
    assert PAGE.read_text("utf-8") == reference.page(), "`make docs` writes it anew"


def test_every_key_of_a_world_is_there() -> None:
    words = texts.table("folder_keys.toml")
    assert words["world"].keys() == {"like", "energy", "influence", "ranks", *world_file.OWN}
    assert words["energy"].keys() == {"start", "max", "ledger", "decay", "death"}
    energy = worlds.preset("phase2").energy
    assert (str(energy.start), str(energy.max)) == (
        words["energy"]["start"]["default"],
        words["energy"]["max"]["default"],
    )


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("turns = 40", "turns = 1000", None),
        ("turns = 40", "turns = 1001", "out_of_range"),
        ("turns = 40", "turns = 0", "out_of_range"),
        ("[end]", "[influence]\nstart = 10000\n\n[end]", None),
        ("[end]", "[influence]\nstart = 10001\n\n[end]", "out_of_range"),
        ("[end]", '[influence]\nstart = "much"\n\n[end]', "wrong_type"),
        ("[end]", "[influence]\nfirst = 1\n\n[end]", "unknown_key"),
        ("[end]", "[energy]\ndecay = 10000\n\n[end]", None),
        ("[end]", "[energy]\ndecay = 10001\n\n[end]", "out_of_range"),
        ("[end]", "[energy]\nstart = 0\n\n[end]", "out_of_range"),
        ("[end]", "[energy]\nmax = 10001\n\n[end]", "out_of_range"),
        ("[end]", "[energy]\ndeath = 1\n\n[end]", "wrong_type"),
        ('en = "The pasture"', f'en = "{"x" * 60}"', None),
        ('en = "The pasture"', f'en = "{"x" * 61}"', "out_of_range"),
    ],
)
def test_the_bounds_of_keys_that_no_struct_declares(
    changed: Callable[[str, str, str], PlanFolder], old: str, new: str, code: str | None
) -> None:
    found: list[Any] = [fault.code for fault in changed(PASTURE, old, new).faults]
    assert (found == []) if code is None else (code in found), found
