"""A stored stream decided again: its commands, recovered from their events, and what today's rules make of them.

Each command is decided on the state it met. From the first that comes out otherwise on, the commands are also played
through on what today's rules made of the ones before: so a changed payout is seen in the end of the game, too.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace

from playmolt_core.game.decider import Command, DeadlinePassed, Decider, Event

S = TypeVar("S")


class Fact(msgspec.Struct, frozen=True, gc=False):
    """A stored event, the state it was folded into, and what it was stored with."""

    before: Any
    event: Event
    version: int
    at: datetime
    command_id: str


class Redecision(Generic[S]):
    """Takes the events of one stream in their order; `finish` once there are no more."""

    def __init__(self, decider: Decider[S]) -> None:
        self._decider = decider
        self._content_version = ""
        self._step: list[Fact] = []
        self._course: S | None = None
        self._ends: tuple[Event | None, Event | None] = (None, None)
        """How the game ended, and how it would have."""
        self.rules_version: int | None = None
        """That of the stream's first event; None where it names none."""
        self.known = True
        """Whether the game can tell its commands by their events."""
        self.differs_at: int | None = None
        """The first event that would be another."""

    def take(self, fact: Fact) -> None:
        if self._step and fact.command_id != self._step[0].command_id:
            self._decide()
        if fact.version == 1:
            self.rules_version = getattr(fact.event, "rules_version", None)
            self._content_version = getattr(fact.event, "content_version", "")
        self._step.append(fact)

    def finish(self) -> None:
        self._decide()

    @property
    def results(self) -> bool:
        """Whether the game would have ended otherwise, points aside."""
        stored, now = map(_without_points, self._ends)
        return stored != now

    @property
    def points(self) -> bool:
        """Whether somebody would have got other points."""
        return _points(self._ends[0]) != _points(self._ends[1])

    def _decide(self) -> None:
        """Decide again what one call came to: one command, or two where a game was opened with its first seat."""
        step, self._step = self._step, []
        while step:
            answer = self._best(step)
            if answer is None:
                self._unexplained(step)
                return
            command, decided, alike = answer
            whole = 0 < alike == len(decided)
            if not whole and self.differs_at is None:
                self.differs_at, self._course = step[min(alike, len(step) - 1)].version, step[0].before
            self._note_end(0, [fact.event for fact in (step[:alike] if whole else step)])
            self._play_on(command, decided, step[0])
            step = step[alike:] if whole else []

    def _unexplained(self, step: Sequence[Fact]) -> None:
        self.known = self.known and step[0].version > 1
        if self.differs_at is None:
            self.differs_at, self._course = step[0].version, step[0].before
        self._note_end(0, [fact.event for fact in step])

    def _best(self, step: Sequence[Fact]) -> tuple[Command, Sequence[Event], int] | None:
        """The command that explains most of the events, the first of those that do so alike; what it comes to, and how
        many of the events that explains."""
        best: tuple[Command, Sequence[Event], int] | None = None
        most = -1
        for command, decided in self._candidates(step):
            alike = _alike(decided, step)
            if decided and alike == len(decided):
                return command, decided, alike
            if alike > most:
                best, most = (command, decided, alike), alike
        return best

    def _candidates(self, step: Sequence[Fact]) -> Iterator[tuple[Command, Sequence[Event]]]:
        first, stored = step[0], [fact.event for fact in step]
        for command in self._decider.recovered(first.before, stored, first.at):
            decided = self._decided(first.before, command, first.at)
            yield command, self._settled(decided, stored)

    def _decided(self, state: S, command: Command, at: datetime) -> Sequence[Event]:
        try:
            return self._decider.decide(state, command, at).events
        except Exception:  # rules that break on a command that was taken differ, like those that refuse it
            return ()

    def _settled(self, decided: Sequence[Event], stored: Sequence[Event]) -> Sequence[Event]:
        """What was decided, with what today's rules are not asked about taken from what is stored."""
        for place, (event, before) in enumerate(zip(decided, stored, strict=False)):
            if event.type in self._decider.from_content and self._content_version != self._decider.content_version:
                return [*decided[:place], *stored[place:]]
            if event != before:
                return [*decided[:place], self._decider.pinned(event, before), *decided[place + 1 :]]
        return decided

    def _play_on(self, command: Command, decided: Sequence[Event], first: Fact) -> None:
        """Play a command through under today's rules; as long as nothing differed that is what was decided anyway."""
        if self._course is None:
            self._note_end(1, decided)
            return
        if isinstance(command, DeadlinePassed):
            due = [effect.id for effect in self._decider.effects(self._course)]
            command = replace(command, effect_id=due[0] if due else "")
        events = self._decided(self._course, command, first.at)
        for event in events:
            self._course = self._decider.evolve(self._course, event, first.at)
        self._note_end(1, events)

    def _note_end(self, which: int, events: Sequence[Event]) -> None:
        last = next((event for event in events if event.closes), None)
        if last is not None:
            self._ends = (last, self._ends[1]) if which == 0 else (self._ends[0], last)


def _alike(decided: Sequence[Event], step: Sequence[Fact]) -> int:
    """How many events are as they were stored."""
    for place, (event, fact) in enumerate(zip(decided, step, strict=False)):
        if event != fact.event:
            return place
    return min(len(decided), len(step))


def _points(end: Event | None) -> dict[str, int]:
    return {result.agent_id: result.points for result in getattr(end, "results", ())}


def _without_points(end: Event | None) -> dict[str, Any] | None:
    if end is None:
        return None
    told = {**msgspec.to_builtins(end), "type": end.type, "faults": None}
    told["results"] = [{**result, "points": None} for result in told.get("results", ())]
    return told
