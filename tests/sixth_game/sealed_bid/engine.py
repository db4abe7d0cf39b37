"""The manifest of the auction's engine."""

from typing import Final

from playmolt_core.game.engine_module import EngineModule
from playmolt_schemas.manifest import Reference

ENGINE: Final = EngineModule(
    service="auction-house", module="sealed_bid", deciders={"auction": Reference("sealed_bid.rules:Auction")}
)
