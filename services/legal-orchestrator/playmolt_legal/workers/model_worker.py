"""The model worker: asks the model for the pending turn."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import takewhile
from typing import Any, Final, cast

import msgspec
from playmolt_core.effects.leased_effect import CommandRefused, LeasedEffect
from playmolt_core.effects.recording import KeepTexts, ReplyingModel, logged_replies, recorder
from playmolt_core.llm.conversation import QUOTED_CHARS, REPAIRS, Answered, ask_object, asked_again
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import ChatMessage, Failed, Model, ModelRequest, Reply, TurnHeader
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedModel, ScriptedTurn
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import StreamReader
from playmolt_schemas.stored.legal import AttemptMade, Kind

from playmolt_legal import commands, outputs, phases
from playmolt_legal.effects import PendingTurn
from playmolt_legal.facts import inputs, stipulation
from playmolt_legal.guardrails import corpus
from playmolt_legal.roles import prompts, scripted
from playmolt_legal.rules import Legal
from playmolt_legal.state import State
from playmolt_legal.workers.speech import ReplyForwarder, Speak

REPLY_TOKENS: Final = 4096
_ATTEMPTS_MOST: Final = 64
"""More requests than a turn makes."""
_NAMES: Final = {phases.STIPULATE: "stipulation", phases.FINAL: "final"}


class ModelWorker:
    """Executes effects of kind `llm_turn`. Every request is stored before the next one is sent.

    What a turn's model had answered before its worker was lost is in `log` and not asked again.
    """

    def __init__(
        self,
        models: Models,
        keep: KeepTexts,
        log: StreamReader | None = None,
        speak: Speak = lambda _session, _message: None,
    ) -> None:
        self._models = models
        self._keep = keep
        self._log = log
        self._speak = speak

    async def __call__(self, leased: LeasedEffect[PendingTurn, State]) -> None:
        """End a turn: with TurnSpoken, or with FailTurn when no usable answer came."""
        # Reading long texts would block the event loop for too long; the rules then find the result cached.
        await asyncio.to_thread(_read, leased.snapshot.state)
        answer = await self._asked(leased, leased.payload)
        if isinstance(answer, Failed):
            await leased.submit(_failed(leased, answer))
            return
        try:
            await leased.submit(commands.TurnSpoken(effect_id=leased.effect.id, output=answer.value))
        except CommandRefused as error:
            # For example, the turn is too long for a record. Left pending, it would be requested again for ever.
            lost = Failed(code="invalid_reply", detail=error.refused.detail, attempts=answer.attempts)
            await leased.submit(_failed(leased, lost))

    def _listening(self, request: ModelRequest) -> ReplyForwarder:
        if request.turn is None:
            raise RuntimeError("every request is of a turn")
        return ReplyForwarder(self._speak, request.turn)

    async def _asked(self, leased: LeasedEffect[PendingTurn, State], turn: PendingTurn) -> Answered | Failed:
        state = leased.snapshot.state
        model = _scripted(state, turn) or self._models.get(state.model)
        if model is None:
            detail = f"the model {state.model!r} is no longer available; ask the operator or open another session"
            return Failed(code="model_unavailable", detail=detail, attempts=0)
        request = _request(state, turn)
        ask = partial(
            ask_object,
            ReplyingModel(model, await self._logged(leased)),
            record=recorder(leased, self._keep, partial(_attempted, leased.effect.id)),
            accepted=outputs.accepted_schema(turn.phase, state.case_type),
            check=lambda answer: outputs.fault(answer, turn.phase, state.case_type),
            korean=state.language == "ko",
            listening=self._listening,
        )
        answer = await ask(request)
        if turn.phase == phases.STIPULATE and isinstance(answer, Answered):
            return await _grounded(state, request, answer, ask)
        return answer

    async def _logged(self, leased: LeasedEffect) -> list[Reply]:
        """The replies that the turn has had: its requests are the last events of the log, until it ends."""
        version = leased.snapshot.version
        stored = await self._log.facts(leased.stream, max(0, version - _ATTEMPTS_MOST)) if self._log else None
        events = [event for event, _ in facts_of(Legal(), stored)] if stored else []
        requests = [*takewhile(lambda event: isinstance(event, AttemptMade), reversed(events))]
        return logged_replies(event.attempt for event in reversed(requests) if isinstance(event, AttemptMade))


async def _grounded(
    state: State, request: ModelRequest, first: Answered, ask: Callable[..., Awaitable[Answered | Failed]]
) -> Answered:
    """Have a stipulation repaired once where it names what no input holds; requests are three at most in all."""

    def read(answer: Answered) -> dict[str, Any]:
        return outputs.read(answer.value, phases.STIPULATE, state.case_type)

    refused = stipulation.refused(state, read(first))
    if not refused or first.repairs >= REPAIRS:
        return first
    demand = prompts.restipulation(state, refused)
    second = await ask(asked_again(request, first.reply.text[:QUOTED_CHARS], demand), repairs=0)
    if isinstance(second, Failed):
        return first
    whole = stipulation.merged(state, read(first), read(second))
    return msgspec.structs.replace(second, value=whole, attempts=first.attempts + second.attempts)


def _read(state: State) -> None:
    """Fills the caches of the person's inputs, with which every answer is compared."""
    corpus.of(state)
    corpus.supplied(state)
    inputs.supplied(state)


def _request(state: State, turn: PendingTurn) -> ModelRequest:
    here = phases.turn(turn.phase)
    return ModelRequest(
        alias=state.model,
        messages=tuple(msgspec.convert(message, ChatMessage) for message in prompts.prompt(state, turn)),
        turn=TurnHeader(state.game_id, turn.phase, turn.kind),
        schema_name=here.role if here else _NAMES[turn.phase],
        schema=outputs.phase_schema(turn.phase, state.case_type),
        max_tokens=REPLY_TOKENS,
        streamable=turn.phase != phases.STIPULATE,
        payer=state.owner,
    )


def _failed(leased: LeasedEffect, failed: Failed) -> commands.FailTurn:
    return commands.FailTurn(
        effect_id=leased.effect.id, code=failed.code, detail=failed.detail, attempts=failed.attempts
    )


def _attempted(effect_id: str, phase: str, kind: str, attempt: dict[str, Any]) -> commands.Attempted:
    return commands.Attempted(effect_id=effect_id, phase=phase, kind=cast("Kind", kind), attempt=attempt)


def _scripted(state: State, turn: PendingTurn) -> Model | None:
    """The offline model: it plays from the session itself, as no model could from a prompt."""
    profile = scripted.ALIASES.get(state.model)
    if profile is None:
        return None
    answer = msgspec.json.encode(scripted.answer(state, turn.phase, profile=profile)).decode()

    def character(_: ScriptedTurn) -> Said:
        return Said(answer)

    cast_of_one = Cast()
    cast_of_one.add(character, alias=state.model)
    return ScriptedModel(cast_of_one, state.seed)
