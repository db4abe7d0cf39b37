"""Plays the games of a match, in sequence or concurrently, and collects their results."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from playmolt_core.game.decider import Command, Decider
from playmolt_core.llm.durable_call import AccountExhausted
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, Fault, GameLanguage, Identity, Place

from playmolt_cli.match.entrants import Deal, Entrant, agent_id
from playmolt_cli.match.folder import MatchFolder
from playmolt_cli.match.playing import Watchdog, play
from playmolt_cli.match.table import GameTable, TableSeat


class SeatResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Result of a seat (from 1). Trials also have `role` and `won`."""

    seat: int
    player: str
    rank: int | None
    points: int
    role: str | msgspec.UnsetType = msgspec.UNSET
    won: bool | msgspec.UnsetType | None = msgspec.UNSET

    @property
    def wins(self) -> bool:
        return self.rank == 1 if self.won is msgspec.UNSET else self.won is True


class PlayerFault(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of a game's ledger; `at` is the FILE:LINE of the player's error, if known."""

    game_id: str
    number: int
    player: str
    kind: str
    what: str
    count: int
    at: str | None


class FinishedGame(msgspec.Struct, frozen=True):
    """A finished game: `results` in the game's own order, `rated` the names of rated players.

    `measured` is the player whose role wins at a rate that ratings take into account, if there is one.
    """

    deal: Deal
    results: tuple[SeatResult, ...]
    rated: frozenset[str]
    faults: tuple[PlayerFault, ...]
    measured: str | None = None


class Tournament:
    """Plays the games between entrants. With a folder, games are stored and can be continued."""

    def __init__(
        self,
        deciders: Mapping[str, Decider],
        entrants: Sequence[Entrant],
        watchdog: Watchdog,
        folder: MatchFolder | None = None,
        language: GameLanguage = DEFAULT_LANGUAGE,
    ) -> None:
        self._deciders = deciders
        self._language: GameLanguage = language
        self._entrants = entrants
        self._watchdog = watchdog
        self._folder = folder
        self.stopped = False
        """Whether the budget ran out during a game."""

    async def play(self, deals: Iterable[Deal], concurrency: int = 1) -> AsyncIterator[FinishedGame]:
        """Give each game as it ends, `concurrency` of them at once. Raises GameStuck."""
        waiting, running = iter(deals), set[asyncio.Task[FinishedGame | None]]()
        try:
            while True:
                while len(running) < concurrency and not self.stopped and (deal := next(waiting, None)) is not None:
                    running.add(asyncio.create_task(self.game(deal)))
                if not running:
                    return
                done, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    if (ended := task.result()) is not None:
                        yield ended
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    async def game(self, deal: Deal) -> FinishedGame | None:
        """Play or continue a game to its end; None if the budget runs out first."""
        decider = self._deciders[deal.game]
        sitting = [self._entrants[place] for place in deal.seats]
        entrants = {agent_id(deal, entrant.name): entrant for entrant in sitting}
        names = {agent: entrant.name for agent, entrant in entrants.items()}
        record = self._folder.game(decider, deal) if self._folder else MemoryRecord(decider.initial(deal.game_id))
        try:
            seats = [TableSeat(agent, entrant.name, _identity(entrant)) for agent, entrant in entrants.items()]
            table = GameTable(decider, record.state, seats, record.commit)
            if not table.state.version:
                table.open(deal.seed, self._language)
            players = {agent: entrant.sit(deal, seat) for seat, (agent, entrant) in enumerate(entrants.items(), 1)}
            state = await play(table, players, entrants, self._watchdog)
        except AccountExhausted:
            self.stopped = True
            return None
        finally:
            record.close()
        if self._folder:
            self._folder.transcript(deal).settle()
        return played(deal, state, names, record.broken)


class MemoryRecord:
    """In-memory record of a game that is not stored."""

    def __init__(self, state: Any) -> None:
        self.state = state
        self.broken: list[tuple[str, str, str]] = []

    def commit(self, command: Command, _: Sequence[tuple[Event, object]], at: str | None) -> None:
        if at is not None:
            self.broken.append((getattr(command, "agent_id", ""), getattr(command, "what", ""), at))

    def close(self) -> None:
        """No file to close."""


def played(deal: Deal, state: Any, names: Mapping[str, str], broken: Iterable[tuple[str, str, str]]) -> FinishedGame:
    """The result of a game. `names` is by agent id in seat order; `broken` has (agent, what, FILE:LINE)."""
    rows = state.results or ()
    ids = list(names)
    results = tuple(_result(row, ids.index(row.agent_id) + 1, names[row.agent_id]) for row in rows)
    rated = frozenset(names[row.agent_id] for row in rows if place_of(row).competes)
    measured = next((names[row.agent_id] for row in rows if place_of(row).measured), None)
    return FinishedGame(deal, results, rated, tuple(_faults(deal, state.faults or (), names, broken)), measured)


def _identity(entrant: Entrant) -> Identity:
    if entrant.kind in {"house", "fill"}:
        return Identity(kind="house")
    return Identity(kind="house", model=entrant.model) if entrant.model else Identity(kind="bot")


def _result(row: Any, seat: int, player: str) -> SeatResult:
    return SeatResult(
        seat=seat,
        player=player,
        rank=place_of(row).rank,
        points=row.points,
        role=getattr(row, "role", msgspec.UNSET),
        won=getattr(row, "won", msgspec.UNSET),
    )


def place_of(row: object) -> Place:
    """The place in a row of a game's results."""
    return getattr(row, "place", Place(None, competes=False))


def _faults(
    deal: Deal, faults: Iterable[Fault], names: Mapping[str, str], broken: Iterable[tuple[str, str, str]]
) -> Iterable[PlayerFault]:
    """The ledger, with one entry per failing line of a player's file."""
    places: dict[tuple[str, str], list[str]] = {}
    for agent, what, at in broken:
        places.setdefault((agent, what), []).append(at)
    for fault in faults:
        known = places.get((fault.agent_id, fault.what), []) if fault.kind == "bot" else []
        unlocated = fault.count - len(known)
        for place, count in (*Counter(known).items(), *([(None, unlocated)] if unlocated else [])):
            yield PlayerFault(
                    game_id=deal.game_id, number=deal.number, player=names[fault.agent_id],
                    kind=fault.kind, what=fault.what, count=count, at=place,
                )  # fmt: skip
