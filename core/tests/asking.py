"""The smallest game with its own API, for tests of the engine: its owner asks, a worker answers."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, ClassVar

import msgspec
from playmolt_core.game.api import ApiReply, ApiRequest, GameApi, Linked
from playmolt_core.game.decider import Accepted, Command, Decision, Effect, EndGame, Refused, Viewer
from playmolt_core.game.game import Changes, Fold, Game
from playmolt_schemas.codes import Code
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.stored.event import Event, stored_types
from typing_extensions import override


class Opened(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "opened"
    owner: str
    topic: str


class Asked(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "asked"
    command_id: str
    text: str


class Answered(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "answered"
    text: str


class Closed(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "closed"
    closes: ClassVar[bool] = True
    successor: str


class Open(Command, frozen=True, kw_only=True):
    owner: str
    topic: Any


class Put(Command, frozen=True, kw_only=True):
    command_id: str
    text: str


class Answer(Command, frozen=True, kw_only=True):
    effect_id: str
    text: str


class Close(Command, frozen=True, kw_only=True):
    successor: str


class Question(msgspec.Struct, frozen=True):
    """Payload of `answer`."""

    text: str


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    version: int = 0
    owner: str = ""
    topic: str = ""
    since: datetime = datetime(1970, 1, 1, tzinfo=UTC)
    waiting: str = ""
    question: str = ""
    answers: tuple[tuple[str, str], ...] = ()
    successor: str = ""


def successor_of(session: str) -> str:
    """An id that differs from the session's own."""
    return session[:-1] + ("1" if session.endswith("0") else "0")


def _opened(_: Talk, event: Opened, __: datetime) -> Changes:
    return {"owner": event.owner, "topic": event.topic}


def _asked(_: Talk, event: Asked, at: datetime) -> Changes:
    return {"waiting": event.command_id, "question": event.text, "since": at}


def _answered(state: Talk, event: Answered, _: datetime) -> Changes:
    return {"waiting": "", "answers": (*state.answers, (state.waiting, event.text))}


def _closed(_: Talk, event: Closed, __: datetime) -> Changes:
    return {"successor": event.successor}


def _open(_: Talk, command: Open) -> Decision:
    if not isinstance(command.topic, str):
        return Refused(Code.INVALID_REQUEST, "topic must be text")
    return Accepted((Opened(owner=command.owner, topic=command.topic),))


def _put(state: Talk, command: Put) -> Decision:
    if state.waiting:
        return Refused(Code.SESSION_PHASE, "one question at a time")
    return Accepted((Asked(command_id=command.command_id, text=command.text),))


def _answer(state: Talk, command: Answer) -> Decision:
    return Accepted((Answered(text=command.text),) if command.effect_id == _effect_id(state) else ())


def _close(_: Talk, command: Close) -> Decision:
    return Accepted((Closed(successor=command.successor),))


def _end(_: Talk, __: EndGame) -> Decision:
    return Accepted((Closed(successor=""),))


def _effect_id(state: Talk) -> str | None:
    return f"{state.id}/{state.waiting}" if state.waiting else None


class Asking(Game[Talk]):
    """A session that is private to the agent who opened it."""

    game = "jury"
    rules_version = 1
    content_version = "1"
    needed = 1
    events = stored_types(Opened, Asked, Answered, Closed)
    folds: Mapping[type[Event], Fold] = {Opened: _opened, Asked: _asked, Answered: _answered, Closed: _closed}
    opening = frozenset((Open,))
    unknown = Refused(Code.NOT_FOUND, "no such session")

    def __init__(self) -> None:
        super().__init__({Open: _open, Put: _put, Answer: _answer, Close: _close, EndGame: _end})

    @override
    def initial(self, game_id: str) -> Talk:
        return Talk(id=game_id)

    @override
    def public(self, event: Event, viewer: Viewer, state: Talk | None = None) -> Mapping[str, Any] | None:
        return {"type": event.type} if state and viewer.agent_id == state.owner else None

    @override
    def view(self, state: Talk, viewer: Viewer) -> msgspec.Struct:
        return state

    @override
    def summary(self, state: Talk) -> GameSummary:
        return GameSummary("closed" if state.successor else "open", 0, 1, 1, over=bool(state.successor))

    @override
    def participants(self, state: Talk) -> Mapping[str, str]:
        return {state.owner: "owner"} if state.version else {}

    @override
    def effects(self, state: Talk) -> Sequence[Effect]:
        identifier = _effect_id(state)
        if identifier is None:
            return ()
        return (Effect(id=identifier, kind="answer", due=state.since, payload=Question(state.question)),)


class AskingApi(GameApi[Talk]):
    """open · put · close (opens a linked session) · read · list."""

    opens = frozenset(("open",))
    writes = frozenset(("open", "put", "close"))
    slow = frozenset(("long",))
    lists = frozenset(("list",))

    def command(self, state: Talk, request: ApiRequest) -> Command | Refused | None:
        if request.route == "open":
            return None if request.query.get("dry") else Open(owner=request.agent_id, topic=request.body)
        if state.owner != request.agent_id:
            return Refused(Code.NOT_FOUND, "no such session")
        if request.route == "put":
            return Put(command_id=request.command_id, text=str(request.body))
        return Close(successor=successor_of(state.id))

    def linked(self, before: Talk, after: Talk) -> Linked | None:
        if before.successor == after.successor:
            return None
        return Linked(after.successor, Open(owner=after.owner, topic=f"after {after.topic}"))

    def answer(self, state: Talk, request: ApiRequest) -> ApiReply | Refused:
        if request.route == "open" and request.query.get("dry"):
            return ApiReply({"dry": True})
        if state.owner != request.agent_id:
            return Refused(Code.NOT_FOUND, "no such session")
        if request.route == "put":
            answers = dict(state.answers)
            if request.command_id in answers:
                return ApiReply({"answer": answers[request.command_id]})
            return ApiReply({"version": state.version}, 202)
        if request.route == "long":
            return ApiReply(b"x" * 2_000_000, content_type="text/plain")
        return ApiReply({"id": state.id, "topic": state.topic}, 201 if request.route == "open" else 200)

    def many(self, states: Sequence[Talk], request: ApiRequest) -> ApiReply | Refused:
        return ApiReply([state.topic for state in states])
