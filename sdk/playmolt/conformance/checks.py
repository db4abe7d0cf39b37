"""Plays one game with a bot over a faulty connection and reports a list of checks.

Each failure gives one line; its consequences are not reported.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Literal

import httpx
import msgspec
from playmolt_schemas.api import GameType

from playmolt.bots import run_house_bots, seats
from playmolt.client import AsyncClient
from playmolt.conformance.faults import RETRY_AFTER_SECONDS, Fault, FaultyTransport
from playmolt.conformance.players import LostTurn, Player, PythonPlayer, TimedPlayer
from playmolt.errors import BotFailed
from playmolt.feed import CLOSING, Message
from playmolt.loop import Bot, GameResult

SECONDS = 30.0
"""Default time limit for a turn."""
PATIENCE_SECONDS = 120.0
ENDING_SECONDS = 30.0
"""Time limit for finishing the game of a bot that failed."""
Verdict = Literal["pass", "warn", "fail"]


class Check(msgspec.Struct, frozen=True):
    """One line of the report. `warn`: passed with a remark, or could not be tested."""

    name: str
    verdict: Verdict
    detail: str


class _Run(msgspec.Struct, frozen=True):
    """A game that was played to the end or broke off."""

    ended: GameResult | BotFailed
    watched: TimedPlayer
    transport: FaultyTransport
    events: Sequence[Message]
    retry_after: int

    @property
    def late(self) -> int:
        """Number of submissions forfeited by deadline."""
        if isinstance(self.ended, BotFailed):
            return 0
        me = self.ended.agent_id
        return sum(one.count for one in self.ended.faults if (one.agent_id, one.what) == (me, "deadline"))


async def check(
    url: str,
    game: GameType,
    bot: Bot,
    *,
    seconds: float = SECONDS,
    patience: float = PATIENCE_SECONDS,
    seed: object = "conformance",
    retry_after: int = RETRY_AFTER_SECONDS,
) -> list[Check]:
    """Play one game against house bots and return the checks; raises Unavailable if the server is unreachable.

    `retry_after` is what the simulated 503 and 429 ask for, in seconds.
    """
    player = PythonPlayer(bot)
    try:
        return await check_player(
            url, game, player, seconds=seconds, patience=patience, seed=seed, retry_after=retry_after
        )
    finally:
        await player.close()


async def check_player(
    url: str,
    game: GameType,
    player: Player,
    *,
    seconds: float = SECONDS,
    patience: float = PATIENCE_SECONDS,
    seed: object = "conformance",
    retry_after: int = RETRY_AFTER_SECONDS,
) -> list[Check]:
    """As `check`, for any player; does not close it."""
    transport = FaultyTransport(httpx.AsyncHTTPTransport(), retry_after=retry_after)
    watched = TimedPlayer(player, seconds)
    async with AsyncClient(url, transport=transport) as client:
        await client.register("conformance")
        seat = await client.join(game)
        house = asyncio.create_task(run_house_bots(url, game, seat.needed - seat.seated, seed=seed))
        stream = asyncio.create_task(_followed(client, seat.game_id))
        ended: GameResult | BotFailed
        events: list[Message] = []
        try:
            ended = await client.play(watched, game, game_id=seat.game_id, patience=patience)
            events = await asyncio.wait_for(stream, patience)
            await player.over(ended)
        except BotFailed as error:
            ended = error
            await _end(url, client.key, game, seat.game_id)
        finally:
            house.cancel()
            stream.cancel()
            await asyncio.gather(house, stream, return_exceptions=True)
    run = _Run(ended, watched, transport, events, retry_after)
    return [one for one in (judge(run) for judge in _JUDGES) if one is not None]


def report(checks: Sequence[Check], *, as_json: bool) -> str:
    """The checks as lines, or as one JSON list."""
    if as_json:
        return msgspec.json.encode(checks).decode() + "\n"
    return "".join(f"{one.verdict:4}  {one.name:28}  {one.detail}\n" for one in checks)


def failed(checks: Sequence[Check]) -> bool:
    return any(one.verdict == "fail" for one in checks)


async def _end(url: str, key: str, game: GameType, game_id: str) -> None:
    """Play the failed bot's seat to the end, so that no unfinished game is left on the server."""
    with suppress(Exception):
        async with asyncio.timeout(ENDING_SECONDS), AsyncClient(url, key) as client:
            await client.play(seats(game, 1)[0], game, game_id=game_id)


