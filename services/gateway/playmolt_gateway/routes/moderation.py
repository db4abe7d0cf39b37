"""Reports, and what the operator decides about them."""

import hashlib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.reports import NewReport, Report
from playmolt_schemas.codes import MISMATCH, Code, faults
from playmolt_schemas.identifiers import SESSION_TYPES, TOURNAMENT_TYPES, WATCHED_TYPES, rfc3339, type_of
from playmolt_schemas.limits import REPORT_CHARS
from playmolt_schemas.registry import watched_games
from playmolt_schemas.routes import moderation as routes
from playmolt_schemas.stored.event import has_author, marks, texts
from playmolt_schemas.text import trimmed, unstorable

from playmolt_gateway.access.auth import ANONYMOUS
from playmolt_gateway.access.invites import invite_hash
from playmolt_gateway.http.problems import HttpProblem, bad_request
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.request.checked_request import CheckedRequest
from playmolt_gateway.request.handlers import Reply, serves
from playmolt_gateway.request.services import Services

_NOTHING: Final = HttpProblem(
    Code.NOT_FOUND,
    "What you report does not exist. Check its id, and the version of the speech with GET /api/games/{id}/events.",
)
"""The same for what does not exist and for a private game that the caller may not see."""
_NEEDS: Final[Mapping[routes.ReportKind, tuple[tuple[str, ...], ...]]] = {
    "speech": (("game_id",), ("version",)),
    "name": (("agent_id", "owner_id", "game_id"),),
    "agent": (("agent_id",),),
    "owner": (("owner_id",),),
}
"""The fields that each kind needs: one of each group."""
_MODEL: Final = "model"
_encode = msgspec.json.encode


def _speakers_in(game: str, message: Mapping[str, object]) -> Sequence[str] | None:
    """The agents whose words a message shows, or will show once they are revealed; None if it shows none. In a run
    models speak, which have no accounts."""
    games, said = watched_games(), list[str]()
    if game not in games:
        return None
    feed = games[game].feed
    for kind in (event for event in feed.events if event.type == message.get("type")):
        for path in texts(kind):
            if not has_author(kind):
                said += [_MODEL] if message.get(path[-1]) else []
            elif path[0] in message:
                said += _authors(message, path, "")
            elif marks(kind)[path[0]].own and not message.get("forfeit"):
                said.append(str(message.get("agent_id", "")))
    found = [author for author in dict.fromkeys(said) if author]
    return [author for author in found if author != _MODEL] if found else None


def _authors(value: object, path: Sequence[str], author: object) -> Iterator[str]:
    """The authors of the texts at a path: the agents named beside them, or around them."""
    if isinstance(value, dict):
        author = value.get("agent_id", author)
    if not path:
        yield from [str(author)] if value else []
    elif path[0] == "*":
        for element in value if isinstance(value, list) else ():
            yield from _authors(element, path[1:], author)
    elif isinstance(value, dict):
        yield from _authors(value.get(path[0]), path[1:], author)


class _Events(msgspec.Struct):
    events: list[msgspec.Raw]


class _Log(msgspec.Struct):
    records: list[msgspec.Raw]


_events_of = msgspec.json.Decoder(_Events).decode
_log_of = msgspec.json.Decoder(_Log).decode
_message_of = msgspec.json.Decoder(dict[str, object]).decode


@serves(routes.REPORT)
async def report(services: Services, request: CheckedRequest[routes.ReportQuery, routes.ReportRequest]) -> Reply:
    """Take a report. Its limit comes before the look at what exists, so that nothing is found by trying."""
    body = request.body
    if found := _faults(body):
        return bad_request(f"Fix the request body and retry: {_listed(found)}.", *faults(found))
    if limited := await services.within_deadline(services.rates.report_refusal(request.caller, request.scope)):
        return limited
    reported = await _reported(services, request)
    if reported is None:
        return _NOTHING
    stored = await services.within_deadline(
        services.reports.add(
            f"report-{uuid.uuid4()}", reported, _command(services, request), request.command.fingerprint
        )
    )
    if stored is None:
        return HttpProblem(Code.IDEMPOTENCY_MISMATCH, MISMATCH)
    return json_response(202, _encode(routes.ReportTaken(stored)))


def _listed(found: Mapping[str, str]) -> str:
    return "; ".join(f"{field} {fault}" for field, fault in found.items())


def _faults(body: routes.ReportRequest) -> dict[str, str]:
    found = {}
    for group in _NEEDS[body.kind]:
        given = [field for field in group if getattr(body, field) is not None]
        if not given:
            found[group[0]] = f"is missing: a report of kind {body.kind} needs {' or '.join(group)}"
        elif len(given) > 1 and given[1] != "game_id":
            found[given[1]] = f"cannot be combined with {given[0]}"
    unused = {"owner_id"} if body.kind in ("speech", "agent") else {"agent_id"} if body.kind == "owner" else set()
    if body.kind != "speech":
        unused.add("version")
    found |= {field: f"is not for a report of kind {body.kind}" for field in sorted(unused) if _has(body, field)}
    return found | text_faults("reason", body.reason)


