"""The lobby: waiting and running games, and changes. Polling the engines' lists repairs lost live messages."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import msgspec
from playmolt_core.bus.port import BusUnavailable, Watch
from playmolt_core.ops.telemetry import log
from playmolt_schemas.game_messages import GameSummary, LobbyMessage, lobby_type
from playmolt_schemas.identifiers import GAME_TYPES
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.stored.values import DEFAULT_LANGUAGE, DEFAULT_PACE, GameLanguage, Pace

from playmolt_spectator.channel import Channel
from playmolt_spectator.frames import Message
from playmolt_spectator.metrics import Metrics
from playmolt_spectator.port import Source
from playmolt_spectator.timeouts import Timeouts
from playmolt_spectator.watcher import Watcher

_ENDED: Final = 4096
_RANK: Final = {"game_waiting": 0, "game_started": 1, "game_end": 2, "game_aborted": 2}
_log = log("lobby")


class ListedGame(msgspec.Struct, frozen=True):
    """The fields the lobby needs from an engine's list of games."""

    game_id: str
    gameType: str  # noqa: N815 -- the wire's spelling
    phase: str
    round: int
    seated: int
    needed: int
    updated_at: str
    over: bool = False
    language: GameLanguage = DEFAULT_LANGUAGE
    pace: Pace = DEFAULT_PACE


class _Lines(msgspec.Struct):
    games: list[ListedGame]


_read_lines = msgspec.json.Decoder(_Lines).decode
_read_message = msgspec.json.Decoder(LobbyMessage).decode


def shown(line: ListedGame) -> LobbyMessage:
    """The lobby message for a listed game."""
    summary = GameSummary(line.phase, line.round, line.seated, line.needed, line.over)
    return LobbyMessage(
        type=lobby_type(summary),
        game_id=line.game_id,
        gameType=line.gameType,
        phase=line.phase,
        seated=line.seated,
        needed=line.needed,
        at=line.updated_at,
        language=line.language,
        pace=line.pace,
    )


def _looks(message: LobbyMessage) -> tuple[str, int]:
    """The parts of a message whose change is published; seats count only while waiting."""
    return message.type, message.seated if message.type == "game_waiting" else 0


