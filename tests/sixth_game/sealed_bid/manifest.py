"""The manifest of the auction."""

from typing import Final

from playmolt_schemas.manifest import GameModule, PackagedFile, Reference

GAME: Final = GameModule(
    type="auction",
    kind="game",
    service="auction-house",
    seats=3,
    messages=Reference("sealed_bid.messages:MESSAGES"),
    guide=PackagedFile("sealed_bid", "guide.md"),
    watch=PackagedFile("sealed_bid", "watch"),
)
