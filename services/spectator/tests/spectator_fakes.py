"""An engine and a bus in memory, which a test can make unreliable."""

import asyncio
from asyncio import Future
from collections import defaultdict
from typing import Any

import msgspec
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.ops.metrics import Sample
from playmolt_schemas.codes import ARCHIVED, NO_GAME, Code, problem_bytes
from playmolt_schemas.envelopes import Answer, Op


def game(number: int = 1) -> str:
    return f"ox-00000000-0000-7000-8000-{number:012d}"


def raw(game_id: str, version: int, kind: str = "moved", pad: int = 0) -> bytes:
    """A message in bytes that no JSON library would write, so that a test sees whether it was passed on unchanged."""
    return b'{"type":"%b", "text":"\\u00e9 \xec\x98\xa4%b","game_id":"%b",  "version":%d}' % (
        kind.encode(),
        b"x" * pad,
        game_id.encode(),
        version,
    )


class FakeWatch:
    def __init__(self) -> None:
        self.queue: asyncio.Queue[bytes] = asyncio.Queue()
        self.closed = False
        self.open = True

    async def next(self, timeout: float) -> bytes | None:
        if not self.queue.empty():
            return self.queue.get_nowait()
        try:
            async with asyncio.timeout(timeout):
                return await self.queue.get()
        except TimeoutError:
            return None

    async def close(self) -> None:
        self.open = False


class FakeBus:
    """`games` is the log; the test decides which messages it sends live."""

    def __init__(self) -> None:
        self.games: dict[str, list[bytes]] = {}
        self.over: set[str] = set()
        self.archived: set[str] = set()
        self.held: dict[str, range] = {}
        self.watches: defaultdict[str, list[FakeWatch]] = defaultdict(list)
        self.moderation_watches: list[FakeWatch] = []
        self.lobby_watches: list[FakeWatch] = []
        self.lines: dict[str, dict[str, Any]] = {}
        self.engines = True
        self.page = 1000
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.up = True

    def start(self, game_id: str, count: int = 0, pad: int = 0) -> None:
        self.games[game_id] = [raw(game_id, version, pad=pad) for version in range(1, count + 1)]

    def store(self, game_id: str, kind: str = "moved", *, closes: bool = False, pad: int = 0) -> bytes:
        message = raw(game_id, len(self.games[game_id]) + 1, kind, pad)
        self.games[game_id].append(message)
        if closes:
            self.over.add(game_id)
        return message

    def tell(self, game_id: str, *messages: bytes, closes: bool = False) -> None:
        for watch in self.watches[game_id]:
            if watch.open:
                watch.closed = watch.closed or closes
                for message in messages:
                    watch.queue.put_nowait(message)

    def happen(self, game_id: str, kind: str = "moved", *, closes: bool = False, pad: int = 0) -> bytes:
        message = self.store(game_id, kind, closes=closes, pad=pad)
        self.tell(game_id, message, closes=closes)
        return message

    def tell_lobby(self, *messages: bytes) -> None:
        for watch in self.lobby_watches:
            for message in messages:
                watch.queue.put_nowait(message)

    def line(self, game_id: str, phase: str = "waiting", seated: int = 0, at: int = 1, *, over: bool = False) -> None:
        self.lines[game_id] = {
            "game_id": game_id,
            "gameType": game_id.split("-", maxsplit=1)[0],
            "phase": phase,
            "round": 0,
            "seated": seated,
            "needed": 2,
            "created_at": "2026-01-01T00:00:00.000000Z",
            "updated_at": f"2026-01-01T00:00:{at:02d}.000000Z",
            "over": over,
            "version": 1,
        }

    def submit(
        self, game: str, op: Op, target: str, body: bytes = b"{}", *, invite: str = "", deadline: float | None = None
    ) -> "Future[Answer]":
        future: Future[Answer] = asyncio.get_running_loop().create_future()
        ask = msgspec.json.decode(body)
        self.asked.append((op, target, ask))
        if not self.engines:
            future.set_exception(BusUnavailable("no engine answered in time"))
        elif op == "games":
            future.set_result(self._list(game, ask))
        else:
            future.set_result(self._feed(target, ask))
        return future

    def _list(self, kind: str, ask: dict[str, Any]) -> Answer:
        lines = [line for line in self.lines.values() if line["gameType"] == kind]
        if ask.get("open"):
            lines = [line for line in lines if not line["over"]]
        return Answer(0, 200, msgspec.json.encode({"games": lines[::-1][: ask["limit"]]}))

    def _feed(self, game_id: str, ask: dict[str, Any]) -> Answer:
        if game_id not in self.games:
            archived = game_id in self.archived
            gone = problem_bytes(Code.ARCHIVED, ARCHIVED) if archived else problem_bytes(Code.NOT_FOUND, NO_GAME)
            return Answer(0, 404, gone)
        log = self.games[game_id]
        messages = log[ask["after"] :][: min(ask["limit"], self.page)]
        closed = b"true" if game_id in self.over else b"false"
        return Answer(0, 200, b'{"messages":[%b],"version":%d,"closed":%b}' % (b",".join(messages), len(log), closed))

    async def history(self, game: str, identifier: str, after: int, limit: int) -> list[bytes]:
        held = self.held.get(identifier, range(0))
        log = self.games.get(identifier, [])
        return [log[version - 1] for version in held if version > after and version <= len(log)][:limit]

    async def watch(self, game: str, identifier: str) -> FakeWatch:
        self.watches[identifier].append(FakeWatch())
        return self.watches[identifier][-1]

    async def watch_moderation(self) -> FakeWatch:
        self.moderation_watches.append(FakeWatch())
        return self.moderation_watches[-1]

    async def watch_lobby(self) -> FakeWatch:
        self.lobby_watches.append(FakeWatch())
        return self.lobby_watches[-1]

    def samples(self) -> tuple[Sample, ...]:
        return ()

    def present(self) -> frozenset[str]:
        return frozenset({"ox", "trial"} if self.engines else ())

    def connected(self) -> bool:
        return self.up
