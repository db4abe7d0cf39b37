"""Units as the arguments of `log.append`: one call for a batch of any size.

Values that the view `log.event` derives from other columns are left out.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from playmolt_schemas.limits import RECORD_BYTES
from playmolt_schemas.shards import shard_of

from playmolt_core.log.port import Appended, NewRecord, RecordTooLarge, StreamAppend, Unit

_STREAM = re.compile(r"[a-z][a-z0-9]{0,15}-[a-z0-9-]{1,64}")


def check(units: Sequence[Unit]) -> None:
    """Raise RecordTooLarge for a record above the limit, ValueError for an invalid unit.

    The limit applies to data and metadata together, and to the public message: each must fit into a NATS message.
    """
    for unit in units:
        streams: set[str] = set()
        for part in unit.streams:
            streams.add(part.stream)
            if part.expected == 0 and not _STREAM.fullmatch(part.stream):
                raise ValueError(f"{part.stream!r} is not a stream name: use <type>-<id> in lower case")
            for record in part.records:
                size = max(len(record.data) + len(record.metadata), len(record.public or b""))
                if size > RECORD_BYTES:
                    raise RecordTooLarge(
                        f"{part.stream} version {record.version} ({record.type}) has {size} bytes; "
                        f"the limit is {RECORD_BYTES}: store less in it"
                    )
        for outcome in unit.outcomes:
            if outcome.stream not in streams:
                raise ValueError(
                    f"an outcome of {outcome.stream} has to come in a unit that checks or extends that stream"
                )


def follows(part: StreamAppend) -> bool:
    """Whether the records follow what the append expects, and each other."""
    version, last = part.expected, part.prev_hash
    for record in part.records:
        version += 1
        if record.version != version or record.prev_hash != last:
            return False
        last = record.hash
    return True


_USUAL = re.compile(
    r'\{"actor":"(?:agent-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?","causation":"([0-9a-f]{32})",'
    r'"command_id":"\2","correlation":"\2",(?:"request":"([0-9a-f]{32})",)?(?:"state_hash":("[0-9a-f]{64}"),)?'
    r'"trace":"([0-9a-f-]*)"\}'
)
"""The metadata of almost every record; it is stored in columns."""


def rounds(units: Sequence[Unit]) -> list[list[int]]:
    """Group units, by their numbers, into batches without a repeated stream; each depends on the earlier ones."""
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
    """Whether the records of a unit follow each other, and no stream occurs twice."""
    met: set[str] = set()
    for part in unit.streams:
        if part.stream in met or not follows(part):
            return False
        met.add(part.stream)
    return True


class Batch(NamedTuple):
    """The arguments of `log.append`, as tuples of its composite types."""

    parts: Sequence[tuple[object, ...]]
    checked: Sequence[tuple[object, ...]]
    rows: Sequence[tuple[object, ...]]
    outcomes: Sequence[tuple[object, ...]]
    shards: Sequence[int]
    amounts: Sequence[int]


def batch_of(units: Sequence[Unit], shards: int = 1) -> Batch:
    """The arguments of `log.append` for units without a common stream. Raises UnicodeDecodeError for invalid UTF-8."""
    parts, checked, rows = [], [], []
    amounts: Counter[int] = Counter()
    for number, unit in enumerate(units):
        for part in unit.streams:
            records = [_record(record) for record in part.records]
            one = (number, part.stream, part.expected, bytes.fromhex(part.prev_hash), records)
            if not records:
                checked.append(one)
                continue
            parts.append(one)
            amounts[shard_of(part.stream, shards)] += len(records)
            if part.moves or not part.expected:
                rows.append(_row(number, part))
    outcomes = [
        (outcome.stream, outcome.command_id, outcome.fingerprint, outcome.body)
        for unit in units
        for outcome in unit.outcomes
    ]
    written = sorted(amounts)
    return Batch(parts, checked, rows, outcomes, written, [amounts[shard] for shard in written])


def positions(units: Sequence[Unit], batch: Batch, bases: Sequence[int], shards: int = 1) -> list[Appended]:
    """The first position of each stream's records, unit by unit; `bases` is what `log.append` returned."""
    ends = dict(zip(batch.shards, bases, strict=True))
    found = []
    for unit in units:
        firsts = []
        for part in unit.streams:
            shard = shard_of(part.stream, shards)
            firsts.append(ends.get(shard, 0) + 1)
            if part.records:
                ends[shard] += len(part.records)
        found.append(tuple(firsts))
    return found


def _row(number: int, part: StreamAppend) -> tuple[object, ...]:
    last, summary = part.records[-1], part.summary
    place = (number, part.stream, part.expected, last.version, bytes.fromhex(last.hash), last.at)
    if summary is None:
        return *place, None, None, None, None, None, part.due
    return *place, summary.phase, summary.round, summary.seated, summary.needed, summary.over, part.due


def _record(record: NewRecord) -> tuple[object, ...]:
    fixed = (
        record.type, record.schema_version, record.data.decode(), record.at, bytes.fromhex(record.salt),
        bytes.fromhex(record.hash), record.closes, record.command != "",
    )  # fmt: skip
    metadata = record.metadata.decode()
    usual = _USUAL.fullmatch(metadata)
    if not usual or record.command not in ("", usual[2]):
        return *fixed, record.command or None, None, None, None, metadata
    actor, command, request, hashed, trace = usual.groups()
    return *fixed, command, actor, bytes.fromhex(request) if request else None, trace or None, hashed
