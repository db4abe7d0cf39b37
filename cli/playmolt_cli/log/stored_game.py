"""Loads one game from the log or from a copy."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from playmolt_core.db.pool import Pool
from playmolt_core.game.decider import PUBLIC, Decider, Viewer
from playmolt_core.game.fold import step
from playmolt_core.log.port import Archived, StoredStream
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import Break, Verifier, rests
from playmolt_core.vault.stream_key import StreamKey
from playmolt_schemas.identifiers import SESSION_TYPES, type_of
from playmolt_schemas.records import Record

from playmolt_cli.games import deciders, with_packs
from playmolt_cli.log.reading import records_of, verified_files, with_database, with_log
from playmolt_cli.terminal.failures import Failure


def rules_of(game_id: str) -> Decider:
    """The rules of the game that an id names; raises Failure."""
    decider = deciders().get(type_of(game_id) or "")
    if decider is None:
        raise Failure(f"{game_id!r} is not a game id. Ids look like trial-UUID or ox-UUID; GET /api/games lists them.")
    return decider


def finished_games(game_ids: Sequence[str], data: Path | None, copy: Path | None) -> Mapping[str, Sequence[Record]]:
    """Finished games with intact records, by id; raises Failure."""
    known = {game_id: rules_of(game_id) for game_id in game_ids}
    if copy is not None:
        games = {game_id: _copied(copy, game_id) for game_id in known}
    else:
        loaded = with_log(data, lambda log: _stored(log, known))
        games = {game_id: (records, _breaks(known[game_id], records)) for game_id, records in loaded.items()}
    for game_id, (records, breaks) in games.items():
        if breaks:
            raise Failure(f"{game_id} has broken records: {breaks[0].problem}. See `playmolt replay {game_id}`.")
        _need_end(known[game_id], game_id, records)
    return {game_id: records for game_id, (records, _) in games.items()}


def stored_game(
    decider: Decider, game_id: str, data: Path | None, copy: Path | None, *, opened: bool = False
) -> tuple[Sequence[Record], Sequence[Break], StreamKey | None]:
    """A game's records, their breaks and their key; raises Failure if there are none.

    `opened`: decrypt sealed records if the keys are available.
    """
    if copy is not None:
        return (*_copied(copy, game_id), None)

    async def work(log: PostgresLog, pool: Pool) -> StoredStream:
        await with_packs({decider.game: decider}, pool)
        return await _stored_one(log, game_id)

    stored = with_database(data, work, opened=opened)
    return stored.records, _breaks(decider, stored.records, stored.key), stored.key


def seat_of(decider: Decider, game_id: str, records: Sequence[Record], seat: str) -> str:
    """The agent id for an id or name in a finished game; raises Failure."""
    _need_end(decider, game_id, records)
    state = decider.initial(game_id)
    seats: dict[str, str] = {}
    for record in records:
        state = step(decider, state, record)
        seats |= decider.participants(state)
    found = [agent for agent, name in seats.items() if seat in (agent, name)]
    if len(found) != 1:
        known = ", ".join(f"{name} ({agent})" for agent, name in seats.items())
        raise Failure(f"{seat!r} does not match exactly one seat of {game_id}. Its seats: {known or 'none'}.")
    return found[0]


def owner_of(decider: Decider, game_id: str, records: Sequence[Record]) -> Viewer:
    """The viewer of a game whose seat is not named: who opened a session, otherwise a spectator."""
    if decider.game not in SESSION_TYPES:
        return PUBLIC
    opened = decider.participants(step(decider, decider.initial(game_id), records[0]))
    return next(map(Viewer, opened), PUBLIC)


def _need_end(decider: Decider, game_id: str, records: Sequence[Record]) -> None:
    if not rests({decider.game: decider}, records[-1]):
        raise Failure(f"{game_id} is not over. Seats are shown only after the game ends.")


def _breaks(decider: Decider, records: Sequence[Record], key: StreamKey | None = None) -> Sequence[Break]:
    verifier = Verifier({decider.game: decider})
    for record in records:
        verifier.take(record, closes=False, key=key)
    return verifier.finish().breaks


async def _stored(log: PostgresLog, game_ids: Iterable[str]) -> Mapping[str, Sequence[Record]]:
    return {game_id: (await _stored_one(log, game_id)).records for game_id in game_ids}


async def _stored_one(log: PostgresLog, game_id: str) -> StoredStream:
    try:
        stored = await log.load(game_id)
    except Archived as error:
        archived = (await log.register.of([game_id]))[game_id]
        raise Failure(f"{game_id} is archived. Use --log with the file {archived.file}.") from error
    if stored is None:
        raise Failure(f"No game {game_id} in the log. `playmolt log tail --running` lists recent ids.")
    return stored


def _copied(copy: Path, game_id: str) -> tuple[Sequence[Record], Sequence[Break]]:
    breaks = verified_files([copy]).breaks
    records: list[Record] = []
    with suppress(Failure):  # an unreadable file is already one of the breaks
        records.extend(record for record in records_of([copy]) if record.stream == game_id)
    if not records and not any(fault.stream == game_id for fault in breaks):
        raise Failure(f"{copy} has no records of {game_id}.")
    return records, breaks
