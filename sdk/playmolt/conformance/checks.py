"""One game with a bot over a faulty connection, and what came of it, check by check."""

import asyncio
import inspect
import time
from contextlib import suppress
from typing import Any, Literal

import httpx
import msgspec
from playmolt_schemas.api import GameType

from playmolt.bots import run_house_bots, seats
from playmolt.client import AsyncClient
from playmolt.conformance.faults import RETRY_AFTER_SECONDS, Fault, FaultyTransport
from playmolt.errors import BotFailed
from playmolt.feed import CLOSING, Message
from playmolt.loop import Bot, GameResult, Turn, decide

SECONDS = 30.0
"""How long a bot may think about a turn, unless the caller says otherwise."""
PATIENCE_SECONDS = 120.0
ENDING_SECONDS = 30.0
"""How long the game of a bot that gave up is played on."""


class Check(msgspec.Struct, frozen=True):
    """One line of the report. `warn`: it held, but look at it, or it could not be tried."""

    name: str
    verdict: Literal["pass", "warn", "fail"]
    detail: str


class _Timed:
    """The bot, with a watch on it."""

    def __init__(self, bot: Bot) -> None:
        self.slowest = 0.0
        self._bot = bot

    async def __call__(self, turn: Turn) -> Any:
        began = time.monotonic()
        action = decide(self._bot, turn)
        if inspect.isawaitable(action):
            action = await action
        self.slowest = max(self.slowest, time.monotonic() - began)
        return action


async def check(
    url: str,
    game: GameType,
    bot: Bot,
    *,
    seconds: float = SECONDS,
    patience: float = PATIENCE_SECONDS,
    seed: object = "conformance",
) -> list[Check]:
    """Play one game against house bots and report; raises what the server's absence raises before the game starts."""
    transport = FaultyTransport(httpx.AsyncHTTPTransport())
    timed = _Timed(bot)
    async with AsyncClient(url, transport=transport) as client:
        await client.register("conformance")
        seat = await client.join(game)
        house = asyncio.create_task(run_house_bots(url, game, seat.needed - seat.seated, seed=seed))
        stream = asyncio.create_task(_followed(client, seat.game_id))
        try:
            result: GameResult | Exception = await client.play(timed, game, game_id=seat.game_id, patience=patience)
            events = await asyncio.wait_for(stream, patience)
        except Exception as error:
            result, events = error, []
            await _end(url, client.key, game, seat.game_id)
        finally:
            house.cancel()
            stream.cancel()
            await asyncio.gather(house, stream, return_exceptions=True)
    return [
        _finishes(result),
        _in_time(timed.slowest, seconds),
        _legal(transport, result),
        _repeats(transport, Fault.UNAVAILABLE, "503"),
        _waits(transport),
        _repeats(transport, Fault.LOST_ANSWER, "lost answer"),
        _goes_on(transport, result),
        _reconnects(transport, events),
    ]


async def _end(url: str, key: str, game: GameType, game_id: str) -> None:
    """Play the seat of a bot that gave up to the end, so that no game is left standing on the server."""
    with suppress(Exception):
        async with asyncio.timeout(ENDING_SECONDS), AsyncClient(url, key) as client:
            await client.play(seats(game, 1)[0], game, game_id=game_id)


async def _followed(client: AsyncClient, game_id: str) -> list[Message]:
    return [event async for event in client.stream(game_id)]


def _finishes(result: GameResult | Exception) -> Check:
    if isinstance(result, Exception):
        return Check("plays to the end", "fail", f"{type(result).__name__}: {result}")
    verdict: Literal["pass", "fail"] = "pass" if result.phase == "end" else "fail"
    return Check("plays to the end", verdict, f"{result.phase}, {result.turns} turns, {result.points} points")


def _in_time(slowest: float, seconds: float) -> Check:
    verdict: Literal["pass", "warn", "fail"] = "pass"
    if slowest > seconds / 2:
        verdict = "fail" if slowest > seconds else "warn"
    return Check("answers in time", verdict, f"slowest turn {slowest:.2f} s of {seconds:g} s")


def _legal(transport: FaultyTransport, result: GameResult | Exception) -> Check:
    title = "sends legal actions"
    if transport.refusals:
        status, body = transport.refusals[0]
        first = body.decode(errors="replace")[:300]
        return Check(title, "warn", f"{len(transport.refusals)} refused, the first with {status}: {first}")
    if isinstance(result, BotFailed) and result.refusal:
        return Check(title, "warn", f"gave what is no action: {result.refusal.detail}")
    return Check(title, "pass", "no action was refused")


def _repeats(transport: FaultyTransport, fault: Fault, name: str) -> Check:
    title = f"survives a {name}"
    incident = transport.incidents.get(fault)
    if incident is None:
        return Check(title, "warn", "not tried: the bot sent too few actions")
    if 200 in incident.statuses:
        return Check(title, "pass", "sent again with the same Idempotency-Key and accepted")
    if incident.statuses:
        return Check(title, "warn", f"sent again with the same Idempotency-Key, and refused: {incident.statuses}")
    return Check(title, "fail", "not sent again with the same Idempotency-Key")


def _waits(transport: FaultyTransport) -> Check:
    held = _repeats(transport, Fault.RATE_LIMITED, "429")
    incident = transport.incidents.get(Fault.RATE_LIMITED)
    if held.verdict == "pass" and incident and (incident.repeated_after or 0.0) < RETRY_AFTER_SECONDS:
        return Check(held.name, "fail", f"sent again before Retry-After ({RETRY_AFTER_SECONDS} s) had passed")
    return held


def _goes_on(transport: FaultyTransport, result: GameResult | Exception) -> Check:
    if Fault.ALREADY_SUBMITTED not in transport.incidents:
        return Check("survives a 409", "warn", "not tried: the bot sent too few actions")
    if isinstance(result, Exception):
        return Check("survives a 409", "fail", "the bot did not play on after already_submitted")
    return Check("survives a 409", "pass", "played on after already_submitted")


def _reconnects(transport: FaultyTransport, events: list[Message]) -> Check:
    title = "survives a stream reconnect"
    versions = [event["version"] for event in events]
    if versions != list(range(1, len(versions) + 1)) or not events or events[-1]["type"] not in CLOSING:
        return Check(title, "fail", f"the stream gave {len(events)} events, not 1, 2, 3 … to the end")
    if not transport.cuts:
        return Check(title, "warn", "not tried: the stream was too short to cut")
    return Check(title, "pass", f"{len(events)} events in order over {transport.cuts + 1} connections")
