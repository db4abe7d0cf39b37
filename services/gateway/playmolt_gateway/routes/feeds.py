"""Long polls and streams: the caller's next turn, a game's events as they happen, and its log."""

import asyncio
import re
from contextlib import AsyncExitStack, suppress
from typing import Final

import msgspec
from playmolt_core.bus.port import BusUnavailable, Watch
from playmolt_core.db.accounts import Agent
from playmolt_core.ops.telemetry import log
from playmolt_schemas.codes import Code
from playmolt_schemas.envelopes import Answer
from playmolt_schemas.game_messages import Moderated
from playmolt_schemas.identifiers import GAME_TYPES, SESSION_TYPES, type_of
from playmolt_schemas.limits import PAGE_MAX
from playmolt_schemas.routes import jury, legal
from playmolt_schemas.routes.platform import READ_LOG, STREAM_EVENTS, WAIT_FOR_TURN, WaitQuery
from playmolt_schemas.routes.route import EVENT_STREAM, LARGEST, NDJSON, StreamQuery
from playmolt_schemas.routes.tournaments import STREAM_TOURNAMENT
from starlette.responses import Response

from playmolt_gateway.access.auth import Caller
from playmolt_gateway.http.problems import HttpProblem, bad_request, no_such_game
from playmolt_gateway.http.responses import answer_response, json_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Chunks, Reply, StreamedResponse, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.request.waits import LongPoll, SeatedGame, turns_of, version_of, wait_for_newer
from playmolt_gateway.routes.games import read_engine

_log = log("gateway")
FEED_MESSAGES: Final = 100
ERASED_SECONDS: Final = 2.0
"""How often a session's feed checks that the session still exists; erasing publishes no event."""
_OVER: Final = frozenset(("end", "aborted"))
_VERSION: Final = re.compile(r"[0-9]{1,16}", re.ASCII)


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
_feed_of = msgspec.json.Decoder(_FeedPage).decode
_notice_of = msgspec.json.Decoder(Moderated).decode
_log_of = msgspec.json.Decoder(_LogPage).decode


@serves(WAIT_FOR_TURN)
async def wait_for_turn(services: Services, request: CheckedRequest[WaitQuery, None]) -> Reply:
    """Answer as soon as the caller has a turn; 204 on timeout."""
    if (wanted := request.query.game_id) is not None and type_of(wanted) not in GAME_TYPES:
        return no_such_game(wanted)
    poll = request.poll(services.waits)
    if isinstance(poll, HttpProblem):
        return poll
    clock = asyncio.get_running_loop().time
    end = clock() + min(request.query.wait, services.timeouts.wait)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(poll)
        watches: dict[str, Watch] = {}
        checked: set[str] | None = None
        """The running games at the last check for finished ones."""
        while True:
            if refused := await services.authenticator.refusal(request.caller):
                return refused
            found = await _turn(services, request, present=not watches)
            if isinstance(found, Response):
                return found
            running = {place.game_id for place in found}
            if running != checked and not poll.gone:
                checked = running
                with suppress(*UNAVAILABLE_ERRORS):
                    if over := await _over(services, request, running):
                        return over
            remaining = end - clock()
            if poll.over or remaining <= 0:
                return Response(status_code=204)
            if await _watch_new(services, watches, found, stack):
                continue  # Read again after subscribing, or events in between would be missed.
            pause = min(services.timeouts.turn, remaining)
            await poll.first([wait_for_newer(watches[g.game_id], g.version, pause) for g in found], pause)


