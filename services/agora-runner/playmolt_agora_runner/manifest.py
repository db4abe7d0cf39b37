"""The Agora runner's manifest."""

from typing import Final

from playmolt_core.game.engine_module import Deployment, EngineModule, FromSecret
from playmolt_schemas.manifest import Reference

ENGINE: Final = EngineModule(
    service="agora-runner",
    module="playmolt_agora_runner",
    deciders={
        "agora": Reference("playmolt_agora_runner.run.rules:Agora"),
        "experiment": Reference("playmolt_agora_runner.experiment.rules:Experiment"),
    },
    deployment=Deployment(
        memory="512Mi",
        memory_limit="2Gi",
        models=True,
        secrets=(FromSecret("PLAYMOLT_LAB_KEY", "agora-lab-credentials", "lab-key"),),
        calls=(("agora-lab", 8083),),
        replicas=(2, 20),
        requests=False,
        effects=True,
    ),
)
