"""The turns on which measures are tried before the lock: a few of every cell, played by scripted models."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
from msgspec import UNSET
from playmolt_core.game.decider import Accepted, Command
from playmolt_core.llm.port import ModelRequest
from playmolt_core.llm.scripted.model import ScriptedTurn
from playmolt_schemas.instrument.laboratory import MeasureTrial
from playmolt_schemas.stored.agora.plan import LockedRoom, Plan
from playmolt_schemas.stored.agora.run import AgentActed, TurnFailed
from playmolt_schemas.stored.agora.turn import RunSpec, Tokens

from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.plan.design import TrialOf
from playmolt_agora_runner.run import commands, effects
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.scripted import visitors
from playmolt_agora_runner.turn import prompts, reply_parser, scenes
from playmolt_agora_runner.world.state import RunState

TURNS: Final = 3
_AT: Final = datetime(2000, 1, 1, tzinfo=UTC)
_ALIAS: Final = "scripted"


def records(plan: Plan, rooms: Sequence[LockedRoom], texts: Mapping[str, str]) -> Iterator[dict[str, object]]:
    """The turns of each cell's first run, as `turns.jsonl` holds them."""
    for cell in matrix.cells(plan, rooms):
        if cell.runs:
            yield from _played(matrix.spec(plan, "trial", cell, 1), texts)


def _played(spec: RunSpec, texts: Mapping[str, str]) -> Iterator[dict[str, object]]:
    rules = Agora()
    short = msgspec.structs.replace(spec, turns=min(TURNS, spec.turns), interviews=UNSET)
    state = rules.initial(spec.run)
    commanded: Command = commands.OpenRun(spec=short)
    while True:
        decision = rules.decide(state, commanded, _AT)
        if not isinstance(decision, Accepted):
            return
        for event in decision.events:
            state = rules.evolve(state, event, _AT)
            if isinstance(event, AgentActed | TurnFailed):
                yield msgspec.to_builtins(event.record)
        if state.next_agent is None:
            return
        commanded = commands.TakeTurn(effect_id=effects.effect_id(state) or "", reply=_reply(state, texts))


def _reply(state: RunState, texts: Mapping[str, str]) -> TurnReply:
    scene = scenes.scene(state, str(state.next_agent), texts)
    prompt = prompts.render(scene)
    turn = ScriptedTurn(ModelRequest(alias=_ALIAS, messages=prompt.messages, schema_name="turn"), state.run.seed)
    said = visitors.character(_ALIAS, scene)(turn).text
    return TurnReply(
        parsed=reply_parser.read(said, scene),
        raw_reply=said,
        prompt_hash=prompt.hash,
        model_asked=_ALIAS,
        model_answered=_ALIAS,
        attempt=1,
        tokens=Tokens(0, 0, 0, 0),
        cost="0",
        latency_ms=0,
        cache_hit=False,
    )


def tried(plan: Plan | None, folder: PlanFolder, trial: TrialOf) -> PlanFolder:
    """The folder with a fault for each measure that does not hold; nothing is tried where a world is at fault."""
    if plan is None or not folder.measures or any(fault.file.startswith("worlds/") for fault in folder.faults):
        return folder
    turns = tuple(records(plan, folder.rooms, folder.texts))
    faults = trial(MeasureTrial(measures=folder.measures, turns=turns))
    return msgspec.structs.replace(folder, faults=(*folder.faults, *faults))
