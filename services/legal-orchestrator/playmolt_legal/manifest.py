"""The legal orchestrator's manifest."""

from typing import Final

from playmolt_core.game.engine_module import Deployment, EngineModule
from playmolt_schemas.manifest import Reference

ENGINE: Final = EngineModule(
    service="legal-orchestrator",
    module="playmolt_legal",
    deciders={"legal": Reference("playmolt_legal.rules:Legal")},
    deployment=Deployment(cpu="200m", memory_limit="1Gi", models=True, requests=False, effects=True),
)
