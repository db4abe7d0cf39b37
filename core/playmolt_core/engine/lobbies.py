"""Lobbies in memory: read from a snapshot, so that reading them does not take longer and longer."""

from collections.abc import Collection
from typing import Final

from msgspec.structs import replace
from rpds import HashTrieMap

from playmolt_core.engine.cached_stream import CachedStream, fresh_stream, read_stream
from playmolt_core.game.fold import Snapshot
from playmolt_core.game.lobby import Lobby, LobbyRules, decode_lobby, encode_lobby
from playmolt_core.log.folding import fold
from playmolt_core.log.port import GameIndex, GameReader, StoredSnapshot

_PAGE: Final = 1_000


def outgrown(rules: LobbyRules, entry: CachedStream) -> bool:
    """Whether an idle lobby has grown so much that it should be read again from a snapshot."""
    grown = entry.head.version - entry.since
    return entry.decider is rules and not entry.uncommitted and grown >= 2 * rules.snapshot_every


async def read_lobby(log: GameReader, rules: LobbyRules, stream: str, game: str) -> CachedStream[Lobby]:
    """Read the lobby of a game, and store a snapshot if the last one is old. Raises LogUnavailable."""
    kept = await log.snapshot(stream)
    start = decode_lobby(kept.version, kept.state) if kept else None
    stored = await log.facts(stream, start.version if start else 0, commands=start is None)
    if stored is None:
        return fresh_stream(rules, stream)
    if start is None and stored.head.version < rules.snapshot_every:
        return read_stream(rules, stream, stored)
    lobby, head = fold(rules, stream, stored, start=start), stored.head
    if head.version - (start.version if start else 0) >= rules.snapshot_every:
        lobby = _without_ended(lobby, await _running(log, game))
        await log.keep_snapshot(stream, StoredSnapshot(head.version, head.hash, encode_lobby(lobby)))
    snapshot = Snapshot(lobby, head.version, head.hash, head.at, rules.summary(lobby))
    return CachedStream(rules, stream, snapshot, set(), since=head.version)


def _without_ended(lobby: Lobby, running: Collection[str]) -> Lobby:
    """Remove the seats and entries of finished games; their agents are free either way."""
    seats, tables, entries = (_of_running(each, running) for each in (lobby.seats, lobby.tables, lobby.entries))
    return replace(lobby, seats=seats, tables=tables, entries=entries)


def _of_running(seats: "HashTrieMap[str, str]", running: Collection[str]) -> "HashTrieMap[str, str]":
    for agent, game in seats.items():
        if game not in running:
            seats = seats.remove(agent)
    return seats


async def _running(index: GameIndex, game: str) -> Collection[str]:
    """The running games. Games that the lobby names existed before the lobby was read."""
    running, before = set[str](), None
    while page := await index.games(game, phase=None, before=before, limit=_PAGE, running=True, hidden=True):
        running |= {line.stream for line in page}
        before = page[-1].created_at, page[-1].stream
    return running
