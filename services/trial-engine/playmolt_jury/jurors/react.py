"""Jurors as agents that think, act and observe (jury.md): what a turn asks of the model next, and what comes of it.

Pure: the turn is played again from its answers each time, so a worker only asks and comes back, and a turn taken up
after a crash starts from nothing.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, Final, TypeVar

from msgspec.structs import replace
from playmolt_core.llm import port
from playmolt_core.llm.conversation import REPAIRS, Unusable, asked_again, repairing
from playmolt_core.llm.port import Failed, Message, ModelRequest, Reply, ToolCall
from playmolt_schemas.games.jury import FailureCode, TopicImpact

from playmolt_jury.commands import JurorTurn, TurnLost
from playmolt_jury.content.material import Material
from playmolt_jury.events import RequestKind, TurnKind
from playmolt_jury.jurors import answers, outputs, prompts
from playmolt_jury.jurors.tools import BallotBox, Toolbox
from playmolt_jury.persuasion import exchanges, stance
from playmolt_jury.state import State, Turn

STEPS: Final = 3
"""How many requests of a turn offer tools; then the reply is forced."""
CLASSIFY: Final = "classify"

T = TypeVar("T")
Answer = Reply | Failed
Asking = Generator[ModelRequest, Answer, T]
Read = Callable[[str], T]
"""Reads a reply; raises InvalidAnswer with what the model has to put right."""


class _Away(Exception):
    """The turn cannot be had."""

    def __init__(self, code: FailureCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def next_request(
    state: State, turn: Turn, material: Material, so_far: Sequence[Answer]
) -> ModelRequest | JurorTurn | TurnLost:
    """The request that a turn makes after these replies, or the command it ends in.

    `state` is the one the turn was taken up with, for all requests of it; `so_far` the reply to each request made.
    """
    stage = _Stage(state, turn, material)
    script = _SCRIPTS[turn.kind](stage)
    try:
        request = next(script)
        for answer in so_far:
            request = script.send(answer)
    except StopIteration as end:
        done: JurorTurn = end.value
        return done
    except _Away as away:
        attempts = sum(answer.attempts for answer in so_far)
        return TurnLost(
            effect_id=turn.id, code=away.code, detail=away.detail, attempts=attempts, tools=tuple(stage.box.uses)
        )
    return request


class _Stage:
    """The turn with what every request of it has in common."""

    def __init__(self, state: State, turn: Turn, material: Material) -> None:
        self.state, self.turn, self.material = state, turn, material
        self.box = Toolbox(state, material, turn)

    def request(
        self, messages: tuple[Message, ...], name: str, schema: Mapping[str, Any] | None = None
    ) -> ModelRequest:
        return ModelRequest(
            alias=self.state.model,
            messages=messages,
            turn=port.Turn(self.state.game_id, name),
            schema_name=name.split(":", maxsplit=1)[0],
            schema=schema,
        )

    def topics(self) -> Asking[tuple[TopicImpact, ...]]:
        """Ask what the overseer's text is about."""
        messages = prompts.classify(self.state, self.material, self.turn.text)
        request = self.request(messages, CLASSIFY, outputs.classify_schema(self.state.topics))
        answer = yield request
        return (yield from self.judged(request, answer, lambda reply: outputs.read_topics(reply, self.state.topics)))

    def acting(self, request: ModelRequest, read: Read[T]) -> Asking[T | None]:
        """Ask with tools, three times at most, then without; None when the tools have ended the turn."""
        box = self.box
        asked = replace(request, tools=box.offers)
        for step in range(STEPS):
            asked = _of_kind(asked, "tool" if step else "ask")
            answer = yield asked
            if isinstance(answer, Failed) or not answer.tool_calls:
                return (yield from self.judged(asked, answer, read))
            calls = _told_apart(asked, answer.tool_calls)
            said = Message("assistant", answer.text, tool_calls=calls)
            asked = replace(asked, messages=(*asked.messages, said, *box.answers(calls)))
            if box.done:
                return None
        final = _of_kind(replace(asked, tool_choice="none"), "final")
        answer = yield final
        return (yield from self.judged(final, answer, read))

    def judged(self, request: ModelRequest, answer: Answer, read: Read[T]) -> Asking[T]:
        """Read an answer, asking for its repair twice at most."""

        def reading(answer: Answer) -> T | Unusable:
            if isinstance(answer, Failed):
                if answer.code == "model_unavailable":
                    raise _Away(answer.code, answer.detail)
                return Unusable(said=answer.reply, fault=answer.detail, code=answer.code)
            try:
                return read(answer.text)
            except answers.InvalidAnswer as error:
                return Unusable(said=answer.text, fault=str(error))

        def again(outcome: T | Unusable) -> ModelRequest | None:
            if not isinstance(outcome, Unusable):
                return None
            demand = prompts.filled(prompts.words(self.state.language).repair, fault=outcome.fault)
            return replace(asked_again(request, prompts.clipped(outcome.said), demand), tool_choice="none")

        outcome = yield from repairing(answer, reading, again)
        if isinstance(outcome, Unusable):
            raise _Away(outcome.code, f"no usable reply after {REPAIRS} repairs: {outcome.fault}")
        return outcome


