"""The O/X engine's manifest."""

from typing import Final

from playmolt_core.game.engine_module import EngineModule
from playmolt_schemas.manifest import Reference

ENGINE: Final = EngineModule(
    service="ox-engine", module="playmolt_ox", deciders={"ox": Reference("playmolt_ox.rules:Ox")}
)
