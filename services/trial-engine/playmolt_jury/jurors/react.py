"""Jurors as ReAct agents (jury.md): the next model request of a turn, and its result.

Pure: each call replays the turn from the replies so far, so a worker only forwards requests, and a turn restarts
from the beginning after a crash.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeVar

from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from playmolt_core.llm.conversation import REPAIRS, Unusable, asked_again, repairing
from playmolt_core.llm.port import ChatMessage, Failed, ModelRequest, Reply, SamplingParameters, ToolCall, TurnHeader
from playmolt_schemas.stored.jury import FailureCode, RequestKind, TopicImpact, TurnKind

from playmolt_jury import replies, turn_events
from playmolt_jury.commands import JurorTurn, TurnLost
from playmolt_jury.content.material import Material
from playmolt_jury.jurors import prompts
from playmolt_jury.jurors.tools import BallotBox, Toolbox
from playmolt_jury.persuasion import stance
from playmolt_jury.state import State, Turn

STEPS: Final = 3
"""Requests of a turn that offer tools; the next one forces a reply."""
CLASSIFY: Final = "classify"
_IN_PROSE: Final = ("chat", "present")

T = TypeVar("T")
ModelReply = Reply | Failed
Requests = Generator[ModelRequest, ModelReply, T]
"""The requests of one stage of a turn, in order, and its result."""
Read = Callable[[str], T]
"""Parses a reply; raises InvalidReply with what the model must fix."""


class _NoReply(Exception):
    """The model gave no usable reply."""

    def __init__(self, code: FailureCode, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


def next_request(
    state: State, turn: Turn, material: Material, received: Sequence[ModelReply]
) -> ModelRequest | JurorTurn | TurnLost:
    """The next request of a turn after these replies, or the command that ends it.

    `state` is that of the start of the turn, for all its requests; `received` are the replies so far.
    """
    context = _TurnContext(state, turn, material)
    requests = _TURNS[turn.kind](context)
    try:
        request = next(requests)
        for reply in received:
            request = requests.send(reply)
    except StopIteration as end:
        done: JurorTurn = end.value
        return done
    except _NoReply as failure:
        attempts = sum(reply.attempts for reply in received)
        return TurnLost(
            effect_id=turn.id,
            code=failure.code,
            detail=failure.detail,
            attempts=attempts,
            tools=tuple(context.box.uses),
        )
    return request


class _TurnContext:
    """What all requests of a turn share."""

    def __init__(self, state: State, turn: Turn, material: Material) -> None:
        self.state, self.turn, self.material = state, turn, material
        self.box = Toolbox(state, material, turn)

    def request(
        self, messages: tuple[ChatMessage, ...], name: str, schema: Mapping[str, Any] | None = None
    ) -> ModelRequest:
        return ModelRequest(
            alias=self.state.model_of(self.turn.juror_id),
            messages=messages,
            turn=TurnHeader(self.state.game_id, name),
            sampling=_sampling(self.state),
            drawn_by=_drawn_by(self.state),
            schema_name=name.split(":", maxsplit=1)[0],
            schema=schema,
            prose=self.turn.kind in _IN_PROSE and schema is None,
        )

    def topics(self) -> Requests[tuple[TopicImpact, ...]]:
        """The topics of the overseer's text."""
        messages = prompts.classify(self.state, self.material, self.turn.text)
        request = self.request(messages, CLASSIFY, replies.classify_schema(self.state.topics))
        reply = yield request
        return (yield from self.repaired(request, reply, lambda text: replies.read_topics(text, self.state.topics)))

    def with_tools(self, request: ModelRequest, read: Read[T]) -> Requests[T | None]:
        """Offers tools in at most three requests, then forces a reply; None if a tool has ended the turn."""
        box = self.box
        asked = replace(request, tools=box.tools)
        for step in range(STEPS):
            asked = _of_kind(asked, "tool" if step else "ask")
            reply = yield asked
            if isinstance(reply, Failed) or not reply.tool_calls:
                return (yield from self.repaired(asked, reply, read))
            calls = _with_own_ids(asked, reply.tool_calls)
            said = ChatMessage("assistant", reply.text, tool_calls=calls)
            asked = replace(asked, messages=(*asked.messages, said, *box.results(calls)))
            if box.done:
                return None
        final = _of_kind(replace(asked, tool_choice="none"), "final")
        reply = yield final
        return (yield from self.repaired(final, reply, read))

    def repaired(self, request: ModelRequest, reply: ModelReply, read: Read[T]) -> Requests[T]:
        """The parsed reply; requests at most two repairs."""

        def reading(reply: ModelReply) -> T | Unusable:
            if isinstance(reply, Failed):
                if reply.final:
                    raise _NoReply(reply.code, reply.detail)
                return Unusable(said=reply.reply, fault=reply.detail, code=reply.code)
            try:
                return read(reply.text)
            except replies.InvalidReply as error:
                return Unusable(said=reply.text, fault=str(error))

        def again(outcome: T | Unusable) -> ModelRequest | None:
            if not isinstance(outcome, Unusable):
                return None
            demand = prompts.filled(prompts.phrases(self.state.language).repair, fault=outcome.fault)
            return replace(asked_again(request, prompts.clipped(outcome.said), demand), tool_choice="none")

        outcome = yield from repairing(reply, reading, again)
        if isinstance(outcome, Unusable):
            raise _NoReply(outcome.code, f"no usable reply after {REPAIRS} repairs: {outcome.fault}")
        return outcome