class OpenGames:
    """The open games, and the filter for messages that change them."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[LobbyMessage, bytes]] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()

    def take(self, message: LobbyMessage, raw: bytes) -> bool:
        """Apply a message; False if it is outdated or changes nothing visible."""
        known, _ = self._open.get(message.game_id, (None, b""))
        if message.game_id in self._ended or (known and not self._newer(message, known)):
            return False
        if known and _looks(message) == _looks(known):
            # A new phase is not published, but new watchers see the current one.
            self._open[message.game_id] = (message, raw)
            return False
        if _RANK[message.type] < 2:
            self._open[message.game_id] = (message, raw)
            return True
        self._open.pop(message.game_id, None)
        self._ended[message.game_id] = None
        if len(self._ended) > _ENDED:
            self._ended.popitem(last=False)
        return True

    @staticmethod
    def _newer(message: LobbyMessage, known: LobbyMessage) -> bool:
        return _RANK[message.type] >= _RANK[known.type] and message.at >= known.at

    def missing(self, game: str, listed: set[str]) -> set[str]:
        """The open games of a type that are missing from a list."""
        return {identifier for identifier, (known, _) in self._open.items() if known.gameType == game} - listed

    def forget(self, identifiers: set[str]) -> None:
        for identifier in identifiers:
            self._open.pop(identifier, None)

    def raws(self) -> list[bytes]:
        return [raw for _, raw in self._open.values()]


class TooSlow(Exception):
    """A watcher did not read the list before later messages were evicted."""


class Lobby(Channel):
    """The lobby's watchers. Versions number the messages of this replica and are not visible outside."""

    def __init__(self, source: Source, metrics: Metrics, timeouts: Timeouts, page: int = PAGE_MAX) -> None:
        super().__init__(metrics)
        self._ready = asyncio.Event()
        self._source = source
        self._timeouts = timeouts
        self._page = page
        self._present = OpenGames()
        self._refresh = asyncio.Event()

    @property
    def beat_version(self) -> int:
        """A lobby has no version."""
        return 0

    async def older(self, version: int) -> Sequence[Message]:
        raise TooSlow(version)

    async def serve(self, watcher: Watcher, version: int = 0) -> None:  # noqa: ARG002 -- a lobby cannot be resumed
        """Send the current list, then changes."""
        head = self.head
        try:
            await watcher.deliver([Message(0, raw) for raw in self._present.raws()])
            await super().serve(watcher, head)
        except TooSlow:
            watcher.drop()

    async def wait_ready(self) -> None:
        """Wait for the first list; raises BusUnavailable on timeout."""
        try:
            async with asyncio.timeout(self._timeouts.connect):
                await self._ready.wait()
        except TimeoutError:
            raise BusUnavailable("no engine sent its list of games in time") from None

    def attach(self, watcher: Watcher, *, notices: bool = False) -> None:
        """Serve a watcher; `notices`: with what is sent outside the order of the feed alone."""
        self.join(watcher)
        watcher.left = lambda: self.leave(watcher)
        if not notices:
            watcher.feed(self.serve(watcher))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._listen())
            tasks.create_task(self._repair())
            tasks.create_task(self._beat())

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._timeouts.heartbeat)
            self.heartbeat()

    async def _listen(self) -> None:
        watch = await self._subscribe()
        try:
            while True:
                raw = await watch.next(self._timeouts.check)
                if raw:
                    self._hear(raw)
                elif raw is not None:
                    self._refresh.set()
        finally:
            await watch.close()

    async def _subscribe(self) -> Watch:
        pause = self._timeouts.retry_first
        while True:
            try:
                return await self._source.watch_lobby()
            except (BusUnavailable, TimeoutError) as error:
                _log.warning("lobby_subscribe_failed", error=repr(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, self._timeouts.retry_last)

    def _hear(self, raw: bytes) -> None:
        try:
            message = _read_message(raw)
        except msgspec.DecodeError:
            _log.error("unreadable_message", size=len(raw))
            return
        if self._present.take(message, raw):
            self.publish([Message(self.head + 1, raw)])

    async def _repair(self) -> None:
        while True:
            self._refresh.clear()
            answers = await asyncio.gather(*map(self._compare, GAME_TYPES), return_exceptions=True)
            for fault in answers:
                if isinstance(fault, Exception) and not isinstance(fault, BusUnavailable):
                    _log.error("lobby_refresh_failed", error=repr(fault))
            try:
                async with asyncio.timeout(self._timeouts.lobby if self._ready.is_set() else self._timeouts.retry_last):
                    await self._refresh.wait()
            except TimeoutError:
                continue

    async def _compare(self, game: str) -> None:
        """Publish the differences between an engine's list and the lobby."""
        lines = await self._list(game, {"open": True, "limit": self._page})
        missing = self._present.missing(game, {line.game_id for line in lines})
        if missing:
            everything = await self._list(game, {"limit": self._page})
            lines += [line for line in everything if line.game_id in missing and line.over]
            if len(everything) == self._page:
                self._present.forget(missing - {line.game_id for line in everything})
        messages = [(message, msgspec.json.encode(message)) for message in map(shown, reversed(lines))]
        news = [raw for message, raw in messages if self._present.take(message, raw)]
        if news:
            self.publish([Message(self.head + number, raw) for number, raw in enumerate(news, 1)])
        self._ready.set()

    async def _list(self, game: str, ask: dict[str, object]) -> list[ListedGame]:
        answer = await self._source.submit(game, "games", "", msgspec.json.encode(ask), deadline=self._timeouts.connect)
        if answer.status != 200:
            raise BusUnavailable(f"the engine answered {answer.status} to a list of {game} games")
        return _read_lines(answer.body).games
