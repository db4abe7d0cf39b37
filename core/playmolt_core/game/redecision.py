"""Decides a stored stream again: recovers its commands from the events and applies today's rules.

Each command is decided on its stored state. From the first difference on, the commands are also applied to the state
that today's rules produce, so that a changed payout also shows in the result of the game.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Generic, TypeVar

import msgspec
from msgspec.structs import replace
from playmolt_schemas.identifiers import SESSION_TYPES
from playmolt_schemas.stored.event import Event

from playmolt_core.game.decider import Command, DeadlinePassed, Decider

S = TypeVar("S")


class Fact(msgspec.Struct, frozen=True, gc=False):
    """A stored event with the state before it, its version, time and command. `withheld`: a placeholder is in it."""

    before: Any
    event: Event
    version: int
    at: datetime
    command_id: str
    withheld: bool = False


class Redecision(Generic[S]):
    """Takes the events of one stream in order; call `finish` after the last."""

    def __init__(self, decider: Decider[S]) -> None:
        self._decider = decider
        self._content_version = ""
        self._step: list[Fact] = []
        self._course: S | None = None
        self._ends: tuple[Event | None, Event | None] = (None, None)
        """The stored end and the end under today's rules."""
        self.rules_version: int | None = None
        """The rules version of the first event; None if it has none."""
        self.known = True
        """Whether the game can recover its commands from events."""
        self.differs_at: int | None = None
        """The version of the first different event."""
        self.undecided: list[int] = []
        """The versions of events that cannot be judged, because something in them is withheld; in a session, whose
        rules read texts, also those of later ones that differ."""

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
        """Whether the result would differ, apart from points."""
        stored, now = map(_without_points, self._ends)
        return stored != now

    @property
    def points(self) -> bool:
        """Whether any points would differ."""
        return _points(self._ends[0]) != _points(self._ends[1])

    def _decide(self) -> None:
        """Decide the command of one call again; two commands if a game was opened with its first seat."""
        step, self._step = self._step, []
        self.undecided += [fact.version for fact in step if fact.withheld]
        while step:
            answer = self._best(step)
            if answer is None and self._undecidable(step):
                return
            if answer is None:
                self._unexplained(step)
                return
            command, decided, alike = answer
            whole = 0 < alike == len(decided)
            if not whole and self._undecidable(step):
                self._note_end(0, [fact.event for fact in step])
                self._note_end(1, [fact.event for fact in step])
                return
            if not whole and self.differs_at is None:
                self.differs_at, self._course = step[min(alike, len(step) - 1)].version, step[0].before
            self._note_end(0, [fact.event for fact in (step[:alike] if whole else step)])
            self._play_on(command, decided, step[0])
            step = step[alike:] if whole else []

    def _undecidable(self, step: Sequence[Fact]) -> bool:
        """Whether a difference of this step may follow from a placeholder. Its events are then taken as stored."""
        if self.differs_at is not None or not self.undecided:
            return False
        if any(fact.withheld for fact in step):
            return True
        if self._decider.game in SESSION_TYPES:
            self.undecided += [fact.version for fact in step]
            return True
        return False

    def _unexplained(self, step: Sequence[Fact]) -> None:
        self.known = self.known and step[0].version > 1
        if self.differs_at is None:
            self.differs_at, self._course = step[0].version, step[0].before
        self._note_end(0, [fact.event for fact in step])

    def _best(self, step: Sequence[Fact]) -> tuple[Command, Sequence[Event], int] | None:
        """The first command that explains the most events, with its events and the number of explained events."""
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
        except Exception:  # an exception is a difference, like a refusal
            return ()

    def _settled(self, decided: Sequence[Event], stored: Sequence[Event]) -> Sequence[Event]:
        """The decided events, with inputs such as content and rules version taken from the stored events."""
        for place, (event, before) in enumerate(zip(decided, stored, strict=False)):
            if event.type in self._decider.from_content and self._content_version != self._decider.content_version:
                return [*decided[:place], *stored[place:]]
            if event != before:
                return [*decided[:place], self._decider.pinned(event, before), *decided[place + 1 :]]
        return decided

    def _play_on(self, command: Command, decided: Sequence[Event], first: Fact) -> None:
        """Apply a command under today's rules; the same as the decided events until the first difference."""
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
    """The number of leading events that equal the stored ones."""
    for place, (event, fact) in enumerate(zip(decided, step, strict=False)):
        if event != fact.event:
            return place
    return min(len(decided), len(step))


def _points(end: Event | None) -> dict[str, int]:
    return {result.agent_id: result.points for result in getattr(end, "results", ())}


def _without_points(end: Event | None) -> dict[str, object] | None:
    if end is None:
        return None
    fields = {**msgspec.to_builtins(end), "type": end.type, "faults": None}
    fields["results"] = [{**result, "points": None} for result in fields.get("results", ())]
    return fields
