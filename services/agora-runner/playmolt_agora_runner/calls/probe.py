"""Whether a model's replies can be reproduced: some prompts of a plan, asked several times alone and beside others.

A server may give one text to a prompt that is new to it and another to one that it has in its cache, and yet another
while it computes several requests together.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from playmolt_core.game.decider import Accepted
from playmolt_core.llm import port
from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.port import Attempt, Failed, Model, ModelRequest
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.stored.agora.plan import Plan, Probe

from playmolt_agora_runner.calls.experiment_status import turn_request
from playmolt_agora_runner.folder.personas import dressed
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.turn import prompts, scenes

TIMES: Final = 4


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
        found = (dressed(scenes.scene(state, agent), folder.texts) for agent in agents)
        return [turn_request(plan, alias, scene, prompts.render(scene)) for scene in islice(found, count)]
    return []


async def probed(
    model: Model, asked: Sequence[ModelRequest], catalogue: Catalogue, plan: Plan, times: int = TIMES
) -> Probe:
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
