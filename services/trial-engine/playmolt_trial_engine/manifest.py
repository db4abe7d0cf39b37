"""The trial engine's manifest."""

from typing import Final

from playmolt_core.game.engine_module import Deployment, EngineModule, FromSecret
from playmolt_schemas.manifest import Reference

_CHAIN: Final = "trial-engine-chain"

ENGINE: Final = EngineModule(
    service="trial-engine",
    module="playmolt_trial_engine",
    deciders={
        "trial": Reference("playmolt_trial.rules:Trial"),
        "jury": Reference("playmolt_jury.rules:jury"),
        "panel": Reference("playmolt_jury.panels.rules:Panel"),
    },
    deployment=Deployment(
        models=True,
        secrets=(
            FromSecret("EVM_RPC_URL", _CHAIN, "rpc-url"),
            FromSecret("PLAYMOLT_EVM_DEPLOYER_KEY", _CHAIN, "deployer-key"),
            FromSecret("PLAYMOLT_JURY_SECRET", _CHAIN, "jury-secret"),
        ),
        effects=True,
    ),
)
