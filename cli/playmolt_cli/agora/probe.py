"""`playmolt agora probe`: whether a model's replies can be reproduced.

Some prompts of a plan are asked several times, alone and beside others: a server may give one text to a prompt that is
new to it and another to one that it has in its cache, and yet another while it computes several requests together.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final

import msgspec
from playmolt_agora_runner.calls.requests import turn_request
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.plan import plan as plans
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.turn import prompts, scenes
from playmolt_core.game.decider import Accepted
from playmolt_core.llm import port
from playmolt_core.llm.catalogue import Catalogue, InvalidCatalogue, load
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Attempt, Failed, Model, ModelRequest
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.stored.agora.plan import Plan, Probe

from playmolt_cli.agora.plan import SelectedPlan, selected
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

HOW: Final = "Add this to the plan, so that plan, lock and report say it:"


def probe(file: str | None, preset: str | None, prompts: int, times: int) -> tuple[Probe, ...]:
    """Ask each model of a plan that plays. Raises Failure."""
    chosen = selected(file, preset)
    try:
        catalogue = load(read_settings().models, os.environ)
    except InvalidCatalogue as error:
        raise Failure(str(error)) from error
    return asyncio.run(_of_plan(chosen, catalogue, prompts, times))


def snippet(found: tuple[Probe, ...]) -> str:
    """The part of a plan that holds the results: YAML takes JSON."""
    lines = "".join(f"  - {msgspec.json.encode(each).decode()}\n" for each in found)
    return f"probes:\n{lines}"


async def _of_plan(chosen: SelectedPlan, catalogue: Catalogue, count: int, times: int) -> tuple[Probe, ...]:
    models = Models(catalogue, MemoryLimits(), residents.cast())
    found = []
    try:
        for alias in plans.all_models(chosen.plan):
            model, asked = models.get(alias), requests(chosen.plan, chosen.folder, alias, count)
            if model is None:
                raise Failure(f"{alias} is not a model of PLAYMOLT_MODELS.")
            if asked:
                found.append(await probed(model, asked, catalogue, chosen.plan, times))
    except ProbeFailed as error:
        raise Failure(str(error)) from error
    finally:
        await models.close()
    return tuple(found)


class ProbeFailed(RuntimeError):
    """The model gave no reply; the message is its server's."""


def requests(plan: Plan, folder: PlanFolder, alias: str, count: int) -> list[ModelRequest]:
    """The first prompts of the plan's first run with this model, as a turn would ask them."""
    rules = Agora()
    for spec in matrix.specs(plan, "probe", folder.rooms):
        agents = [seat.agent for seat in spec.seats if seat.model == alias]
        decision = rules.decide(rules.initial(spec.run), commands.OpenRun(spec=spec), datetime.now(UTC))
        if not agents or not isinstance(decision, Accepted):
            continue
        state = rules.initial(spec.run)
        for event in decision.events:
            state = rules.evolve(state, event, datetime.now(UTC))
        found = (scenes.scene(state, agent, folder.texts) for agent in agents)
        return [turn_request(plan, alias, scene, prompts.render(scene)) for scene in islice(found, count)]
    return []


async def probed(model: Model, asked: Sequence[ModelRequest], catalogue: Catalogue, plan: Plan, times: int) -> Probe:
    """Ask each prompt `times` times one after another, then all of them together as often. Raises ProbeFailed."""
    alone = [[await _said(model, request) for _ in range(times)] for request in asked]
    together = await asyncio.gather(*(_said(model, request) for _ in range(times) for request in asked))
    usual = [Counter(replies).most_common(1)[0][0] for replies in alone]
    entry = catalogue.models.get(asked[0].alias)
    return Probe(
        model=asked[0].alias,
        at=rfc3339(datetime.now(UTC)),
        prompts=len(asked),
        times=times,
        alone=sum(reply == usual[at] for at, replies in enumerate(alone) for reply in replies),
        first=sum(replies[0] == usual[at] for at, replies in enumerate(alone)),
        beside=sum(reply == usual[at % len(asked)] for at, reply in enumerate(together)),
        temperature=plan.sampling.temperature,
        cache_prompt=None if entry is None else entry.cache_prompt,
    )


async def _said(model: Model, request: ModelRequest) -> str:
    answer = await model.ask(request, _forget)
    if isinstance(answer, Failed):
        if answer.code in port.WITHOUT_REPLY:
            raise ProbeFailed(answer.detail)
        return answer.reply
    return answer.text


async def _forget(_: Attempt) -> None:
    """A probe is part of no log."""
