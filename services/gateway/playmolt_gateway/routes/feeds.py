"""Answers that last: whose turn it is, a game's events as they happen, and its log."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Final

import msgspec
from playmolt_core.bus.port import BusUnavailable, Watch
from playmolt_core.ops.http_protocol import BREAK_OFF
from playmolt_core.ops.telemetry import log
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.identifiers import GAME_TYPES, SESSION_TYPES
from playmolt_schemas.limits import HEARTBEAT_SECONDS, PAGE_MAX, READER_STALL_SECONDS, WAIT_SECONDS
from playmolt_schemas.routes.route import EVENT_STREAM, LARGEST, NDJSON
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from playmolt_gateway.http.problems import Refusal, bad_request
from playmolt_gateway.http.responses import answer_response, json_response
from playmolt_gateway.ports import AWAY
from playmolt_gateway.request.checked_request import CheckedRequest, Reply, reason
from playmolt_gateway.request.services import Services
from playmolt_gateway.request.waits import LongPoll, version_of, wait_for_newer
from playmolt_gateway.routes.games import ask_engine

_log = log("gateway")
TURN_SECONDS: Final = 1.0
"""A game that starts for the agent while it waits is found within this time."""
FEED_MESSAGES: Final = 100
ERASED_SECONDS: Final = 2.0
"""How soon a feed of a session looks whether the session is still there: nothing is said in one that was erased."""
_OVER: Final = frozenset(("end", "aborted"))
_VERSION: Final = re.compile(r"[0-9]{1,16}", re.ASCII)


class _Place(msgspec.Struct):
    game_id: str
    version: int


class _Turns(msgspec.Struct):
    turn: msgspec.Raw
    games: list[_Place]


class _Phase(msgspec.Struct):
    phase: str


class _FeedPage(msgspec.Struct):
    messages: list[msgspec.Raw]
    version: int
    closed: bool


class _LogPage(msgspec.Struct):
    records: list[msgspec.Raw]
    next_after: int
    more: bool


_state_of = msgspec.json.Decoder(_Phase).decode
_turns_of = msgspec.json.Decoder(_Turns).decode
_feed_of = msgspec.json.Decoder(_FeedPage).decode
_log_of = msgspec.json.Decoder(_LogPage).decode

Chunks = AsyncIterator[bytes]


class Lasting(Response):
    """A response that is written as it arises.

    It ends early when the client goes or the gateway stops. A client that takes nothing for 10 seconds is dropped. When
    the source fails, the connection breaks: a cut answer never looks like a whole one.
    """

    def __init__(self, media_type: str, poll: LongPoll, chunks: Callable[[LongPoll], Chunks]) -> None:
        super().__init__(media_type=media_type, headers={"cache-control": "no-store", "x-accel-buffering": "no"})
        del self.headers["content-length"]
        self._poll = poll
        self._chunks = chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Write until the end, or break the connection without one."""
        del receive  # the poll has it
        try:
            async with self._poll as poll:
                await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
                if scope["method"] != "HEAD":
                    await self._write(poll, send)
        except AWAY as error:
            _log.warning("stream_broken", detail=reason(error))
            scope["extensions"][BREAK_OFF]["now"]()
            return
        await send({"type": "http.response.body", "body": b""})

    async def _write(self, poll: LongPoll, send: Send) -> None:
        async with aclosing(self._chunks(poll)) as chunks:  # type: ignore[type-var]
            async for chunk in chunks:
                async with asyncio.timeout(READER_STALL_SECONDS):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})


