"""Units as the arguments of `log.append`: one call for a batch, whatever its size.

One array a column, written as text: asyncpg takes ten times as long to write the same array, element by element.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate

import msgspec

from playmolt_core.log.port import Outcome, StreamAppend, Unit
from playmolt_core.log.units import follows

_json = msgspec.json.Encoder().encode


class _NoSummary(msgspec.Struct, frozen=True):
    """What a stream without a summary shows."""

    phase: None = None
    round: None = None
    seated: None = None
    needed: None = None
    over: None = None


_NO_SUMMARY = _NoSummary()


def rounds(units: Sequence[Unit]) -> list[list[int]]:
    """Cut units, by their numbers, into batches in which no stream comes twice; each rests on those before it."""
    free: dict[str, int] = {}  # stream → the first batch that holds nothing of it
    batches: list[list[int]] = []
    for number, unit in enumerate(units):
        turn = 0
        for part in unit.streams:
            turn = max(turn, free.get(part.stream, 0))
        for part in unit.streams:
            free[part.stream] = turn + 1
        if turn == len(batches):
            batches.append([])
        batches[turn].append(number)
    return batches


def extends(unit: Unit) -> bool:
    """Whether the records of a unit follow each other, and no stream comes twice."""
    met: set[str] = set()
    for part in unit.streams:
        if part.stream in met or not follows(part):
            return False
        met.add(part.stream)
    return True


def arguments(units: Sequence[Unit], *, lean: bool = True) -> tuple[str, ...]:
    """The arguments of `log.append` for units that have no stream in common. What is not UTF-8 raises
    UnicodeDecodeError.

    Not `lean`: answers that follow from their records are stored, too, and every stream's row is written, for engines
    of the release before.
    """
    numbers = [number for number, unit in enumerate(units) for _ in unit.streams]
    appends = [part for unit in units for part in unit.streams]
    outcomes = [outcome for unit in units for outcome in unit.outcomes if not (lean and outcome.follows)]
    return (_array(numbers), *_parts(appends, lean), *_records(appends, lean), *_outcomes(outcomes))


def _parts(appends: Sequence[StreamAppend], lean: bool) -> Iterator[str]:
    summaries = [part.summary or _NO_SUMMARY for part in appends]
    yield _array([part.stream for part in appends])
    yield _array([part.expected for part in appends])
    yield _bytes([part.prev_hash for part in appends])
    yield _array([*accumulate([len(part.records) for part in appends], initial=1)][:-1])
    yield _array([len(part.records) > 0 and (part.moves or not lean) for part in appends])
    yield _array([summary.phase for summary in summaries])
    yield _array([summary.round for summary in summaries])
    yield _array([summary.seated for summary in summaries])
    yield _array([summary.needed for summary in summaries])
    yield _array([summary.over for summary in summaries])
    yield _array([part.due for part in appends])


def _records(appends: Sequence[StreamAppend], lean: bool) -> Iterator[str]:
    records = [record for part in appends for record in part.records]
    yield _array([number for number, part in enumerate(appends, 1) for _ in part.records])
    yield _array([record.type for record in records])
    yield _array([record.schema_version for record in records])
    yield _documents([record.data for record in records])
    yield _documents([record.metadata for record in records])
    yield _array([record.at for record in records])
    yield _bytes([record.salt for record in records])
    yield _bytes([record.hash for record in records])
    yield _documents([record.public or b"null" for record in records])
    yield _documents([record.lobby or b"null" for record in records])
    yield _array([record.closes for record in records])
    yield _array([record.command or None if lean else None for record in records])


def _outcomes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield _array([outcome.stream for outcome in outcomes])
    yield _array([outcome.command_id for outcome in outcomes])
    yield _array([outcome.fingerprint for outcome in outcomes])
    yield _json([outcome.body.decode() for outcome in outcomes]).decode()


def _array(values: Sequence[object]) -> str:
    """Names, numbers, booleans, times and None as Postgres reads an array of them: as JSON writes them."""
    written = _json(values)
    if b"\\" in written:
        raise ValueError("a name holds what has to be escaped")
    return "{" + written[1:-1].decode() + "}"


def _bytes(values: Sequence[str]) -> str:
    """Hex as Postgres reads an array of bytea."""
    return '{"\\\\x' + '","\\\\x'.join(values) + '"}' if values else "{}"


def _documents(values: Sequence[bytes]) -> str:
    """JSON as a JSON array that holds every document byte for byte."""
    return "[" + b",".join(values).decode() + "]"
