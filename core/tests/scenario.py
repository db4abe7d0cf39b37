"""Given stored events, when a command comes, then these events: the form of all tests of rules.

The `conftest.py` of a game derives its table, session or run from `Scenario` and adds the moves of its players; each
move is a `when`.
"""

from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Self, TypeVar

import msgspec
from playmolt_core.game.decider import PUBLIC, Accepted, Command, Decider, Decision, Refused, Viewer
from playmolt_core.game.redecision import Fact
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.event import Event

S = TypeVar("S")


class Like:
    """An event of a class with these values of fields; other fields may have any value."""

    def __init__(self, event: type[Event], fields: dict[str, Any]) -> None:
        self._event = event
        self._fields = fields

    def __eq__(self, other: object) -> bool:
        return type(other) is self._event and all(getattr(other, name) == want for name, want in self._fields.items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = (f"{name}={want!r}" for name, want in self._fields.items())
        return f"like({', '.join((self._event.__name__, *fields))})"


def like(event: type[Event], **fields: Any) -> Like:
    """Expect an event by the fields that matter to a test; without fields, only by its class."""
    unknown = fields.keys() - set(event.__struct_fields__)
    assert not unknown, f"{event.__name__} has no {unknown}"
    return Like(event, fields)


class Scenario(Generic[S]):
    """One stream of a game. `decision` is the newest one; `log` has every event, its time and the state after it.

    `recorded` has the results of commands, in the form that redecision takes.
    """

    def __init__(self, decider: Decider[S], stream: str = "") -> None:
        self.decider = decider
        self.now = datetime(2026, 3, 1, tzinfo=UTC)
        self.state: S = decider.initial(stream or f"{decider.game}-1")
        self.log: list[tuple[Event, datetime, S]] = []
        self.decision: Decision = Accepted()
        self.recorded: list[Fact] = []

    def given(self, *events: Event) -> Self:
        """Store events without a check of the rules."""
        for event in events:
            self.state = self.decider.evolve(self.state, event, self.now)
            self.log.append((event, self.now, self.state))
        return self

    def when(self, command: Command) -> Self:
        """Decide a command, a second after the previous one; the states of the decision must equal those of a fold."""
        self.now += timedelta(seconds=1)
        self.decision = self.decider.decide(self.state, command, self.now)
        if isinstance(self.decision, Accepted):
            before, state = len(self.log), self.state
            self.given(*self.decision.events)
            folded = tuple(state for _, _, state in self.log[before:])
            assert self.decision.states in ((), folded)
            for version, (event, at, after) in enumerate(self.log[before:], before + 1):
                self.recorded.append(Fact(state, event, version, at, str(before)))
                state = after
        return self

    def then(self, *events: Event | Like) -> Self:
        """Expect exactly these events. Without any, the command must be accepted and change nothing."""
        assert isinstance(self.decision, Accepted), self.decision
        assert list(self.decision.events) == list(events), self.decision.events
        return self

    def refused(self, code: Code, *fields: str) -> Self:
        assert isinstance(self.decision, Refused), self.decision
        assert self.decision.code is code, self.decision
        assert tuple(fault.field for fault in self.decision.errors) == fields, self.decision
        assert self.decision.detail
        return self

    def view(self, agent: str | None = None) -> dict[str, Any]:
        shown: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(self.decider.view(self.state, _viewer(agent))))
        return shown

    def messages(self, agent: str | None = None) -> list[dict[str, Any]]:
        public, viewer = self.decider.public, _viewer(agent)
        return [msgspec.json.decode(msgspec.json.encode(public(event, viewer, state))) for event, _, state in self.log]

    def message(self, kind: str, agent: str | None = None) -> dict[str, Any]:
        """The newest message of a type."""
        return [message for message in self.messages(agent) if message["type"] == kind][-1]


def _viewer(agent: str | None) -> Viewer:
    return Viewer(agent) if agent else PUBLIC
