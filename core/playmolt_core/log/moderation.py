"""Decisions of the operator: appended to the log in one transaction with the tables that follow from them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET
from playmolt_schemas.canonical import canonical_json, digest
from playmolt_schemas.codes import NO_GAME, Code
from playmolt_schemas.identifiers import SESSION_TYPES, moderation_of, rfc3339, type_of
from playmolt_schemas.records import ZERO_HASH, Metadata
from playmolt_schemas.registry import watched_games
from playmolt_schemas.stored import moderation as stored
from playmolt_schemas.stored.event import Event, Shown, has_author, marks, texts

from playmolt_core.db.moderation import Decision, DecisionRecord, PgModeration, hidden_in
from playmolt_core.db.pool import Connection, Pool, queries
from playmolt_core.game.decider import Refused, read_event
from playmolt_core.game.fold import state_hash
from playmolt_core.game.moderation import Moderation, ModerationRules
from playmolt_core.log.chain import chain_record, record_text
from playmolt_core.log.verify import Break

_SQL = queries("moderation")
NO_TEXT: Final = Refused(
    Code.NOT_FOUND,
    "This game has no public text of an agent at this version. Name the version of the message that shows it.",
)
NO_SUBJECT: Final = Refused(
    Code.NOT_FOUND, "No agent, owner or tournament has this id. Find agents with GET /api/agents."
)
WRONG_TARGET: Final = Refused(
    Code.INVALID_REQUEST,
    "This decision does not fit its target. Hide a speech (game_id, version) or a name (agent_id, owner_id, or the"
    " game_id of a tournament), rename the same, ban an agent or owner, and restore any of these.",
)
_RULES: Final = ModerationRules()
_Key = tuple[object, ...]
_Row = tuple[object, ...]
E = TypeVar("E", stored.SpeechHidden, stored.SpeechRestored)


class ModerationConflict(ConnectionError):
    """The stream changed although moderation was locked, as after a restored backup. Nothing was changed."""


async def decide(pool: Pool, decision: Decision) -> DecisionRecord | Refused:
    """Make a decision: all of it or nothing. A repeat has no second effect.

    Raises LogUnavailable, and ModerationConflict.
    """
    async with pool.transaction() as connection:
        newest = await connection.fetchval("SELECT newest FROM log.begin_moderation($1)", moderation_of(decision.at))
        at = max(decision.at.astimezone(UTC), newest or decision.at)
        event = await _event(connection, decision, at)
        if isinstance(event, Refused):
            return event
        stream = moderation_of(at)
        if event is None:
            return DecisionRecord(stream, 0)
        version, followed, _ = await connection.fetchrow(_SQL["begin"], stream) or (None, None, None)
        return await _append(connection, decision, event, stream, version or 0, followed, at)


class PgDecisions(PgModeration):
    """Makes decisions, and reads what is in force. Every method may raise LogUnavailable."""

    async def decide(self, decision: Decision) -> DecisionRecord | Refused:
        """Make a decision; a repeat has no second effect. Raises ModerationConflict, too."""
        return await decide(self._pool, decision)


async def _append(
    connection: Connection, decision: Decision, event: stored.Decided, stream: str, version: int,
    followed: bytes | None, at: datetime,
) -> DecisionRecord:  # fmt: skip
    nth = version + 1
    command = digest(["moderation", stream, nth])[:32]
    end = followed or bytes.fromhex(ZERO_HASH)
    record = chain_record(
        stream=stream,
        version=nth,
        prev_hash=end.hex(),
        at=at,
        event_type=event.type,
        schema_version=event.schema_version,
        data=canonical_json(event),
        metadata=Metadata(
            command_id=command,
            correlation=command,
            causation=command,
            state_hash=state_hash(Moderation(version=nth, last=event.type)),
        ),
        closes=False,
    )
    if not await connection.fetchval(
        _SQL["moderate"], stream, end, record_text(record), _subject(event) or "", decision.note
    ):
        raise ModerationConflict(f"{stream} changed")
    return DecisionRecord(stream, nth)


def _subject(event: stored.Decided) -> str | None:
    if isinstance(event, stored.SpeechDecided):
        return event.agent_id or None
    return event.subject if isinstance(event, stored.NameDecided | stored.BanDecided) else None


async def _event(connection: Connection, decision: Decision, at: datetime) -> stored.Decided | Refused | None:
    """The event of a decision; None if it is in force already."""
    subject = decision.agent_id or decision.owner_id or decision.game_id
    match decision.kind, decision.field:
        case "hide" | "restore", "speech" if decision.game_id and decision.version:
            return await _speech(connection, decision, decision.game_id, decision.version)
        case "hide" | "rename" | "restore", "name" if subject:
            return await _name(connection, decision, subject)
        case "rename", "agent" if decision.agent_id:
            return await _name(connection, decision, decision.agent_id)
        case "ban" | "restore", "agent" if decision.agent_id:
            return await _ban(connection, decision, decision.agent_id, at)
        case "ban" | "restore", "owner" if decision.owner_id:
            return await _ban(connection, decision, decision.owner_id, at)
        case _:
            return WRONG_TARGET


async def _speech(
    connection: Connection, decision: Decision, game_id: str, version: int
) -> stored.Decided | Refused | None:
    kinds = text_types(type_of(game_id) or "")
    if kinds is None:
        return Refused(Code.NOT_FOUND, NO_GAME)
    rows = await connection.fetch(
        _SQL["said"], game_id, version, decision.agent_id, kinds.public, kinds.own, kinds.whole, kinds.retold,
        kinds.sealed,
    )  # fmt: skip
    said = [(at_version, author) for at_version, author in rows]
    if not said:
        return NO_TEXT
    hidden = await hidden_in(connection, game_id)
    authors = {author for _, author in said}
    agent_id = decision.agent_id or (next(iter(authors)) if len(authors) == 1 and "" not in authors else "")
    wanted = {(at_version, agent_id) for at_version, _ in said}
    if decision.kind == "hide":
        return None if wanted <= hidden else _of_speech(stored.SpeechHidden, decision, game_id, wanted, agent_id)
    versions = {at_version for at_version, _ in wanted}
    if not (wanted & hidden if agent_id else {at_version for at_version, _ in hidden} & versions):
        return None
    return _of_speech(stored.SpeechRestored, decision, game_id, wanted, agent_id)


def _of_speech(kind: type[E], decision: Decision, game_id: str, wanted: set[tuple[int, str]], agent_id: str) -> E:
    versions = tuple(sorted(version for version, _ in wanted))
    return kind(by=decision.by, game_id=game_id, versions=versions, agent_id=agent_id or UNSET)


class TextTypes(msgspec.Struct, frozen=True, kw_only=True):
    """The types of a game's records with texts: shown to everybody, and to their author alone; those without an author,
    and which of these repeat the record before them. Of the records of a session only their number is known."""

    public: Sequence[str] = ()
    own: Sequence[str] = ()
    whole: Sequence[str] = ()
    retold: Sequence[str] = ()
    sealed: bool = False


def text_types(game: str) -> TextTypes | None:
    """None for a type in which there is nothing to hide."""
    if game in SESSION_TYPES:
        return TextTypes(sealed=True)
    messages = watched_games().get(game)
    if messages is None:
        return None
    feed = messages.feed
    said = [event for event in feed.events if texts(event) and (event in feed.kinds or event.type in feed.written)]
    own = {event.type for event in said if any(mark.own for mark in _marks_of(event))}
    whole = {event.type for event in said if not has_author(event)}
    return TextTypes(
        public=sorted({event.type for event in said} - own - whole),
        own=sorted(own),
        whole=sorted(whole),
        retold=sorted(event.type for event in said if event.retells),
    )


def _marks_of(event: type[Event]) -> Iterator[Shown]:
    found = marks(event)
    return (found[path[0]] for path in texts(event) if path[0] in found)


async def _name(connection: Connection, decision: Decision, subject: str) -> stored.Decided | Refused | None:
    if not await connection.fetchval(_SQL["exists"], subject):
        return NO_SUBJECT
    replaced = await connection.fetchrow(_SQL["renamed"], subject)
    if decision.kind == "restore":
        return stored.NameRestored(by=decision.by, subject=subject) if replaced else None
    handle = replaced["handle"] if replaced else await connection.fetchval(_SQL["neutral_handle"], subject)
    if decision.kind == "hide":
        if replaced and replaced["withheld"]:
            return None
        return stored.NameHidden(by=decision.by, subject=subject, handle=handle)
    if replaced and not replaced["withheld"]:
        return None
    return stored.Renamed(by=decision.by, subject=subject, handle=handle)


async def _ban(
    connection: Connection, decision: Decision, subject: str, at: datetime
) -> stored.Decided | Refused | None:
    if not await connection.fetchval(_SQL["exists"], subject):
        return NO_SUBJECT
    present = await connection.fetchrow(_SQL["ban"], subject, at)
    if decision.kind == "restore":
        return stored.Unbanned(by=decision.by, subject=subject) if present else None
    if present and present["until"] == decision.until:
        return None
    until = rfc3339(decision.until) if decision.until else None
    return stored.Banned(by=decision.by, subject=subject, until=until)


async def rebuild_moderation(pool: Pool) -> int:
    """Compute the tables again from the log; returns the number of decisions. Raises LogUnavailable."""
    return int(await pool.value(_SQL["rebuild"]))


async def moderation_breaks(pool: Pool) -> list[Break]:
    """Fold all decisions and compare the tables with the result. Raises LogUnavailable."""
    async with pool.snapshot() as connection:
        decisions = await connection.fetch(_SQL["decisions"])
        tables = {
            "hidden text": {row[:3]: row[3:] for row in map(tuple, await connection.fetch(_SQL["all_hidden"]))},
            "name": {row[:1]: row[1:] for row in map(tuple, await connection.fetch(_SQL["all_renamed"]))},
            "ban": {row[:1]: row[1:] for row in map(tuple, await connection.fetch(_SQL["all_bans"]))},
        }
    said: dict[str, dict[_Key, _Row]] = {what: {} for what in tables}
    for revision, kind, data in decisions:
        for what, key, row in _rows(read_event(_RULES, kind, 1, data), revision, said["hidden text"]):
            said[what][key] = row
    return [
        Break("", 0, f"{what} of {', '.join(str(part) for part in key if part)}: the row is not what the log says")
        for what, stored_rows in tables.items()
        for key in sorted({*said[what], *stored_rows}, key=str)
        if said[what].get(key) != stored_rows.get(key)
    ]


def _rows(event: Event, revision: int, known: Mapping[_Key, _Row]) -> Iterator[tuple[str, _Key, _Row]]:
    """The rows that a decision sets, given those of the texts hidden before."""
    match event:
        case stored.SpeechRestored() if not event.agent_id:
            for key in [key for key, row in known.items() if key[0] == event.game_id and row[0]]:
                if key[1] in event.versions:
                    yield "hidden text", key, (False, revision)
        case stored.SpeechDecided():
            for version in event.versions:
                hidden = isinstance(event, stored.SpeechHidden)
                yield "hidden text", (event.game_id, version, event.agent_id or ""), (hidden, revision)
        case stored.NameHidden() | stored.Renamed():
            yield "name", (event.subject,), (event.handle, isinstance(event, stored.NameHidden), revision)
        case stored.NameRestored():
            yield "name", (event.subject,), (None, False, revision)
        case stored.Banned():
            until = datetime.fromisoformat(event.until) if event.until else None
            yield "ban", (event.subject,), (True, until, revision)
        case stored.Unbanned():
            yield "ban", (event.subject,), (False, None, revision)
        case _:
            raise LookupError(f"{event.type} is not a decision")