async def wait_for_turn(services: Services, request: CheckedRequest) -> Reply:
    """Answer as soon as a game wants something of the caller; 204 when none did in time."""
    poll = request.poll(services.waits)
    if isinstance(poll, Refusal):
        return poll
    clock = asyncio.get_running_loop().time
    end = clock() + min(request.query.wait, WAIT_SECONDS)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(poll)
        watches: dict[str, Watch] = {}
        looked: set[str] | None = None
        """The games that ran when those were looked at that do not."""
        while True:
            found = await _turn(services, request)
            if isinstance(found, Response):
                return found
            running = {place.game_id for place in found}
            if running != looked and not poll.gone:
                looked = running
                with suppress(*AWAY):
                    if over := await _over(services, request, running):
                        return over
            remaining = end - clock()
            if poll.over or remaining <= 0:
                return Response(status_code=204)
            if await _watch_new(services, watches, found, stack):
                continue  # Subscribed first, read again: what happened in between is seen.
            pause = min(TURN_SECONDS, remaining)
            await poll.first([wait_for_newer(watches[g.game_id], g.version, pause) for g in found], pause)


async def _over(services: Services, request: CheckedRequest, running: set[str]) -> Response | None:
    """Tell of a game of the caller's that is over, once; None when there is none that it does not know of."""
    agent, accounts = request.caller.id, services.accounts
    untold = await services.soon(accounts.untold(agent))
    for game_id in running.difference(untold):
        await services.soon(accounts.keep_seat(agent, game_id))
    for game_id in untold:
        if game_id in running:
            continue
        game = game_id.partition("-")[0]
        answer = await services.bus.submit(game, "state", game_id, agent=agent, trace=request.trace)
        if answer.status == 200 and _state_of(answer.body).phase not in _OVER:
            continue  # It gave that game up and sits in another one.
        if answer.status in (200, 404):
            await services.soon(accounts.told(agent, game_id))
        if answer.status == 200:
            turn = {
                "game_id": game_id,
                "gameType": game,
                "state": msgspec.Raw(answer.body),
                "actions": [],
                "over": True,
            }
            return json_response(200, msgspec.json.encode(turn))
    return None


async def _watch_new(services: Services, watches: dict[str, Watch], games: list[_Place], stack: AsyncExitStack) -> bool:
    new = [place.game_id for place in games if place.game_id not in watches]
    for game in new:
        watches[game] = await services.bus.watch(game.partition("-")[0], game)
        stack.push_async_callback(watches[game].close)
    return bool(new)


async def _turn(services: Services, request: CheckedRequest) -> Response | list[_Place]:
    """Ask every game type; gives the first turn there is, else the games the caller sits in.

    A type whose engine is away holds no other's turn back; it is told (by raising) only when there is no turn.
    """
    waiting = {
        services.bus.submit(game, "turn", "", agent=request.caller.id, trace=request.trace) for game in GAME_TYPES
    }
    games: list[_Place] = []
    failed: BusUnavailable | None = None
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for future in done:
            try:
                answer = future.result()
            except BusUnavailable as error:
                failed = error
                continue
            if answer.status != 200:
                return answer_response(answer)
            turns = _turns_of(answer.body)
            if bytes(turns.turn) != b"null":
                for other in waiting:
                    other.cancel()
                return json_response(200, bytes(turns.turn))
            games += turns.games
    if failed:
        raise failed
    return games


def _after(request: CheckedRequest) -> int | None:
    """Where to go on: the header goes before the query's ids, those before `after`; None when it is no version."""
    query = request.query
    given = request.last_event_id or query.last_event_id or query.spelt_as_the_header
    if not given:
        return int(query.after)
    if not _VERSION.fullmatch(given) or int(given) > LARGEST:
        return None
    return int(given)


async def stream_events(services: Services, request: CheckedRequest) -> Reply:
    """Open a feed of the game as the caller sees it. What is unknown is told before anything is sent."""
    after = _after(request)
    if after is None:
        return bad_request("Last-Event-ID must be the id of an event of this feed: a version, as in 17.")
    opened = request.poll(services.waits, stream=True)
    if isinstance(opened, Refusal):
        return opened
    with opened.until_answered() as kept:
        first = await _feed(services, request, after)
        if first.status == Code.UNAVAILABLE.status:
            raise BusUnavailable("the engine cannot read the feed now")
        if first.status != 200:
            return answer_response(first)
        page = _feed_of(first.body)
        if after and page.closed and after >= page.version:
            return Response(status_code=204)
        kept.pop_all()
    return Lasting(EVENT_STREAM, opened, lambda poll: _events(services, request, after, poll))