async def _over(services: Services, request: CheckedRequest[WaitQuery, None], running: set[str]) -> Response | None:
    """Report one finished game of the caller, once per game; None when there is none left to report."""
    agent, accounts = request.caller.id, services.accounts
    seats = await services.within_deadline(accounts.seats(agent))
    for game_id in running.difference(seats):
        await services.within_deadline(accounts.keep_seat(agent, game_id))
    for game_id in seats:
        if game_id in running or request.query.game_id not in (None, game_id):
            continue
        game = game_id.partition("-")[0]
        answer = await services.bus.submit(game, "state", game_id, agent=agent, trace=request.trace)
        if answer.status == 200 and _state_of(answer.body).phase not in _OVER:
            continue  # The agent resigned; the game goes on without it.
        if answer.status in (200, 404):
            await services.within_deadline(accounts.forget_seat(agent, game_id))
        if answer.status == 200:
            turn = {
                "game_id": game_id,
                "gameType": game,
                "state": msgspec.Raw(await services.owner_names.named(answer.body)),
                "actions": [],
                "over": True,
            }
            return json_response(200, msgspec.json.encode(turn))
    return None


async def _watch_new(
    services: Services, watches: dict[str, Watch], games: list[SeatedGame], stack: AsyncExitStack
) -> bool:
    new = [place.game_id for place in games if place.game_id not in watches]
    for game in new:
        watches[game] = await services.bus.watch(game.partition("-")[0], game)
        stack.push_async_callback(watches[game].close)
    return bool(new)


async def _turn(
    services: Services, request: CheckedRequest[WaitQuery, None], *, present: bool
) -> Response | list[SeatedGame]:
    """The first turn of any game type or of the wanted game, or the games in which the caller has a seat.

    Raises BusUnavailable only if an engine is unavailable and no other engine has a turn.
    """
    wanted = request.query.game_id
    body = b"{}" if wanted is None else msgspec.json.encode({"game_id": wanted})
    waiting = {
        services.bus.submit(game, "turn", "", body, agent=request.caller.id, trace=request.trace, present=present)
        for game in (GAME_TYPES if wanted is None else (wanted.partition("-")[0],))
    }
    games: list[SeatedGame] = []
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
            turns = turns_of(answer.body)
            if bytes(turns.turn) != b"null":
                for other in waiting:
                    other.cancel()
                return json_response(200, await services.owner_names.named(bytes(turns.turn)))
            games += turns.games
    if failed:
        raise failed
    return games


def _after(request: CheckedRequest[StreamQuery]) -> int | None:
    """The version to resume from: Last-Event-ID header, then query id, then `after`; None when it is not a version."""
    query = request.query
    given = request.last_event_id or query.last_event_id or query.spelt_as_the_header
    if not given:
        return query.after
    if not _VERSION.fullmatch(given) or int(given) > LARGEST:
        return None
    return int(given)


@serves(STREAM_EVENTS, STREAM_TOURNAMENT, legal.STREAM_SESSION, jury.STREAM)
async def stream_events(services: Services, request: CheckedRequest[StreamQuery, None]) -> StreamedResponse | Reply:
    """Stream a game's events as the caller may see them. Refusals are sent before the stream starts."""
    after = _after(request)
    if after is None:
        return bad_request("Last-Event-ID must be the id of an event of this feed, such as 17.")
    opened = request.poll(services.waits, stream=True)
    if isinstance(opened, HttpProblem):
        return opened
    with opened.until_answered() as kept:
        first = await _feed(services, request, after, present=True)
        if first.status == Code.UNAVAILABLE.status:
            raise BusUnavailable("the engine cannot read the feed")
        if first.status != 200:
            return answer_response(first)
        page = _feed_of(first.body)
        if after and page.closed and after >= page.version:
            return Response(status_code=204)
        kept.pop_all()
    return StreamedResponse(
        EVENT_STREAM, opened, services.timeouts.stall, lambda poll: _events(services, request, after, poll)
    )


async def _feed(services: Services, request: CheckedRequest, after: int, *, present: bool = False) -> Answer:
    return await read_engine(services, request, "feed", {"after": after, "limit": FEED_MESSAGES}, present=present)


