"""The tournament engine's manifest."""

from typing import Final

from playmolt_core.game.engine_module import Deployment, EngineModule
from playmolt_schemas.manifest import Reference

ENGINE: Final = EngineModule(
    service="tournament-engine",
    module="playmolt_tournament",
    deciders={"tournament": Reference("playmolt_tournament.rules:Tournament")},
    deployment=Deployment(replicas=(2, 4), requests=False, effects=True),
    seats_tables=True,
)
