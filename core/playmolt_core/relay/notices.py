"""Turns events of the log into notices for owners: turns, ends of games, tournaments, and decisions of the operator."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Final

import msgspec
from playmolt_schemas.api import WebhookEvent
from playmolt_schemas.canonical import digest
from playmolt_schemas.identifiers import rfc3339, type_of
from playmolt_schemas.registry import bot_games
from playmolt_schemas.stored import moderation, tournament
from playmolt_schemas.stored.seats import AgentJoined, AgentLeft, GameAborted, SeatResigned

from playmolt_core.db.errors import LogUnavailable
from playmolt_core.db.webhooks import LoggedEvent, NewNotice, PgNotices, SeatEvent
from playmolt_core.game.seats.state import turn_id_of
from playmolt_core.log.port import GAME_END, ShardReader
from playmolt_core.ops.process import next_tick
from playmolt_core.ops.telemetry import log as logger
from playmolt_core.relay.relay import FIRST_PAUSE, LONGEST_PAUSE

_log = logger("notices")
CHUNK: Final = 2_000
"""Positions that one step of a shard reads."""
TOGETHER: Final = 5_000
"""After so many notices a statement ends with the present event, which has at most one for each entrant."""
POLL_SECONDS: Final = 0.25
IDLE_SECONDS: Final = 1.0
"""How often to look whether there is a webhook."""
_STARTED: Final = "game_started"
_JOINS: Final = frozenset((AgentJoined.type, tournament.EntrantJoined.type))
_LEAVES: Final = frozenset((AgentLeft.type, tournament.EntrantLeft.type))
_SEAT_TYPES: Final = (*sorted(_JOINS | _LEAVES), SeatResigned.type, _STARTED)
_OF_ONE: Final = frozenset(
    event.type
    for event in (
        tournament.EntrantJoined,
        tournament.EntrantLeft,
        tournament.EntrantPaused,
        tournament.EntrantResumed,
    )
)
"""Events of a tournament about one entrant."""
_OF_ALL: Final = frozenset(
    event.type
    for event in (
        tournament.TournamentChanged,
        tournament.TournamentStarted,
        tournament.RoundPaired,
        tournament.RoundClosed,
        tournament.ArenaClosed,
        tournament.TournamentEnded,
    )
)
_DECISIONS: Final = frozenset(event.type for event in moderation.EVENTS.values())
_SCORED: Final = tournament.GameScored.type
_ENDS: Final[Mapping[str, str]] = {GAME_END: "end", GameAborted.type: "aborted"}
"""Event type → the phase in which a game is over."""


class Member(msgspec.Struct):
    """Who takes part in a stream: from one version to another."""

    agent_id: str
    joined: int
    left: int | None = None
    resigned: int | None = None
    number: int | None = None
    role: str = ""

    def takes_part(self, version: int) -> bool:
        return self.joined <= version and (self.left is None or self.left >= version)


class _Participant(msgspec.Struct):
    id: str
    role: str = ""


class _SeatData(msgspec.Struct):
    """The fields of seat events that matter here."""

    agent_id: str = ""
    number: int | None = None
    participants: tuple[_Participant, ...] = ()


class _Numbered(msgspec.Struct):
    number: int


class _EventData(msgspec.Struct):
    """The fields of events that notices show."""

    agent_id: str = ""
    entered: str = msgspec.field(name="to", default="")
    round: int | None = None
    game_id: str | None = None
    scores: tuple[_Numbered, ...] = ()
    subject: str = ""
    until: str | None = None


_read_seat = msgspec.json.Decoder(_SeatData).decode
_read_event = msgspec.json.Decoder(_EventData).decode


@cache
def noticed_types() -> Sequence[str]:
    """The types of events that cause notices."""
    asked = {event for game in bot_games().values() if game.turns for event in game.turns.begins}
    return sorted({*asked, *_ENDS, *_OF_ONE, *_OF_ALL, *_DECISIONS, _SCORED})


def members(events: Iterable[SeatEvent]) -> Mapping[str, Sequence[Member]]:
    """Stream → all who took part in it, in the order of joining."""
    found: defaultdict[str, list[Member]] = defaultdict(list)
    for event in events:
        data, those = _read_seat(event.data), found[event.stream]
        if event.type in _JOINS:
            those.append(Member(data.agent_id, event.version, number=data.number))
            continue
        roles = {one.id: one.role for one in data.participants}
        for member in those:
            if member.left is not None:
                continue
            if event.type == _STARTED:
                member.role = roles.get(member.agent_id, "")
            elif member.agent_id == data.agent_id and event.type in _LEAVES:
                member.left = event.version
            elif member.agent_id == data.agent_id:
                member.resigned = event.version
    return found


def notices_of(event: LoggedEvent, those: Sequence[Member]) -> Iterator[tuple[str, WebhookEvent, Mapping[str, object]]]:
    """(agent or owner, type, data) of the notices that an event causes: no more than that agent itself may see."""
    kind, data = type_of(event.stream), _read_event(event.data)
    if kind == "moderation":
        yield from _of_decision(event, data)
        return
    if kind == "tournament":
        yield from _of_tournament(event, data, those)
        return
    game = bot_games().get(kind or "")
    if game is None:
        return
    present = [member for member in those if member.takes_part(event.version)]
    named = {"game_id": event.stream, "gameType": kind}
    if phase := _ENDS.get(event.type):
        for member in present:
            yield member.agent_id, "game_over", {"agent_id": member.agent_id, **named, "phase": phase}
    elif game.turns and event.type in game.turns.begins:
        phase = game.turns.begins[event.type] or data.entered
        roles = None if game.turns.roles is None else game.turns.roles.get(phase, frozenset())
        for member in present:
            resigned = member.resigned is not None and member.resigned < event.version
            if not resigned and (roles is None or member.role in roles):
                turn = turn_id_of(event.stream, event.version, member.agent_id)
                yield member.agent_id, "turn", {"agent_id": member.agent_id, **named, "phase": phase, "turn_id": turn}


def _of_tournament(
    event: LoggedEvent, data: _EventData, those: Sequence[Member]
) -> Iterator[tuple[str, WebhookEvent, Mapping[str, object]]]:
    shown: dict[str, object] = {"tournament_id": event.stream, "event": event.type}
    if data.round is not None:
        shown["round"] = data.round
    if event.type in _OF_ONE:
        agents = [data.agent_id]
    elif event.type == _SCORED:
        scored = {score.number for score in data.scores}
        agents = list({member.number: member.agent_id for member in those if member.number in scored}.values())
        shown["game_id"] = data.game_id
    else:
        agents = [member.agent_id for member in those if member.takes_part(event.version)]
    for agent in agents:
        yield agent, "tournament", {"agent_id": agent, **shown}


def _of_decision(event: LoggedEvent, data: _EventData) -> Iterator[tuple[str, WebhookEvent, Mapping[str, object]]]:
    """For whom a decision is about. The reason is in the accounts alone, where it can be erased."""
    subject = data.subject or data.agent_id
    if type_of(subject) in ("agent", "owner"):
        shown: dict[str, object] = {"owner_id" if _is_owner(subject) else "agent_id": subject, "kind": event.type}
        if data.game_id is not None:
            shown["game_id"] = data.game_id
        if event.type == moderation.Banned.type:
            shown["until"] = data.until
        yield subject, "moderation", shown


def _is_owner(subject: str) -> bool:
    return type_of(subject) == "owner"


class NoticeProjector:
    """Stores the notices of each event once, despite any crash. Several may run; without a webhook, none reads."""

    def __init__(self, log: ShardReader, notices: PgNotices, *, most: int = TOGETHER) -> None:
        self._most = most
        self._log = log
        self._notices = notices
        self.behind = 0
        """Positions that have not become notices yet."""

    async def run(self) -> None:
        """Store notices until cancelled; failures are retried after a pause that grows up to a bound."""
        pause = FIRST_PAUSE
        while True:
            try:
                noted = await self._notices.noted()
                moved = [await self._step(shard, seen) for shard, seen in noted.items()]
            except LogUnavailable as error:
                _log.warning("notices_wait", detail=str(error)[:300])
                await asyncio.sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            pause = FIRST_PAUSE
            self.behind = sum(moved)
            if not self.behind:
                await next_tick(POLL_SECONDS if noted else IDLE_SECONDS)

    async def _step(self, shard: int, seen: int) -> int:
        """Store the notices of the next chunk of a shard; returns how many positions are left."""
        end = await self._log.position(shard)
        until = min(end, seen + CHUNK)
        if until > seen:
            events = await self._notices.events(shard, seen, until, noticed_types())
            notices = await self._of(shard, events)
            if len(notices) >= self._most:
                until = notices[-1].position
            await self._notices.note(shard, seen, until, notices)
        return end - until

    async def _of(self, shard: int, events: Sequence[LoggedEvent]) -> Sequence[NewNotice]:
        """The notices of events; if there are too many for one statement, of the first events."""
        if not events:
            return []
        streams = sorted({event.stream for event in events})
        those = members(await self._notices.seat_events(shard, streams, _SEAT_TYPES))
        found: list[NewNotice] = []
        for event in events:
            if len(found) >= self._most:
                break
            try:
                of_event = list(notices_of(event, those.get(event.stream, ())))
            except msgspec.MsgspecError as error:
                _log.error("unreadable_event", stream=event.stream, version=event.version, detail=str(error))
                continue
            for subject, kind, data in of_event:
                key = digest(["notice", event.stream, event.version, subject])[:32]
                of_owner = _is_owner(subject)
                found.append(
                    NewNotice(
                        id=f"msg_{key}",
                        agent_id=None if of_owner else subject,
                        owner_id=subject if of_owner else None,
                        type=kind,
                        at=rfc3339(event.at),
                        data=data,
                        position=event.position,
                        place=len(found),
                    )
                )
        return found
