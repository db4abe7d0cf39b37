"""Seats a table: creates its game with all agents, and reports it to the tournament.

Game id and command id follow from tournament, round, table and attempt, so that a repeat after a crash finds the same
game. House bots are numbered by the place of their seat in the round: no two tables of a round share one.
"""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import UNSET
from playmolt_core.bus.port import BusUnavailable, EngineCalls
from playmolt_core.db.accounts import Agent
from playmolt_core.db.errors import LogUnavailable
from playmolt_core.effects.leased_effect import LeasedEffect
from playmolt_core.game.api import ApiRequest
from playmolt_core.game.decider import EndGame, Refused
from playmolt_core.ops.telemetry import log
from playmolt_schemas.canonical import digest
from playmolt_schemas.codes import Code, Problem
from playmolt_schemas.envelopes import TableBody, TableSeat
from playmolt_schemas.identifiers import id_of_command
from playmolt_schemas.stored.tournament import HOUSE_SEAT, Table
from playmolt_schemas.stored.values import TournamentGame

from playmolt_tournament import commands
from playmolt_tournament.effects import TableToSeat
from playmolt_tournament.state import State

_log = log("tables")
_encode = msgspec.json.encode
ARENA_ROUNDS: Final = 50
"""After so many rounds an arena uses the same house bots again."""
HOUSE_OF_A_ROUND: Final = 1_000
AGAIN: Final = ARENA_ROUNDS * HOUSE_OF_A_ROUND
"""Added to the numbers of house bots in a game that is played again."""
_UNKNOWN: Final = "An entrant of this table is not registered any more."


class TableAgents(Protocol):
    """Agents at tables; see `playmolt_core.db.tables`. Every method may raise LogUnavailable."""

    async def entrants(self, agent_ids: Sequence[str]) -> Mapping[str, Agent]: ...

    async def banned(self, subjects: Sequence[str]) -> Collection[str]: ...

    async def house_bots(self, tournament: str, numbers: Sequence[int]) -> Sequence[Agent]: ...

    async def note_table(self, game_id: str, agent_ids: Sequence[str]) -> None: ...


def command_of(tournament: str, place: TableToSeat) -> str:
    """The id of the command that creates a table's game; the game's id follows from it."""
    return digest(["seat_table", tournament, place.round, place.table, place.attempt])[:32]


def house_numbers(tables: Sequence[Table], place: TableToSeat, *, arena: bool) -> list[int]:
    """The numbers of the house bots at a table, in the order of their seats."""
    before = sum(seat == HOUSE_SEAT for table in tables[: place.table - 1] for seat in table)
    first = 1 + before + (place.round - 1) % ARENA_ROUNDS * HOUSE_OF_A_ROUND * arena + AGAIN * (place.attempt - 1)
    return list(range(first, first + sum(seat == HOUSE_SEAT for seat in tables[place.table - 1])))


class TableWorker:
    """Fulfils `seat_table`."""

    def __init__(self, engines: EngineCalls, agents: TableAgents) -> None:
        self._engines = engines
        self._agents = agents

    async def __call__(self, leased: LeasedEffect[TableToSeat, State]) -> None:
        place, state = leased.payload, leased.snapshot.state
        table = state.table(place.round, place.table)
        if table is None or table.attempt != place.attempt:
            return
        tables = [other.seats for other in state.rounds[place.round - 1].tables]
        numbers = house_numbers(tables, place, arena=state.format == "arena")
        house = await self._agents.house_bots(leased.stream, numbers) if numbers else ()
        seated = await self._seated(place, house)
        if seated is None:
            _log.error("entrant_missing", tournament=leased.stream, round=place.round, table=place.table)
            await leased.submit(EndGame(reason=_UNKNOWN), "unknown")
            return
        command_id = command_of(leased.stream, place)
        game_id = id_of_command(state.terms.game_type, command_id)
        banned = await self._agents.banned([one for agent in seated for one in (agent.id, agent.owner_id) if one])
        refused = await self._create(state, _body(leased.stream, state, place, seated, banned), game_id, command_id)
        if refused is not None and refused.code == Code.TOURNAMENT_OVER.wire:
            await leased.submit(commands.DropTable(round=place.round, table=place.table, attempt=place.attempt))
            return
        if refused is not None:
            _log.error("table_refused", tournament=leased.stream, game=game_id, detail=refused.detail)
            await leased.submit(EndGame(reason=refused.detail), "refused")
            return
        await self._agents.note_table(game_id, [agent.id for agent in seated])
        seat = commands.SeatTable(
            round=place.round, table=place.table, attempt=place.attempt, game_id=game_id,
            house=tuple(agent.id for agent in house),
        )  # fmt: skip
        await leased.submit(seat)

    async def _seated(self, place: TableToSeat, house: Iterable[Agent]) -> Sequence[Agent] | None:
        """The agents of a table in the order of its seats, as they are now; None if one does not exist."""
        ids = [entrant.id for entrant in place.entrants if entrant is not None]
        entrants, bots = await self._agents.entrants(ids), iter(house)
        if not all(agent in entrants for agent in ids):
            return None
        return [next(bots) if entrant is None else entrants[entrant.id] for entrant in place.entrants]

    async def _create(self, state: State, body: bytes, game_id: str, command_id: str) -> Problem | None:
        """Create the game; returns why this can never succeed. Raises LogUnavailable for a retry."""
        try:
            answer = await self._engines.submit(
                state.terms.game_type, "seat_table", game_id, body, command_id=command_id
            )
        except BusUnavailable as error:
            raise LogUnavailable(str(error)) from error
        if answer.status == 200:
            return None
        problem = msgspec.json.decode(answer.body, type=Problem)
        if problem.code in (Code.INVALID_REQUEST.wire, Code.TOURNAMENT_OVER.wire):
            return problem
        # An agent still plays a game of another tournament, or the engine is busy: the effect is retried.
        raise LogUnavailable(f"{answer.status}: {problem.detail}")