async def _followed(client: AsyncClient, game_id: str) -> list[Message]:
    return [event async for event in client.stream(game_id)]


def _finishes(run: _Run) -> Check | None:
    title, ended = "plays to the end", run.ended
    if isinstance(ended, BotFailed):
        reported_elsewhere = isinstance(ended, LostTurn) or ended.refusal is not None
        return None if reported_elsewhere else Check(title, "fail", str(ended))
    verdict: Verdict = "pass" if ended.phase == "end" else "fail"
    return Check(title, verdict, f"{ended.phase}, {ended.turns} turns, {ended.points} points")


def _in_time(run: _Run) -> Check | None:
    title, watched = "answers in time", run.watched
    if isinstance(run.ended, LostTurn):
        return Check(title, "fail", str(run.ended))
    if run.late:
        return Check(title, "fail", f"{run.late} turns ended before the bot answered")
    if watched.forfeits:
        return Check(title, "warn", f"forfeited {watched.forfeits} turns")
    if not watched.answers:
        return None
    verdict: Verdict = "warn" if watched.slowest > watched.seconds / 2 else "pass"
    return Check(title, verdict, f"slowest turn {watched.slowest:.2f} s of {watched.seconds:g} s")


def _legal(run: _Run) -> Check | None:
    title = "sends legal actions"
    refusals = list(run.watched.refusals)
    if isinstance(run.ended, BotFailed) and run.ended.refusal is not None:
        refusals.append(run.ended.refusal)
    if refusals:
        first = refusals[0]
        return Check(title, "fail", f"{len(refusals)} refused, the first: {first.code}: {first.detail[:300]}")
    return Check(title, "pass", "no action was refused") if run.watched.answers else None


def _repeats(run: _Run, fault: Fault, name: str) -> Check | None:
    title = f"survives a {name}"
    incident = run.transport.incidents.get(fault)
    if incident is None:
        return _untested(run, title, "the bot sent too few actions")
    if incident.statuses:
        return Check(title, "pass", "retried with the same Idempotency-Key")
    return None if isinstance(run.ended, BotFailed) else Check(title, "fail", "not retried with its Idempotency-Key")


def _waits(run: _Run) -> Check | None:
    held = _repeats(run, Fault.RATE_LIMITED, "429")
    incident = run.transport.incidents.get(Fault.RATE_LIMITED)
    if held and held.verdict == "pass" and incident and (incident.repeated_after or 0.0) < run.retry_after:
        return Check(held.name, "fail", f"retried before Retry-After ({run.retry_after} s) had passed")
    return held


def _goes_on(run: _Run) -> Check | None:
    title = "survives a 409"
    if Fault.ALREADY_SUBMITTED not in run.transport.incidents:
        return _untested(run, title, "the bot sent too few actions")
    return None if isinstance(run.ended, BotFailed) else Check(title, "pass", "continued after already_submitted")


def _reconnects(run: _Run) -> Check | None:
    title = "survives a stream reconnect"
    if isinstance(run.ended, BotFailed):
        return None
    versions = [event["version"] for event in run.events]
    if versions != list(range(1, len(versions) + 1)) or not versions or run.events[-1]["type"] not in CLOSING:
        return Check(title, "fail", f"the stream returned {len(versions)} events, not 1, 2, 3 … to the end")
    if not run.transport.cuts:
        return _untested(run, title, "the stream was too short to cut")
    return Check(title, "pass", f"{len(versions)} events in order over {run.transport.cuts + 1} connections")


def _untested(run: _Run, title: str, why: str) -> Check | None:
    """A warning for an untested check; None if the bot failed before."""
    return None if isinstance(run.ended, BotFailed) else Check(title, "warn", f"not tested: {why}")


_JUDGES: Final[Sequence[Callable[[_Run], Check | None]]] = (
    _finishes,
    _in_time,
    _legal,
    lambda run: _repeats(run, Fault.UNAVAILABLE, "503"),
    _waits,
    lambda run: _repeats(run, Fault.LOST_ANSWER, "lost answer"),
    _goes_on,
    _reconnects,
)
