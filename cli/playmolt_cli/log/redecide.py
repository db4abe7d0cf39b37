"""Decides the commands of every stored game again by the current rules."""

from collections.abc import Callable, Iterable, Mapping

import msgspec
from playmolt_core.game.decider import Decider, read_event
from playmolt_core.game.fold import time_of
from playmolt_core.game.redecision import Fact, Redecision
from playmolt_core.game.withholding import is_partial
from playmolt_core.log.port import ShardReader
from playmolt_core.log.reading import chunks
from playmolt_core.log.sealing import is_sealed
from playmolt_core.log.verify import closes
from playmolt_schemas.identifiers import type_of
from playmolt_schemas.records import Metadata, Record
from rich.table import Table

_WITHOUT_COMMANDS = ("lobby", "erasure", "ownership", "moderation")
_read_metadata = msgspec.json.Decoder(Metadata).decode


class GameDifference(msgspec.Struct, frozen=True):
    """A game that would differ: its first differing event, and whether results or points differ."""

    game_id: str
    game: str
    version: int
    events: bool
    results: bool
    points: bool


class RulesVersions(msgspec.Struct, frozen=True):
    """The newest stored rules version, and the current one."""

    stored: int
    now: int


class UndecidedGame(msgspec.Struct, frozen=True):
    """A game of a copy in which something is withheld, and its events that therefore cannot be decided again."""

    game_id: str
    game: str
    versions: list[int]


class RedecisionReport(msgspec.Struct, frozen=True, omit_defaults=True):
    """Number of games decided again, number of equal ones, and each that differs.

    `withheld` names the events that a copy does not show whole. They are decided with a placeholder, so that all others
    can be judged; an event in it never makes its game differ.
    """

    games: int
    same: int
    differ: list[GameDifference]
    rules: dict[str, RulesVersions]
    withheld: list[UndecidedGame] = []


class _ReplayedGame:
    """State of one game."""

    __slots__ = ("redecision", "state", "unreadable_at")

    def __init__(self, decider: Decider, stream: str) -> None:
        self.redecision = Redecision(decider)
        self.state = decider.initial(stream)
        self.unreadable_at = 0


class Redecisions:
    """Takes the records of each stream in order; keeps only the states of unfinished games.

    Lobbies, and streams whose commands cannot be derived from events, are skipped.
    """

    def __init__(self, deciders: Mapping[str, Decider]) -> None:
        self._deciders = {game: rules for game, rules in deciders.items() if game not in _WITHOUT_COMMANDS}
        self._running: dict[str, _ReplayedGame] = {}
        self._games = 0
        self._differ: list[GameDifference] = []
        self._rules: dict[str, RulesVersions] = {}
        self._withheld: list[UndecidedGame] = []

    def take(self, record: Record, *, closes: bool) -> None:
        decider = self._deciders.get(record.stream.partition("-")[0])
        if decider is None or is_sealed(record):
            return
        if record.version == 1:
            self._running[record.stream] = _ReplayedGame(decider, record.stream)
        course = self._running.get(record.stream)
        if course is None:
            return  # remains of an archived stream
        if not course.unreadable_at:
            self._step(decider, course, record)
        if closes:
            self._finish(record.stream)

    def _step(self, decider: Decider, course: _ReplayedGame, record: Record) -> None:
        try:
            event, at = read_event(decider, record.type, record.schema_version, record.data), time_of(record)
            before, course.state = course.state, decider.evolve(course.state, event, at)
            metadata = _read_metadata(record.metadata)
        except (LookupError, ValueError, TypeError, AttributeError, ArithmeticError):
            course.unreadable_at = record.version
            return
        course.redecision.take(Fact(before, event, record.version, at, metadata.command_id, is_partial(record)))

    def _finish(self, stream: str) -> None:
        course, game = self._running.pop(stream), type_of(stream) or ""
        redecision, unreadable = course.redecision, course.unreadable_at
        redecision.finish()
        if not redecision.known:
            return
        self._games += 1
        if redecision.undecided:
            self._withheld.append(UndecidedGame(stream, game, redecision.undecided))
        self._note_rules(game, redecision.rules_version)
        if unreadable or redecision.differs_at is not None:
            self._differ.append(
                GameDifference(
                    game_id=stream,
                    game=game,
                    version=redecision.differs_at or unreadable,
                    events=True,
                    results=bool(unreadable) or redecision.results,
                    points=bool(unreadable) or redecision.points,
                )
            )

    def _note_rules(self, game: str, stored: int | None) -> None:
        newest = max(stored or 0, self._rules[game].stored if game in self._rules else 0)
        self._rules[game] = RulesVersions(stored=newest, now=self._deciders[game].rules_version)

    def finish(self) -> RedecisionReport:
        for stream in list(self._running):
            self._finish(stream)
        return RedecisionReport(self._games, self._games - len(self._differ), self._differ, self._rules, self._withheld)


async def redecide(
    log: ShardReader, deciders: Mapping[str, Decider], progress: Callable[[int], None]
) -> RedecisionReport:
    """Decide the whole log again; calls `progress` with the number of events after each chunk."""
    redecisions, events = Redecisions(deciders), 0
    async for chunk in chunks(log):
        for stored in chunk:
            redecisions.take(stored.record, closes=stored.closes)
        events += len(chunk)
        progress(events)
    return redecisions.finish()


def redecide_records(records: Iterable[Record], deciders: Mapping[str, Decider]) -> RedecisionReport:
    """Decide the streams of a file again."""
    redecisions = Redecisions(deciders)
    for record in records:
        redecisions.take(record, closes=closes(deciders, record))
    return redecisions.finish()


def table_of(redecided: RedecisionReport) -> Table:
    """The effect of a change of rules, one row per game type."""
    table = Table("game", "rules stored", "rules now", "events differ", "results differ", "points differ", box=None)
    for game, rules in sorted(redecided.rules.items()):
        differ = [each for each in redecided.differ if each.game == game]
        counts = (len(differ), sum(each.results for each in differ), sum(each.points for each in differ))
        table.add_row(game, str(rules.stored), str(rules.now), *map(str, counts))
    return table