class PackCheck:
    """Asks a game's engine whether a tournament can play with its pack, before it is announced or changed."""

    def __init__(self, engines: EngineCalls, present: Callable[[str], Awaitable[State | None]]) -> None:
        """`present` returns the state of a tournament."""
        self._engines = engines
        self._present = present

    async def opened(self, request: ApiRequest) -> Mapping[str, object] | Refused:
        """The body of `open_tournament`, or the refusal. Raises LogUnavailable."""
        body: Mapping[str, object] = request.body
        return await self._refused(request, body) or body

    async def changed(self, request: ApiRequest) -> Mapping[str, object] | Refused:
        """The body of `change_tournament`, or the refusal. Raises LogUnavailable."""
        body: Mapping[str, object] = request.body
        state = await self._present(request.stream)
        if state is None or not {"pack", "language"} & body.keys():
            return body
        return await self._refused(request, {**msgspec.to_builtins(state.terms), **body}) or body

    async def _refused(self, request: ApiRequest, terms: Mapping[str, object]) -> Refused | None:
        if not terms.get("pack"):
            return None
        game, command_id = str(terms["game_type"]), digest(["check_pack", request.stream, request.command_id])[:32]
        asked = {name: terms[name] for name in ("pack", "language") if terms.get(name)}
        place = {"id": request.stream, "round": 1}
        body = _encode({"tournament": place, "seats": [], "check": True, **asked})
        try:
            answer = await self._engines.submit(
                game, "seat_table", id_of_command(game, command_id), body, command_id=command_id
            )
        except BusUnavailable as error:
            raise LogUnavailable(str(error)) from error
        if answer.status == 200:
            return None
        problem = msgspec.json.decode(answer.body, type=Problem)
        if answer.status != Code.INVALID_REQUEST.status:
            raise LogUnavailable(f"{answer.status}: {problem.detail}")
        return Refused(Code.INVALID_REQUEST, problem.detail, tuple(problem.errors))


def _body(tournament: str, state: State, place: TableToSeat, agents: Sequence[Agent], banned: Collection[str]) -> bytes:
    """The body of `seat_table`. The game does not wait for those who are banned."""
    terms, roles = state.terms, place.roles or (None,) * len(agents)
    seats = tuple(
        TableSeat(
            id=agent.id, name=agent.name, role=role, away=agent.id in banned or agent.owner_id in banned,
            handle=agent.handle, kind=agent.kind, version=agent.version, model=agent.model,
            owner_id=agent.owner_id or UNSET,
        )
        for agent, role in zip(agents, roles, strict=True)
    )  # fmt: skip
    body = TableBody(
        tournament=TournamentGame(tournament, place.round), seats=seats, language=terms.language or None,
        pack=terms.pack or None, rated=terms.rated,
        deadline_seconds=None if terms.deadline_seconds is UNSET else terms.deadline_seconds,
        begins_before=state.ends_at if state.format == "arena" and state.ends_at else None,
    )  # fmt: skip
    return _encode(body)
