"""What the operator decides: about reports, and bans. A decision is in the log before the answer."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
from playmolt_core.db.moderation import Ban, Decision, Field, Kind
from playmolt_core.db.reports import Report
from playmolt_core.game.decider import Refused
from playmolt_core.ops.telemetry import log
from playmolt_schemas.codes import MISMATCH, Code, faults
from playmolt_schemas.identifiers import GAME_TYPES, read_rfc3339, rfc3339, type_of
from playmolt_schemas.routes import moderation as routes
from playmolt_schemas.routes.route import Query
from playmolt_schemas.text import trimmed, unstorable
from starlette.responses import Response

from playmolt_gateway.http.problems import HttpProblem, bad_request
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.ports import UNAVAILABLE_ERRORS
from playmolt_gateway.request.checked_request import CheckedRequest, reason
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services
from playmolt_gateway.request.waits import turns_of
from playmolt_gateway.routes.agents import publish_void_key
from playmolt_gateway.routes.moderation import report_row, text_faults

_log = log("gateway")
_AT_ONCE: Final = 16
"""Seats of banned agents that are taken at once."""
_NOTICES: Final = 100
_OF_OWNER: Final = "The owner of this agent was banned."
_NO_REPORT: Final = HttpProblem(
    Code.NOT_FOUND, "This report does not exist. It may be erased; list reports with GET /api/admin/reports."
)
_NO_BAN: Final = HttpProblem(
    Code.NOT_FOUND, "No ban is in force under this id. It is the id of the agent or owner that is banned."
)
_NOTHING_TO_RESTORE: Final = "is not possible: nothing of what was reported is hidden, renamed or banned"
_NOBODY: Final = HttpProblem(Code.NOT_FOUND, "No agent or owner has this id. Find agents with GET /api/admin/agents.")
_encode = msgspec.json.encode


async def _once(
    services: Services,
    request: CheckedRequest[Query, object],
    status: int,
    made: Callable[[], Awaitable[bytes | HttpProblem]],
) -> Reply:
    """The answer to a command, which is kept if it came with an Idempotency-Key. A command that was carried out before
    its answer was lost is carried out again, which has no second effect."""
    command = request.command
    if command.fingerprint:
        kept = await services.within_deadline(services.reports.answered(command.id, command.fingerprint))
        if kept is None:
            return HttpProblem(Code.IDEMPOTENCY_MISMATCH, MISMATCH)
        if kept:
            return json_response(status, kept)
    answer = await made()
    if isinstance(answer, HttpProblem):
        return answer
    if command.fingerprint:
        await services.within_deadline(services.reports.keep(command.id, answer))
    return json_response(status, answer)


@serves(routes.DECIDE_REPORT)
async def decide_report(services: Services, request: CheckedRequest[Query, routes.DecisionRequest]) -> Reply:
    return await _once(services, request, 200, lambda: _decided(services, request))


async def _decided(services: Services, request: CheckedRequest[Query, routes.DecisionRequest]) -> bytes | HttpProblem:
    body, report_id = request.body, request.params["id"]
    report = None if unstorable(report_id) else await services.within_deadline(services.reports.report(report_id))
    if report is None:
        return _NO_REPORT
    until = _until(body.until)
    found = text_faults("note", body.note)
    if isinstance(until, str):
        found["until"] = until
    elif until is not None and body.decision != "ban":
        found["until"] = "is only for a ban"
    wanted = _wanted(report, body.decision)
    if isinstance(wanted, str):
        found["decision"] = wanted
    if found or isinstance(until, str) or isinstance(wanted, str):
        return _refused(found)
    made = [await _decide(services, one, trimmed(body.note), until) for one in wanted]
    if True not in made:
        for refused in (one for one in made if isinstance(one, HttpProblem)):
            return refused
        if body.decision == "restore" and report.decision in (None, "dismiss"):
            return _refused({"decision": _NOTHING_TO_RESTORE})
    decided = await services.within_deadline(
        services.reports.decide(report.id, body.decision, trimmed(body.note), until)
    )
    return _NO_REPORT if decided is None else _encode(report_row(decided))


class _Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """A decision of the log that a decision about a report asks for."""

    kind: Kind
    field: Field
    game_id: str | None = None
    version: int | None = None
    agent_id: str | None = None
    owner_id: str | None = None


def _wanted(report: Report, decision: routes.ReportDecision) -> Sequence[_Wanted] | str:
    """What to decide in the log; a text for a decision that does not fit the report.

    A restore takes back the hide or rename of what was reported, also one decided for another report; the ban only if
    it was the last decision about this report, or the report is about the agent or owner as a whole.
    """
    if decision == "dismiss":
        return ()
    if decision == "ban":
        ban = _of_whom(report, "ban")
        return ban if isinstance(ban, str) else (ban,)
    if report.kind == "speech" and decision == "rename":
        return "does not fit a speech: hide it, or ban its speaker"
    text = _of_text(report, decision)
    if decision == "restore" and (report.decision == "ban" or report.kind in ("agent", "owner")):
        ban = _of_whom(report, "restore")
        return (text,) if isinstance(ban, str) else (ban, text)
    return (text,)


def _of_text(report: Report, kind: Kind) -> _Wanted:
    """A decision about the speech or the name that is reported."""
    if report.kind == "speech":
        return _Wanted(
            kind=kind, field="speech", game_id=report.game_id, version=report.version, agent_id=report.agent_id
        )
    tournament = None if report.agent_id or report.owner_id else report.game_id
    return _Wanted(kind=kind, field="name", game_id=tournament, agent_id=report.agent_id, owner_id=report.owner_id)


def _of_whom(report: Report, kind: Kind) -> _Wanted | str:
    """A ban of the agent or owner that a report is about."""
    if report.agent_id is not None:
        return _Wanted(kind=kind, field="agent", agent_id=report.agent_id)
    if report.owner_id is not None:
        return _Wanted(kind=kind, field="owner", owner_id=report.owner_id)
    return "needs one agent, which this report does not name; use POST /api/admin/bans"


def _until(text: str | None) -> datetime | str | None:
    """The end of a ban, or what is wrong with it."""
    if text is None:
        return None
    try:
        until = read_rfc3339(text)
    except ValueError:
        return "is not a valid time"
    return until if until > datetime.now(UTC) else "must be in the future"


def _refused(found: Mapping[str, str]) -> HttpProblem:
    listed = "; ".join(f"{field} {fault}" for field, fault in found.items())
    return bad_request(f"Fix the request body and retry: {listed}.", *faults(found))


async def _decide(services: Services, wanted: _Wanted, note: str, until: datetime | None = None) -> HttpProblem | bool:
    """Make a decision, and let every gateway and game follow it before the answer; returns the refusal, or whether it
    changed anything."""
    decision = Decision(**msgspec.structs.asdict(wanted), note=note, until=until, at=datetime.now(UTC))
    decided = await services.within_deadline(services.moderation.decide(decision))
    if isinstance(decided, Refused):
        return HttpProblem(decided.code, decided.detail, decided.errors)
    await services.bus.hint(decided.stream)
    subject = wanted.agent_id or wanted.owner_id
    if wanted.field == "speech" or subject is None:
        return decided.changed
    services.owner_names.forget(subject)
    services.keys.forget(subject)
    await publish_void_key(services, subject)
    if wanted.kind == "ban":
        await _leave_seats(services, wanted)
    return decided.changed


async def _leave_seats(services: Services, banned: _Wanted) -> None:
    """Let the running games of banned agents go on without them: their seats are away, and waiting games lose them.

    Best effort: without it a seat is away after two missed deadlines.
    """
    try:
        async with asyncio.timeout(services.settings.deadline_seconds):
            agents = [banned.agent_id] if banned.agent_id else await services.ownership.agents(banned.owner_id or "")
            free = asyncio.Semaphore(_AT_ONCE)
            await asyncio.gather(*(_leave(services, agent, free) for agent in agents))
    except UNAVAILABLE_ERRORS as error:
        _log.warning("banned_seats_kept", detail=reason(error))


async def _leave(services: Services, agent: str, free: asyncio.Semaphore) -> None:
    async with free:
        for game in GAME_TYPES:
            answer = await services.bus.submit(game, "turn", "", agent=agent)
            seated = turns_of(answer.body).games if answer.status == 200 else []
            for place in seated:
                away = await services.bus.submit(
                    game, "away", place.game_id, agent=agent, operator=True, command_id=uuid.uuid4().hex
                )
                if away.status == Code.NOT_RUNNING.status:
                    await services.bus.submit(game, "leave", place.game_id, agent=agent, command_id=uuid.uuid4().hex)


async def hand_ban_on(services: Services, owner_id: str, agent_id: str, ban: Ban) -> None:
    """Ban an agent as long as its owner, who lets it go."""
    notices = await services.within_deadline(services.moderation.notices([owner_id], _NOTICES))
    note = next((one.note for one in notices if one.kind == "banned"), "") or _OF_OWNER
    present = (await services.within_deadline(services.moderation.bans([agent_id]))).get(agent_id)
    if present is not None and _longer(present.until, ban.until):
        return
    decision = Decision(kind="ban", field="agent", agent_id=agent_id, note=note, until=ban.until, at=datetime.now(UTC))
    await services.within_deadline(services.moderation.decide(decision))


def _longer(one: datetime | None, other: datetime | None) -> bool:
    """Whether a ban lasts at least as long as another."""
    return one is None or (other is not None and one >= other)


@serves(routes.BAN)
async def ban(services: Services, request: CheckedRequest[Query, routes.BanRequest]) -> Reply:
    return await _once(services, request, 201, lambda: _banned(services, request.body))


async def _banned(services: Services, body: routes.BanRequest) -> bytes | HttpProblem:
    until = _until(body.until)
    found = text_faults("note", body.note)
    if isinstance(until, str):
        found["until"] = until
    if (body.agent_id is None) == (body.owner_id is None):
        found["agent_id"] = "or owner_id is required, not both"
    if found or isinstance(until, str):
        return _refused(found)
    subject = body.agent_id or body.owner_id or ""
    kind = type_of(subject)
    if unstorable(subject) or kind != ("agent" if body.agent_id else "owner"):
        return _NOBODY
    field: Field = "agent" if body.agent_id else "owner"
    wanted = _Wanted(kind="ban", field=field, agent_id=body.agent_id, owner_id=body.owner_id)
    decided = await _decide(services, wanted, trimmed(body.note), until)
    if isinstance(decided, HttpProblem):
        return decided
    made = routes.BanMade(
        id=subject, agent_id=body.agent_id, owner_id=body.owner_id, until=rfc3339(until) if until else None,
        note=trimmed(body.note),
    )  # fmt: skip
    return _encode(made)


@serves(routes.END_BAN)
async def end_ban(services: Services, request: CheckedRequest) -> Reply:
    subject = request.params["id"]
    kind = type_of(subject)
    if kind not in ("agent", "owner"):
        return _NO_BAN
    if subject not in await services.within_deadline(services.moderation.bans([subject])):
        return _NO_BAN
    wanted = (
        _Wanted(kind="restore", field="agent", agent_id=subject)
        if kind == "agent"
        else _Wanted(kind="restore", field="owner", owner_id=subject)
    )
    decided = await _decide(services, wanted, "")
    return decided if isinstance(decided, HttpProblem) else Response(status_code=204)