def _has(body: msgspec.Struct, field: str) -> bool:
    return getattr(body, field) is not None


def text_faults(field: str, text: str) -> dict[str, str]:
    """What is wrong with a reason or a note, by field."""
    if 1 <= len(trimmed(text)) <= REPORT_CHARS and not unstorable(text):
        return {}
    return {field: f"must contain 1 to {REPORT_CHARS} characters, without NUL or lone surrogates"}


def _command(services: Services, request: CheckedRequest) -> str:
    """The id of the command; callers without a key have it by their address."""
    command = request.command.id
    if request.caller != ANONYMOUS:
        return command
    return hashlib.sha256(f"{services.rates.bucket(request.scope)} {command}".encode()).hexdigest()[:32]


async def _reported(
    services: Services, request: CheckedRequest[routes.ReportQuery, routes.ReportRequest]
) -> NewReport | None:
    """What is reported, if it exists for the caller. Raises UNAVAILABLE_ERRORS."""
    body = request.body
    given = [body.game_id, body.agent_id, body.owner_id]
    if any(one is not None and unstorable(one) for one in given):
        return None
    agent_id = body.agent_id
    if body.kind == "speech":
        speakers = await _speakers(services, request)
        if speakers is None or (agent_id is not None and agent_id not in speakers):
            return None
        agent_id = agent_id or (speakers[0] if len(speakers) == 1 else None)
    elif not await _exist(services, request):
        return None
    return NewReport(
        kind=body.kind, game_id=body.game_id, version=body.version, agent_id=agent_id, owner_id=body.owner_id,
        reason=trimmed(body.reason),
    )  # fmt: skip


async def _exist(services: Services, request: CheckedRequest[routes.ReportQuery, routes.ReportRequest]) -> bool:
    body = request.body
    if body.game_id is not None and await _event(services, request, 1) is None:
        return False
    if body.agent_id is not None:
        return await services.within_deadline(services.accounts.profile(body.agent_id)) is not None
    if body.owner_id is None:
        return type_of(body.game_id or "") in TOURNAMENT_TYPES
    return type_of(body.owner_id) == "owner" and (
        await services.within_deadline(services.owners.owner(body.owner_id)) is not None
    )


async def _speakers(
    services: Services, request: CheckedRequest[routes.ReportQuery, routes.ReportRequest]
) -> Sequence[str] | None:
    """The agents who speak in the event that is reported; None if nothing is said there."""
    body = request.body
    game = type_of(body.game_id or "") or ""
    if game in SESSION_TYPES:
        return () if await _shared(services, request, game) else None
    event = await _event(services, request, body.version or 1)
    return _speakers_in(game, _message_of(event)) if event else None


async def _shared(
    services: Services, request: CheckedRequest[routes.ReportQuery, routes.ReportRequest], game: str
) -> bool:
    """Whether a session has this event and may be reported: by the operator, and by everybody while it is shared."""
    session, version = request.body.game_id or "", request.body.version or 1
    if not request.caller.operator and not await services.within_deadline(services.shares.is_shared(session)):
        return False
    answer = await services.bus.submit(
        game, "log", session, _encode({"after": version - 1, "limit": 1}), operator=True, trace=request.trace
    )
    if answer.status == Code.UNAVAILABLE.status:
        raise BusUnavailable("the engine cannot read the event")
    return answer.status == 200 and bool(_log_of(answer.body).records)


async def _event(
    services: Services, request: CheckedRequest[routes.ReportQuery, routes.ReportRequest], version: int
) -> msgspec.Raw | None:
    """A public event of the game that is named, as the caller may see it; None without one."""
    game_id = request.body.game_id or ""
    game = type_of(game_id) or ""
    if game not in (*WATCHED_TYPES, *TOURNAMENT_TYPES):
        return None
    answer = await services.bus.submit(
        game, "events", game_id, _encode({"after": version - 1, "limit": 1}), agent=request.caller.id,
        operator=request.caller.operator, trace=request.trace, invite=invite_hash(request.query.invite), present=False,
    )  # fmt: skip
    if answer.status == Code.UNAVAILABLE.status:
        raise BusUnavailable("the engine cannot read the event")
    events = _events_of(answer.body).events if answer.status == 200 else ()
    return next(iter(events), None)


@serves(routes.LIST_REPORTS)
async def list_reports(services: Services, request: CheckedRequest[routes.ReportsQuery, None]) -> Reply:
    query = request.query
    found, cursor = await services.within_deadline(services.reports.reports(query.state, query.limit, query.cursor))
    return json_response(200, _encode(routes.Reports([report_row(one) for one in found], cursor)))


def report_row(one: Report) -> routes.ReportRow:
    return routes.ReportRow(
        id=one.id, kind=one.kind, game_id=one.game_id, version=one.version, agent_id=one.agent_id,
        owner_id=one.owner_id, reason=one.reason, count=one.count, at=rfc3339(one.at), decision=one.decision,
        note=one.note, until=_time(one.until), decided_at=_time(one.decided_at),
    )  # fmt: skip


def _time(at: datetime | None) -> str | None:
    return None if at is None else rfc3339(at)
