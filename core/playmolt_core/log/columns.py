"""Units as the arrays that `log.append` takes: one call for a batch, whatever its size."""

from collections.abc import Sequence
from typing import Any

from playmolt_core.log.port import NewRecord, Outcome, StreamAppend, Unit
from playmolt_core.log.units import extends

_LINK_COLUMNS = 20
_OUTCOME_COLUMNS = 5
_NO_CARD = (None, None, None, None, None)
_NOT_LAST = (*_NO_CARD, None)


def columns(units: Sequence[Unit]) -> list[Sequence[Any]]:
    """Give the arguments of `log.append`, in its order."""
    links: list[tuple[Any, ...]] = []
    outcomes: list[tuple[Any, ...]] = []
    for number, unit in enumerate(units):
        for part in unit.streams:
            _add(links, number, part)
        outcomes += [_outcome(number, outcome) for outcome in unit.outcomes]
    return _transposed(links, _LINK_COLUMNS) + _transposed(outcomes, _OUTCOME_COLUMNS)


def _transposed(rows: list[tuple[Any, ...]], width: int) -> list[Sequence[Any]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width


def _add(links: list[tuple[Any, ...]], number: int, part: StreamAppend) -> None:
    if not part.records:
        links.append(_bare(number, part))
        return
    if not extends(part):
        links.append(_bare(number, part))  # the records do not follow it, so the unit ends as a conflict
    *earlier, last = part.records
    links += [_link(number, part.stream, record, _NOT_LAST) for record in earlier]
    card = part.card
    shown = _NO_CARD if card is None else (card.phase, card.round, card.seated, card.needed, card.over)
    links.append(_link(number, part.stream, last, (*shown, part.due)))


def _bare(number: int, part: StreamAppend) -> tuple[Any, ...]:
    head = bytes.fromhex(part.prev_hash)
    none = (None,) * 5
    return (number, part.stream, part.expected, *none, None, head, head, None, None, None, *_NOT_LAST)


def _link(number: int, stream: str, record: NewRecord, shown: tuple[Any, ...]) -> tuple[Any, ...]:
    return (
        number,
        stream,
        record.version,
        record.type,
        record.schema_version,
        record.data.decode(),
        record.metadata.decode(),
        record.at,
        bytes.fromhex(record.salt),
        bytes.fromhex(record.prev_hash),
        bytes.fromhex(record.hash),
        record.public,
        record.lobby,
        record.closes,
        *shown,
    )


def _outcome(number: int, outcome: Outcome) -> tuple[Any, ...]:
    return (number, outcome.stream, outcome.command_id, outcome.fingerprint, outcome.body)
