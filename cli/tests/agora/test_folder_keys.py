"""The page of keys and faults is what the code reads and says."""

from pathlib import Path

from playmolt_agora_runner.folder.world_file import WorldKeys
from playmolt_agora_runner.world import worlds
from playmolt_cli.agora import folder_keys

PAGE = Path(__file__).parents[3] / "docs" / "agora-folder-keys.md"


def test_the_page_is_made_of_the_code() -> None:
    assert PAGE.read_text("utf-8") == folder_keys.page(), "run `make docs`"


def test_every_key_of_a_world_is_there() -> None:
    words = folder_keys.table()
    assert words["world"].keys() == {"like", "energy", "rules", *WorldKeys.__struct_fields__}
    assert words["energy"].keys() == {"start", "max", "ledger", "decay", "death"}
    energy = worlds.preset("phase2").energy
    assert (str(energy.start), str(energy.max)) == (
        words["energy"]["start"]["default"],
        words["energy"]["max"]["default"],
    )
