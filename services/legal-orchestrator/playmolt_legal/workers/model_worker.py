"""The worker that has a model speak: it fulfils a session's effect for the turn in progress."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Final, cast

import msgspec
from playmolt_core.effects.leased_effect import CommandRefused, LeasedEffect
from playmolt_core.effects.recording import recorder
from playmolt_core.llm.conversation import Answered, ask_object
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Attempt, Failed, Message, Model, ModelRequest, Turn
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedModel
from playmolt_core.llm.scripted.model import Scene as Request
from playmolt_schemas.games.legal import Kind

from playmolt_legal import commands
from playmolt_legal.forms import phases
from playmolt_legal.roles import outputs, prompts, scripted
from playmolt_legal.state import State

REPLY_TOKENS: Final = 4096


class Turns:
    """Asks the session's model and brings its answer back. Every request is stored before the next one is made."""

    def __init__(self, models: Models) -> None:
        self._models = models

    async def __call__(self, leased: LeasedEffect) -> None:
        """Fulfil an effect of kind `llm_turn`: with TurnSpoken, or with TurnFailed when no usable answer came."""
        state: State = leased.snapshot.state
        asked = prompts.pending(state)
        if asked is None:
            return
        model = _scripted(state, asked.phase) or self._models.get(state.model)
        if model is None:
            detail = f"there is no model {state.model!r} any more; ask the operator, or open a session with another one"
            answer: Answered | Failed | None = Failed(code="model_unavailable", detail=detail, attempts=0)
        else:
            answer = await _ask(model, state, asked, recorder(leased, partial(_attempted, leased.effect.id)))
        if isinstance(answer, Answered):
            answer = await _spoken(leased, answer)
        if answer is not None:
            failed = commands.TurnFailed(
                effect_id=leased.effect.id, code=answer.code, detail=answer.detail, attempts=answer.attempts
            )
            await leased.submit(failed)


async def _spoken(leased: LeasedEffect, answer: Answered) -> Failed | None:
    """Bring an answer back. One that cannot be stored fails the turn, which else would be asked for again for ever."""
    try:
        await leased.submit(commands.TurnSpoken(effect_id=leased.effect.id, output=answer.value))
    except CommandRefused as refused:
        return Failed(code="invalid_reply", detail=refused.refused.detail, attempts=answer.attempts)
    return None


async def _ask(
    model: Model, state: State, asked: prompts.Ask, record: Callable[[Attempt], Awaitable[None]]
) -> Answered | Failed:
    here = phases.turn(asked.phase)
    request = ModelRequest(
        alias=state.model,
        messages=tuple(msgspec.convert(message, Message) for message in prompts.prompt(state, asked)),
        turn=Turn(state.game_id, asked.phase, asked.kind),
        schema_name=here.role if here else "stipulation",
        schema=outputs.phase_schema(asked.phase, state.case_type),
        max_tokens=REPLY_TOKENS,
    )

    def fault(value: dict[str, Any]) -> str | None:
        return outputs.fault(value, asked.phase, state.case_type)

    accepted = outputs.accepted_schema(asked.phase, state.case_type)
    return await ask_object(model, request, record, accepted=accepted, check=fault, korean=state.language == "ko")


def _attempted(effect_id: str, phase: str, kind: str, attempt: dict[str, Any]) -> commands.Attempted:
    return commands.Attempted(effect_id=effect_id, phase=phase, kind=cast("Kind", kind), attempt=attempt)


def _scripted(state: State, phase: str) -> Model | None:
    """Give the offline model: it plays from the session itself, as no model could from a prompt."""
    profile = scripted.ALIASES.get(state.model)
    if profile is None:
        return None
    answer = msgspec.json.encode(scripted.answer(state, phase, profile=profile)).decode()

    def character(_: Request) -> Said:
        return Said(answer)

    cast_of_one = Cast()
    cast_of_one.add(character, alias=state.model)
    return ScriptedModel(cast_of_one, state.seed)
