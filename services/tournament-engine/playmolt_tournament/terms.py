"""The terms of a tournament: what each format needs, refuses and derives."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec
from msgspec import UNSET
from playmolt_core.game.decider import Refused
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.identifiers import read_rfc3339, rfc3339
from playmolt_schemas.limits import PACK_CHARS, TOURNAMENT_MINUTES, TOURNAMENT_NAME_CHARS, TOURNAMENT_ROUNDS
from playmolt_schemas.stored.tournament import Format, Terms
from playmolt_schemas.text import has_line_breaks_or_controls, has_visible_character, trimmed

LONGEST_AHEAD: Final = timedelta(days=366)
"""How far ahead a tournament may start and end."""
_MOST_SEATS: Final = 16
_ENTRANT_FIELDS: Final = ("min_entrants", "max_entrants")
_UNFIT: Final[Mapping[Format, tuple[str, ...]]] = {
    "round_robin": ("duration_minutes", "ends_at"),
    "swiss": ("duration_minutes", "ends_at"),
    "arena": ("rounds",),
    "season": ("duration_minutes", "rounds", *_ENTRANT_FIELDS, "deadline_seconds", "pack", "language"),
}
"""What a format has no use for."""


def read(fields: Mapping[str, object], at: datetime, seats: int) -> Terms | Refused:
    """The terms in `fields`, with times in the stored form, or a refusal with every fault. null is as absent."""
    try:
        terms = msgspec.convert({name: value for name, value in fields.items() if value is not None}, Terms)
    except msgspec.ValidationError as error:
        return _refused([FieldFault(_field_of(str(error)), str(error))])
    name, faults = trimmed(terms.name), []
    times: dict[str, datetime] = {}
    for field in ("starts_at", "ends_at"):
        value = getattr(terms, field)
        if value is not UNSET:
            time = _time(value)
            if time is None:
                faults.append(FieldFault(field, "must be an RFC 3339 time, such as 2026-03-01T12:00:00Z"))
            else:
                times[field] = time
    faults += [*_name_faults(name), *_format_faults(terms, seats), *_time_faults(terms.format, times, at)]
    if faults:
        return _refused(faults)
    return msgspec.structs.replace(terms, name=name, **{field: rfc3339(time) for field, time in times.items()})


def _refused(faults: list[FieldFault]) -> Refused:
    listed = "; ".join(f"{fault.field} {fault.message}".strip() for fault in faults[:5])
    return Refused(Code.INVALID_REQUEST, f"Fix the request body and retry: {listed}.", tuple(faults))


def _field_of(message: str) -> str:
    """The field in a message of msgspec: at its end a path, or in it the name of a missing or unknown field."""
    path = message.rpartition("`$.")[2].rstrip("`") if "`$." in message else ""
    return path or (message.split("`")[1] if message.count("`") >= 2 else "")


def _time(text: str) -> datetime | None:
    try:
        return read_rfc3339(text)
    except ValueError:
        return None


def _name_faults(name: str) -> Iterator[FieldFault]:
    if not 1 <= len(name) <= TOURNAMENT_NAME_CHARS:
        yield FieldFault("name", f"must have 1 to {TOURNAMENT_NAME_CHARS} characters")
    elif has_line_breaks_or_controls(name) or not has_visible_character(name):
        yield FieldFault("name", "must be one line with a visible character, without control characters")


def _format_faults(terms: Terms, seats: int) -> Iterator[FieldFault]:
    if not 2 <= seats <= _MOST_SEATS:
        yield FieldFault("game_type", f"must be a game of 2 to {_MOST_SEATS} seats")
    for field in _UNFIT[terms.format]:
        if getattr(terms, field) is not UNSET:
            yield FieldFault(field, f"does not apply to the format {terms.format}")
    if terms.format == "season":
        yield from _season_faults(terms)
        return
    if terms.format == "arena" and (terms.duration_minutes is UNSET) == (terms.ends_at is UNSET):
        yield FieldFault("duration_minutes", "or ends_at is required for an arena, and only one of them")
    for field in _ENTRANT_FIELDS:
        if getattr(terms, field) is UNSET:
            yield FieldFault(field, "is required")
    if terms.min_entrants and terms.max_entrants and terms.min_entrants > terms.max_entrants:
        yield FieldFault("min_entrants", "must not exceed max_entrants")
    if terms.pack is not UNSET and not 1 <= len(terms.pack) <= PACK_CHARS:
        yield FieldFault("pack", f"must have 1 to {PACK_CHARS} characters")


def _season_faults(terms: Terms) -> Iterator[FieldFault]:
    if terms.ends_at is UNSET:
        yield FieldFault("ends_at", "is required for a season")
    if not terms.rated:
        yield FieldFault("rated", "must be true: a season counts rated games")
    if terms.per_owner != 1:
        yield FieldFault("per_owner", "does not apply to the format season")


def _time_faults(kind: Format, times: Mapping[str, datetime], at: datetime) -> Iterator[FieldFault]:
    starts_at, ends_at = times.get("starts_at"), times.get("ends_at")
    for field, time in times.items():
        if time <= at:
            yield FieldFault(field, "must be in the future")
        elif time > at + LONGEST_AHEAD:
            yield FieldFault(field, f"must be within {LONGEST_AHEAD.days} days")
    if starts_at and ends_at and ends_at <= starts_at:
        yield FieldFault("ends_at", "must be after starts_at")
    if kind == "arena" and ends_at and ends_at > (starts_at or at) + timedelta(minutes=TOURNAMENT_MINUTES):
        yield FieldFault("ends_at", f"must be within {TOURNAMENT_MINUTES} minutes of the start")


def rounds_for(terms: Terms, entrants: int, seats: int) -> int | None:
    """How many rounds are played: those of the terms, else as many as fit the entrants; None without rounds.

    Round robin: as many as it takes to meet everybody, and one for each seat of the game at least. Swiss: enough that
    one entrant can win all its games, but where they are many no more than can be played without a repeat.
    """
    if terms.format in ("arena", "season"):
        return None
    if terms.rounds is not UNSET:
        return terms.rounds
    if terms.format == "round_robin":
        opponents = max(1, entrants // -(-entrants // seats) - 1)
        return min(TOURNAMENT_ROUNDS, max(seats, -(-(entrants - 1) // opponents)))
    doublings = max(1, (entrants - 1).bit_length())
    return max(1, min(doublings, max(3, (entrants - 1) // (2 * (seats - 1)))))
