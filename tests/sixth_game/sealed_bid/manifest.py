"""The manifest of the auction."""

from typing import Final

from playmolt_schemas.manifest import GameModule, Reference, Resource

GAME: Final = GameModule(
    type="auction",
    kind="game",
    service="auction-house",
    seats=3,
    messages=Reference("sealed_bid.messages:MESSAGES"),
    guide=Resource("sealed_bid", "guide.md"),
    watch=Resource("sealed_bid", "watch"),
)
