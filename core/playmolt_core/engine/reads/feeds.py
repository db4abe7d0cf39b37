"""Paged answers: `events`, `feed`, `games`, `log`."""

from datetime import UTC, datetime, timedelta
from typing import Any, Generic

import msgspec
from msgspec import UNSET
from playmolt_schemas.api import GameRow
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import RUN_TYPES, rfc3339
from playmolt_schemas.limits import PAGE_DEFAULT, PAGE_MAX
from playmolt_schemas.text import escape_line_ends

from playmolt_core.engine.messages import message
from playmolt_core.engine.pending_call import NO_GAME, PendingCall
from playmolt_core.engine.reads.sources import NO_SESSION, Page, Reply, Sources, fitting, refusal
from playmolt_core.game.decider import PUBLIC, Refused, S, Viewer
from playmolt_core.game.fold import Snapshot
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import ListedGame

_encode = msgspec.json.encode


class List(msgspec.Struct, frozen=True):
    """Body of `games`."""

    phase: str | None = None
    before: tuple[str, str] | None = None
    limit: int = PAGE_DEFAULT
    open: bool = False
    idle_seconds: int | None = None
    agent: str | None = None
    invite: str | None = None
    """Only the private game with this invite hash."""
    tournament: str | None = None
    fill: bool = False
    """Only private games that are waiting for house bots; for the operator."""


class FeedReads(Generic[S]):
    """Reads events as their viewers may see them, and lists games."""

    def __init__(self, sources: Sources[S]) -> None:
        self._sources = sources
        self._decider = sources.decider
        self._log = sources.log

    async def events(self, pending: PendingCall) -> Reply:
        page, stream = msgspec.json.decode(pending.call.body, type=Page), pending.call.target
        if await self._sources.shown(pending.call) is None:
            return refusal(NO_GAME)
        messages = await self._public(stream, page)
        return 200, b'{"events":[%b],"next_after":%d}' % (b",".join(messages), page.after + len(messages))

    async def feed(self, pending: PendingCall) -> Reply:
        page, stream = msgspec.json.decode(pending.call.body, type=Page), pending.call.target
        snapshot = await self._sources.shown(pending.call)
        if snapshot is None:
            return refusal(self._sources.unknown)
        viewer = self._sources.viewer(snapshot, pending.call.agent)
        if self._sources.private and viewer == PUBLIC:
            return refusal(NO_SESSION)
        messages = b",".join(await self._messages(stream, snapshot, viewer, page))
        over = b"true" if snapshot.summary.over else b"false"
        return 200, b'{"messages":[%b],"version":%d,"closed":%b}' % (messages, snapshot.version, over)

    async def _messages(self, stream: str, snapshot: Snapshot[S], viewer: Viewer, page: Page) -> list[bytes]:
        if page.after >= snapshot.version:
            return []
        if viewer == PUBLIC:
            return await self._public(stream, page)
        moments = await self._sources.histories.of(stream, snapshot.version)
        last = min(len(moments), page.after + page.most)
        return fitting(
            message(self._decider, stream, version, rfc3339(moment.at), moment.event, viewer, moment.state)
            for version, moment in enumerate(moments[page.after : last], page.after + 1)
        )

    async def _public(self, stream: str, page: Page) -> list[bytes]:
        """The public messages of a page, from the events alone. Raises Archived."""
        stored = await self._log.facts(stream, page.after, most=page.most)
        facts = facts_of(self._decider, stored) if stored else ()
        shown = (
            (version, self._sources.withheld.shown(stream, version, event), at)
            for version, (event, at) in enumerate(facts, page.after + 1)
        )
        return fitting(
            message(self._decider, stream, version, rfc3339(at), event, PUBLIC) for version, event, at in shown
        )

    async def games(self, pending: PendingCall) -> Reply:
        request = msgspec.json.decode(pending.call.body, type=List)
        idle = None if request.idle_seconds is None else datetime.now(UTC) - timedelta(seconds=request.idle_seconds)
        before = (datetime.fromisoformat(request.before[0]), request.before[1]) if request.before else None
        found = await self._log.games(
            self._decider.game,
            phase=request.phase,
            before=before,
            limit=min(request.limit, PAGE_MAX),
            idle_since=idle,
            running=request.open,
            agent=request.agent,
            hidden=pending.call.operator,
            invite=request.invite,
            tournament=request.tournament,
        )
        if request.fill:
            found = [game for game in found if await self._is_to_be_filled(game)]
        return 200, _encode({"games": [self._line(game) for game in found]})

    async def _is_to_be_filled(self, game: ListedGame) -> bool:
        snapshot = await self._sources.unless_archived(game.stream) if game.summary.hidden else None
        after = None if snapshot is None else self._decider.fill_after(snapshot.state)
        return after is not None and game.created_at + timedelta(seconds=after) <= datetime.now(UTC)

    def _line(self, game: ListedGame) -> dict[str, object]:
        summary = game.summary
        line = GameRow(
            game.stream,
            self._decider.game,
            summary.phase,
            summary.round,
            summary.seated,
            summary.needed,
            rfc3339(game.created_at),
            summary.language,
            True if summary.invite else UNSET,
            summary.pace,
            summary.tournament or UNSET,
        )
        extra = {"over": summary.over, "updated_at": rfc3339(game.updated_at), "version": game.version}
        shown: dict[str, Any] = msgspec.to_builtins(line)
        return shown | extra

    async def log(self, pending: PendingCall) -> Reply:
        page, stream = msgspec.json.decode(pending.call.body, type=Page), pending.call.target
        snapshot = await self._sources.shown(pending.call)
        if snapshot is None:
            return refusal(self._sources.unknown)
        refused = None if pending.call.operator else self._log_closed(pending, snapshot)
        if refused is not None:
            return refusal(refused)
        stored = await self._log.load(stream, after=page.after)
        records = [] if stored is None else stored.records[: page.most]
        if not pending.call.operator:
            records = [self._sources.withheld.record(self._decider, record) for record in records]
        taken = fitting(escape_line_ends(_encode(record)) for record in records)
        next_after = page.after + len(taken)
        more = b"true" if next_after < snapshot.version else b"false"
        return 200, b'{"records":[%b],"next_after":%d,"more":%b}' % (b",".join(taken), next_after, more)

    def _log_closed(self, pending: PendingCall, snapshot: Snapshot[S]) -> Refused | None:
        """Why a caller other than the operator may not read the log; None if allowed."""
        private = self._sources.private
        if private and self._sources.viewer(snapshot, pending.call.agent) == PUBLIC:
            return self._sources.unknown
        if self._decider.game in RUN_TYPES:
            return Refused(
                Code.OPERATOR_ONLY, "Only the operator may read the log of a run. Use /events for its public events."
            )
        if not snapshot.summary.over:
            hint = "" if private else " Use /events for its public events."
            return Refused(Code.LOG_NOT_FINISHED, f"The log is available after the end.{hint}")
        return None