def _feed(services: Services, request: CheckedRequest, after: int) -> "asyncio.Future[Answer]":
    return ask_engine(services, request, "feed", {"after": after, "limit": FEED_MESSAGES})


async def _events(services: Services, request: CheckedRequest, after: int, poll: LongPoll) -> Chunks:
    """Everything after a version, then what comes; a comment with the head when nothing does."""
    clock = asyncio.get_running_loop().time
    beat = clock() + HEARTBEAT_SECONDS
    most = ERASED_SECONDS if request.game in SESSION_TYPES else HEARTBEAT_SECONDS
    watch = await services.bus.watch(request.game, request.params["id"])
    speech: Watch | None = None
    try:
        speech = await _speech(services, request)
        while not poll.over and await services.authenticator.still(request.caller):
            answer = await _feed(services, request, after)
            if answer.status == Code.ERASED.status:
                return
            if answer.status != 200:
                raise BusUnavailable(f"the feed ended with {answer.status}")
            page = _feed_of(answer.body)
            if page.messages:
                yield b"".join(_event(message) for message in page.messages)
                after = version_of(page.messages[-1]).version
                beat = clock() + HEARTBEAT_SECONDS
            if after < page.version and page.messages:
                continue
            if page.closed and after >= page.version:
                return
            pause = min(beat - clock(), most)
            until = clock() + pause
            newer = asyncio.create_task(wait_for_newer(watch, after, pause))
            try:
                while not newer.done() and not poll.over and clock() < until:
                    said: list[bytes] = []
                    await poll.first([asyncio.shield(newer), _hear(speech, said)], until - clock())
                    for message in said:
                        yield b"event: speaking\ndata: %b\n\n" % message
            finally:
                newer.cancel()
            if clock() >= beat:
                yield b": heartbeat %d\n\n" % page.version
                beat = clock() + HEARTBEAT_SECONDS
    finally:
        await watch.close()
        if speech is not None:
            await speech.close()


async def _speech(services: Services, request: CheckedRequest) -> Watch | None:
    """What roles say while they say it, on the streams that tell it."""
    return await services.bus.watch_speech(request.game, request.params["id"]) if request.route.speaks else None


async def _hear(speech: Watch | None, said: list[bytes]) -> None:
    """Wait for what is said, for ever where nothing is; an empty message only says that some was missed."""
    while speech is None or not (message := await speech.next(HEARTBEAT_SECONDS)):
        if speech is None:
            await asyncio.sleep(HEARTBEAT_SECONDS)
    said.append(message)


def _event(message: msgspec.Raw) -> bytes:
    return b"id: %d\ndata: %b\n\n" % (version_of(message).version, bytes(message))


async def read_log(services: Services, request: CheckedRequest) -> Reply:
    """Write a game's whole log, one record a line. Who may not read it is told before anything is sent."""
    first = await _log_page(services, request, 0)
    if first.status != 200:
        return answer_response(first)
    opened = request.poll(services.waits)
    if isinstance(opened, Refusal):
        return opened
    return Lasting(NDJSON, opened, lambda poll: _lines(services, request, first, poll))


def _log_page(services: Services, request: CheckedRequest, after: int) -> "asyncio.Future[Answer]":
    return ask_engine(services, request, "log", {"after": after, "limit": PAGE_MAX})


async def _lines(services: Services, request: CheckedRequest, answer: Answer, poll: LongPoll) -> Chunks:
    while True:
        if answer.status != 200:
            raise BusUnavailable(f"the log ended with {answer.status}")
        page = _log_of(answer.body)
        yield b"".join(bytes(record) + b"\n" for record in page.records)
        if not page.more or poll.gone:
            return
        answer = await _log_page(services, request, page.next_after)
