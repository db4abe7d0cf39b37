"""`playmolt agora probe`: whether the models of a plan give the same reply to the same prompt."""

import asyncio
import os
from typing import TYPE_CHECKING, Final

import msgspec
from playmolt_core.llm.catalogue import Catalogue, InvalidCatalogue, load
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models

from playmolt_cli.agora.plan import SelectedPlan, selected
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

if TYPE_CHECKING:
    from playmolt_schemas.stored.agora.plan import Probe

HOW: Final = "Add this to the plan, so that plan, lock and report say it:"


def probe(file: str | None, preset: str | None, prompts: int, times: int) -> "tuple[Probe, ...]":
    """Ask each model of a plan that plays. Raises Failure."""
    chosen = selected(file, preset)
    try:
        catalogue = load(read_settings().models, os.environ)
    except InvalidCatalogue as error:
        raise Failure(str(error)) from error
    return asyncio.run(_probed(chosen, catalogue, prompts, times))


def snippet(found: "tuple[Probe, ...]") -> str:
    """The part of a plan that holds the results: YAML takes JSON."""
    lines = "".join(f"  - {msgspec.json.encode(each).decode()}\n" for each in found)
    return f"probes:\n{lines}"


async def _probed(chosen: SelectedPlan, catalogue: Catalogue, prompts: int, times: int) -> "tuple[Probe, ...]":
    from playmolt_agora_runner.calls import probe as probes  # noqa: PLC0415 -- slow imports
    from playmolt_agora_runner.plan import plan as plans  # noqa: PLC0415
    from playmolt_agora_runner.scripted import residents  # noqa: PLC0415

    models = Models(catalogue, MemoryLimits(), residents.cast())
    found = []
    try:
        for alias in plans.all_models(chosen.plan):
            model, asked = models.get(alias), probes.requests(chosen.plan, chosen.folder, alias, prompts)
            if model is None:
                raise Failure(f"{alias} is not a model of PLAYMOLT_MODELS.")
            if asked:
                found.append(await probes.probed(model, asked, catalogue, chosen.plan, times))
    except probes.ProbeFailed as error:
        raise Failure(str(error)) from error
    finally:
        await models.close()
    return tuple(found)
