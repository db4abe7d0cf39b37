"""The golden samples of stored events, byte for byte."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

GOLDEN = Path(__file__).parents[1] / "playmolt_schemas" / "golden"


def samples(game: str) -> Iterator[tuple[str, int, bytes]]:
    """Type, version and bytes of each sample of a game.

    `GAME.json` has a sample under `TYPE.VERSION`, and samples with optional fields under `TYPE.VERSION.WHAT`. A game
    may keep its samples beside its own tests.
    """
    path = GOLDEN / f"{game}.json"
    found = msgspec.json.decode(path.read_bytes() if path.exists() else b"{}", type=dict[str, msgspec.Raw])
    for name, sample in found.items():
        kind, version = name.split(".")[:2]
        yield kind, int(version), bytes(sample)