def _chat(context: _TurnContext) -> Requests[JurorTurn]:
    state, turn = context.state, context.turn
    topics = yield from context.topics()
    now = turn_events.chat_changes(state, turn, topics)[-1].after
    struck = stance.hits(turn.text, state.juror(turn.juror_id).weakness.trigger_keywords)
    messages = prompts.chat(state, context.material, turn, topics=topics, now=now, struck=struck)
    text = yield from context.with_tools(context.request(messages, turn.name), replies.read_words)
    return JurorTurn(effect_id=turn.id, topics=topics, tools=tuple(context.box.uses), text=text or "")


def _present(context: _TurnContext) -> Requests[JurorTurn]:
    state, turn = context.state, context.turn
    messages = prompts.present(state, context.material, turn, now=turn_events.evidence_change(state, turn).after)
    text = yield from context.with_tools(context.request(messages, turn.name), replies.read_words)
    return JurorTurn(effect_id=turn.id, tools=tuple(context.box.uses), text=text or "")


def _note(context: _TurnContext) -> Requests[JurorTurn]:
    topics = yield from context.topics()
    return JurorTurn(effect_id=context.turn.id, topics=topics)


def _speech(context: _TurnContext) -> Requests[JurorTurn]:
    state, turn = context.state, context.turn
    messages = prompts.speech(state, context.material, turn)
    request = context.request(messages, turn.name, replies.speech_schema(state.topics))
    said = yield from context.with_tools(request, lambda text: replies.read_speech(text, state.topics))
    text, topics = said or ("", ())
    return JurorTurn(effect_id=turn.id, topics=topics, tools=tuple(context.box.uses), text=text)


def _vote(context: _TurnContext) -> Requests[JurorTurn]:
    state, turn = context.state, context.turn
    context.box = box = BallotBox(state, context.material, turn)
    request = context.request(prompts.vote(state, context.material, turn), turn.name)
    try:
        # The text beside a vote is dropped, so any text is valid.
        yield from context.with_tools(request, str)
    except _NoReply as failure:
        # An unreadable reply is not a vote; the vote of the rules counts. If the model is unavailable or refuses, the
        # turn fails and can be retried.
        if failure.code != "invalid_reply":
            raise
    return JurorTurn(effect_id=turn.id, tools=tuple(context.box.uses), diverged=box.diverged)


def _sampling(state: State) -> SamplingParameters:
    """A jury of a panel is sampled by its seed, unless nothing is drawn."""
    seed = state.panel.seed if state.panel and _draws(state) else None
    return SamplingParameters(temperature=state.script.temperature if state.script else None, seed=seed)


def _drawn_by(state: State) -> str | UnsetType:
    """What the scripted jurors of a panel draw by: the seed, or at temperature 0 the same for every jury."""
    if state.panel is None:
        return UNSET
    return str(state.panel.seed) if _draws(state) else ""


def _draws(state: State) -> bool:
    return not state.script or state.script.temperature is None or Decimal(state.script.temperature) != 0


def _of_kind(request: ModelRequest, kind: RequestKind) -> ModelRequest:
    return replace(request, turn=request.turn and replace(request.turn, kind=kind))


def _with_own_ids(request: ModelRequest, calls: tuple[ToolCall, ...]) -> tuple[ToolCall, ...]:
    """Gives every call a unique id: some servers omit or reuse ids."""
    seen = {call.id for message in request.messages for call in message.tool_calls}
    renamed: list[ToolCall] = []
    for call in calls:
        own = call.id if call.id and call.id not in seen else f"call_{len(seen) + 1}"
        seen.add(own)
        renamed.append(ToolCall(own, call.name, call.arguments))
    return tuple(renamed)


_TURNS: Final[Mapping[TurnKind, Callable[[_TurnContext], Requests[JurorTurn]]]] = {
    "chat": _chat,
    "present": _present,
    "note": _note,
    "speech": _speech,
    "vote": _vote,
}
