"""A game's own routes (legal, jury, Agora): declared in `schemas`, answered here, pure like rules.

The gateway mounts and forwards the routes; the engine handles streams, commits and repeats.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic

import msgspec
from playmolt_schemas.api import ErasedSession
from typing_extensions import TypeVar

from playmolt_core.game.decider import Command, Refused

S_contra = TypeVar("S_contra", contravariant=True, default=Any)


class ApiRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A call of a route.

    `route` is the route's name, `stream` the session (the new one, if the route opens one), `params` the other path
    parameters, `body` any JSON value. `command_id` is 32 hex digits, the same on every repeat. `seed` is a fresh
    decimal string for random draws.
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
    hidden: tuple[int, ...] = ()
    """The versions of the session's events whose texts the operator hid; of reads alone."""

    def with_body(self, body: object) -> "ApiRequest":
        return msgspec.structs.replace(self, body=body)


class ApiReply(msgspec.Struct, frozen=True):
    """An answer: a status and a body, which is JSON unless `content_type` is set.

    202 means that an effect is pending: the gateway repeats the call with the same `command_id` whenever the session
    advances, for up to 20 seconds, and returns the latest answer.
    """

    body: msgspec.Struct | Mapping[str, Any] | Sequence[Any] | bytes
    status: int = 200
    content_type: str = ""


class Linked(msgspec.Struct, frozen=True):
    """A command for another stream of the same game, committed in the same unit."""

    stream: str
    command: Command


class Entry(msgspec.Struct, frozen=True):
    """An agent's entry in a stream. Of one game type it may have one entry at a time, whichever stream it is in."""

    agent_id: str
    game_type: str


class GameApi(ABC, Generic[S_contra]):
    """The routes of one game. All methods are pure and total, like the decider's."""

    opens: ClassVar[frozenset[str]] = frozenset()
    """Names of routes that open a session; their stream is new."""
    writes: ClassVar[frozenset[str]] = frozenset()
    """Names of all routes that change something, including those of `opens`."""
    slow: ClassVar[frozenset[str]] = frozenset()
    """Names of routes with a slow `answer` (rendering); the engine runs them in a thread."""
    lists: ClassVar[frozenset[str]] = frozenset()
    """Names of routes about all of the caller's sessions; `many` answers them."""

    unbound: ClassVar[frozenset[str]] = frozenset()
    """Names of routes without a session; the process fetches their whole answer."""

    @abstractmethod
    def command(self, state: S_contra, request: ApiRequest) -> Command | Refused | None:
        """The command of a writing route; None if this call changes nothing (a dry run).

        Callers that may not see the session get NOT_FOUND.
        """

    def linked(self, before: S_contra, after: S_contra) -> Linked | None:
        """The command that a change of a session causes for another session."""

    def entry(self, before: S_contra, after: S_contra) -> Entry | None:
        """The entry that a change makes. The engine notes it in the lobby, in the same unit."""

    def elsewhere(self, other: S_contra, entry: Entry) -> Refused | None:
        """The refusal of an entry because of an earlier one in this other stream; None if that has ended."""

    def leads_to(self, state: S_contra) -> str | None:
        """The session that continues this one with its data."""

    @abstractmethod
    def answer(self, state: S_contra, request: ApiRequest) -> ApiReply | Refused:
        """The answer of a route: from the state after its events for a writing route, else from the current state."""

    @abstractmethod
    def many(self, states: Sequence[S_contra | ErasedSession], request: ApiRequest) -> ApiReply | Refused:
        """The answer of a route about the caller's sessions, newest first; erased sessions have no state."""