def _chat(stage: _Stage) -> Asking[JurorTurn]:
    state, turn = stage.state, stage.turn
    topics = yield from stage.topics()
    now = exchanges.heard(state, turn, topics)[-1].after
    struck = stance.hits(turn.text, state.juror(turn.juror_id).weakness.trigger_keywords)
    messages = prompts.chat(state, stage.material, turn, topics=topics, now=now, struck=struck)
    text = yield from stage.acting(stage.request(messages, turn.name), answers.read_text)
    return JurorTurn(effect_id=turn.id, topics=topics, tools=tuple(stage.box.uses), text=text or "")


def _present(stage: _Stage) -> Asking[JurorTurn]:
    state, turn = stage.state, stage.turn
    messages = prompts.present(state, stage.material, turn, now=exchanges.shown(state, turn).after)
    text = yield from stage.acting(stage.request(messages, turn.name), answers.read_text)
    return JurorTurn(effect_id=turn.id, tools=tuple(stage.box.uses), text=text or "")


def _note(stage: _Stage) -> Asking[JurorTurn]:
    topics = yield from stage.topics()
    return JurorTurn(effect_id=stage.turn.id, topics=topics)


def _speech(stage: _Stage) -> Asking[JurorTurn]:
    state, turn = stage.state, stage.turn
    messages = prompts.speech(state, stage.material, turn)
    request = stage.request(messages, turn.name, outputs.speech_schema(state.topics))
    said = yield from stage.acting(request, lambda reply: outputs.read_speech(reply, state.topics))
    text, topics = said or ("", ())
    return JurorTurn(effect_id=turn.id, topics=topics, tools=tuple(stage.box.uses), text=text)


def _vote(stage: _Stage) -> Asking[JurorTurn]:
    state, turn = stage.state, stage.turn
    stage.box = box = BallotBox(state, stage.material, turn)
    request = stage.request(prompts.vote(state, stage.material, turn), turn.name)
    try:
        # What a juror says along with its vote is not kept, so nothing in it can be wrong.
        yield from stage.acting(request, str)
    except _Away as away:
        # A reply that cannot be read is no vote, no more than words are: the rule has one. A model that is away or
        # refuses may still vote another time.
        if away.code != "invalid_reply":
            raise
    return JurorTurn(effect_id=turn.id, tools=tuple(stage.box.uses), diverged=box.diverged)


def _of_kind(request: ModelRequest, kind: RequestKind) -> ModelRequest:
    return replace(request, turn=request.turn and replace(request.turn, kind=kind))


def _told_apart(request: ModelRequest, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Every call gets an id of its own: some servers leave them out or use them again."""
    seen = {call.id for message in request.messages for call in message.tool_calls}
    told: list[ToolCall] = []
    for call in calls:
        own = call.id if call.id and call.id not in seen else f"call_{len(seen) + 1}"
        seen.add(own)
        told.append(ToolCall(own, call.name, call.arguments))
    return tuple(told)


_SCRIPTS: Final[Mapping[TurnKind, Callable[[_Stage], Asking[JurorTurn]]]] = {
    "chat": _chat,
    "present": _present,
    "note": _note,
    "speech": _speech,
    "vote": _vote,
}
