"""The calls a game has of its own (legal, jury, Agora): declared in `schemas`, answered here, pure like rules.

The gateway mounts the routes and passes them on as they come; the engine looks after streams, commits and repeats.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from playmolt_schemas.api import ErasedSession

from playmolt_core.game.decider import Command, Refused

S_contra = TypeVar("S_contra", contravariant=True)


class ApiRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a route.

    `route` is the route's name, `stream` the session it is about (the one to open, where it opens one), `params` the
    other parts of the path, `body` any JSON value as it came. `command_id` is 32 hex digits, the same on every repeat.
    `seed` is a fresh decimal string for what has to be drawn.
    """

    route: str
    stream: str
    params: Mapping[str, str] = {}
    query: Mapping[str, Any] = {}
    body: Any = None
    agent_id: str = ""
    name: str = ""
    operator: bool = False
    command_id: str = ""
    seed: str = "0"

    def with_body(self, body: Any) -> "ApiRequest":
        return msgspec.structs.replace(self, body=body)


class ApiReply(msgspec.Struct, frozen=True):
    """An answer: a status with a body, JSON unless `content_type` says otherwise.

    202 means that an effect is still to be fulfilled: the gateway asks again, with the same `command_id`, whenever the
    session moves on, for up to 20 seconds, and passes on what it has then.
    """

    body: msgspec.Struct | Mapping[str, Any] | Sequence[Any] | bytes
    status: int = 200
    content_type: str = ""


class Linked(msgspec.Struct, frozen=True):
    """A command for another stream of the same game, to be committed in the same unit."""

    stream: str
    command: Command


class GameApi(ABC, Generic[S_contra]):
    """What serves the routes of one game. Every method is pure and total, like the decider's."""

    opens: ClassVar[frozenset[str]] = frozenset()
    """Names of routes that open a session; their stream is fresh."""
    writes: ClassVar[frozenset[str]] = frozenset()
    """Names of all routes that change something; those of `opens` are among them."""
    slow: ClassVar[frozenset[str]] = frozenset()
    """Names of routes whose `answer` takes long (rendering); the engine runs them beside its loop."""
    lists: ClassVar[frozenset[str]] = frozenset()
    """Names of routes that are answered over the caller's sessions: `many` gets their states."""

    unbound: ClassVar[frozenset[str]] = frozenset()
    """Names of routes about no session: what the process fetches for them is the whole answer."""

    @abstractmethod
    def command(self, state: S_contra, request: ApiRequest) -> Command | Refused | None:
        """The command of a writing route; None when this call of it changes nothing (a dry run).

        Whoever may not know of the session gets NOT_FOUND.
        """

    def linked(self, before: S_contra, after: S_contra) -> Linked | None:
        """What a change of a session brings about in another one."""

    def leads_to(self, state: S_contra) -> str | None:
        """The session that was begun from this one with what stood in it."""

    @abstractmethod
    def answer(self, state: S_contra, request: ApiRequest) -> ApiReply | Refused:
        """The answer of a route: of a writing one from the state right after its events, else from the present one."""

    @abstractmethod
    def many(self, states: Sequence[S_contra | ErasedSession], request: ApiRequest) -> ApiReply | Refused:
        """The answer of a route about the caller's sessions, newest first; of an erased one no state is left."""