async def _events(services: Services, request: CheckedRequest, after: int, poll: LongPoll) -> Chunks:
    """All events after a version, then new ones; a heartbeat comment with the version when idle."""
    clock = asyncio.get_running_loop().time
    beat = clock() + services.timeouts.heartbeat
    most = ERASED_SECONDS if request.game in SESSION_TYPES else services.timeouts.heartbeat
    watch = await services.bus.watch(request.game, request.params["id"])
    speech: Watch | None = None
    notices = await services.bus.watch_moderation()
    try:
        speech = await _speech(services, request)
        while not poll.over and await services.authenticator.refusal(request.caller) is None:
            answer = await _feed(services, request, after)
            if answer.status == Code.ERASED.status:
                return
            if answer.status != 200:
                raise BusUnavailable(f"the feed ended with {answer.status}")
            page = _feed_of(answer.body)
            if page.messages:
                yield b"".join(_event(message) for message in page.messages)
                after = version_of(page.messages[-1]).version
                beat = clock() + services.timeouts.heartbeat
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
                    await poll.first(
                        [asyncio.shield(newer), _next_speech(speech, said, services.timeouts.heartbeat),
                         _next_notice(notices, request.params["id"], said, services.timeouts.heartbeat)],
                        until - clock(),
                    )  # fmt: skip
                    for message in said:
                        yield message
            finally:
                newer.cancel()
            if clock() >= beat:
                yield b": heartbeat %d\n\n" % page.version
                beat = clock() + services.timeouts.heartbeat
    finally:
        await watch.close()
        await notices.close()
        if speech is not None:
            await speech.close()


async def _speech(services: Services, request: CheckedRequest) -> Watch | None:
    """The live text of roles, for streams that carry it."""
    return await services.bus.watch_speech(request.game, request.params["id"]) if request.route.speaks else None


async def _next_speech(speech: Watch | None, said: list[bytes], seconds: float) -> None:
    """Append the next live text; wait forever without a source. An empty message only marks a gap."""
    while speech is None or not (message := await speech.next(seconds)):
        if speech is None:
            await asyncio.sleep(seconds)
    said.append(b"event: speaking\ndata: %b\n\n" % message)


async def _next_notice(notices: Watch, game_id: str, said: list[bytes], seconds: float) -> None:
    """Append the next notice that concerns a game. One that is lost in a gap is not repeated here."""
    while True:
        message = await notices.next(seconds)
        if message and (notice := _notice_of(message)).game_id in (msgspec.UNSET, game_id):
            said.append(b"event: moderated\ndata: %b\n\n" % msgspec.json.encode(notice))
            return


def _event(message: msgspec.Raw) -> bytes:
    return b"id: %d\ndata: %b\n\n" % (version_of(message).version, bytes(message))


@serves(READ_LOG, legal.READ_LOG, jury.LOG)
async def read_log(services: Services, request: CheckedRequest) -> StreamedResponse | Reply:
    """Stream a game's log as NDJSON. Refusals are sent before the stream starts."""
    first = await _log_page(services, request, 0)
    if first.status != 200:
        return answer_response(first)
    opened = request.poll(services.waits)
    if isinstance(opened, HttpProblem):
        return opened
    return StreamedResponse(
        NDJSON, opened, services.timeouts.stall, lambda poll: _lines(services, request, first, poll)
    )


async def _log_page(services: Services, request: CheckedRequest, after: int) -> Answer:
    if request.route is jury.LOG and request.caller.operator:
        # The operator reads the juries of its panels as their owner, and no others.
        request = msgspec.structs.replace(request, caller=Caller(agent=Agent("operator", "")))
    return await read_engine(services, request, "log", {"after": after, "limit": PAGE_MAX}, present=not after)


async def _lines(services: Services, request: CheckedRequest, answer: Answer, poll: LongPoll) -> Chunks:
    while True:
        if answer.status != 200:
            raise BusUnavailable(f"the log ended with {answer.status}")
        page = _log_of(answer.body)
        yield b"".join(bytes(record) + b"\n" for record in page.records)
        if not page.more or poll.gone:
            return
        answer = await _log_page(services, request, page.next_after)
