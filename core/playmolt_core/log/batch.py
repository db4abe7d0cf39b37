"""Units as the arguments of `log.append`: one call for a batch of any size.

One array a column, written as text: asyncpg takes ten times as long to write the same array, element by element. Values
that the view `log.event` derives from other columns are left out.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import msgspec
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.limits import RECORD_BYTES

from playmolt_core.log.port import NewRecord, Outcome, RecordTooLarge, StreamAppend, Unit

_STREAM = re.compile(r"[a-z][a-z0-9]{0,15}-[a-z0-9-]{1,64}")


def check(units: Sequence[Unit]) -> None:
    """Raise RecordTooLarge for a record above the limit, ValueError for an invalid unit.

    The limit applies to data and metadata together, and to each message sent with the record: each must fit into a NATS
    message.
    """
    for unit in units:
        streams: set[str] = set()
        for part in unit.streams:
            streams.add(part.stream)
            if part.expected == 0 and not _STREAM.fullmatch(part.stream):
                raise ValueError(f"{part.stream!r} is not a stream name: use <type>-<id> in lower case")
            for record in part.records:
                size = max(len(record.data) + len(record.metadata), len(record.public or b""), len(record.lobby or b""))
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


_json = msgspec.json.Encoder().encode
_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NAME = re.compile(r"[a-z_]+")
_MOST_MEMBERS = 31
"""The most members of `data` for which a mask says which ones the public message has."""
_USUAL = re.compile(
    rb'\{"actor":"(?:agent-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}))?","causation":"([0-9a-f]{32})",'
    rb'"command_id":"\2","correlation":"\2",(?:"request":"([0-9a-f]{32})",)?(?:"state_hash":("[0-9a-f]{64}"),)?'
    rb'"trace":"([0-9a-f-]*)"\}'
)
_LOBBY = re.compile(
    r'\{"type":"([a-z_]+)","game_id":"([a-z0-9-]+)","gameType":"([a-z0-9]+)","phase":"([a-z_]+)","seated":([0-9]+),'
    r'"needed":([0-9]+),"at":"([0-9T:.Z-]+)","language":"([a-z]+)"\}'
)


class _NoSummary(msgspec.Struct, frozen=True):
    """The summary of a stream without one."""

    phase: None = None
    round: None = None
    seated: None = None
    needed: None = None
    over: None = None


_NO_SUMMARY = _NoSummary()


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


def arguments(units: Sequence[Unit]) -> tuple[str, ...]:
    """The arguments of `log.append` for units without a common stream. Raises UnicodeDecodeError for invalid UTF-8."""
    numbers = [number for number, unit in enumerate(units) for _ in unit.streams]
    appends = [part for unit in units for part in unit.streams]
    outcomes = [outcome for unit in units for outcome in unit.outcomes if not outcome.follows]
    return (_array(numbers), *_parts(appends), *_records(appends), *_outcomes(outcomes))


def _parts(appends: Sequence[StreamAppend]) -> Iterator[str]:
    summaries = [part.summary or _NO_SUMMARY for part in appends]
    yield _array([part.stream for part in appends])
    yield _array([part.expected for part in appends])
    yield _bytes([part.prev_hash for part in appends])
    yield _array([*accumulate([len(part.records) for part in appends], initial=1)][:-1])
    yield _array([len(part.records) > 0 and part.moves for part in appends])
    yield _array([summary.phase for summary in summaries])
    yield _array([summary.round for summary in summaries])
    yield _array([summary.seated for summary in summaries])
    yield _array([summary.needed for summary in summaries])
    yield _array([summary.over for summary in summaries])
    yield _array([part.due for part in appends])


def _records(appends: Sequence[StreamAppend]) -> Iterator[str]:
    records = [record for part in appends for record in part.records]
    origins = [_origin(record) for record in records]
    streams = [part.stream for part in appends for _ in part.records]
    yield _array([number for number, part in enumerate(appends, 1) for _ in part.records])
    yield _array([record.type for record in records])
    yield _array([record.schema_version for record in records])
    yield _documents([record.data for record in records])
    yield _documents([origin.metadata for origin in origins])
    yield _array([record.at for record in records])
    yield _bytes([record.salt for record in records])
    yield _bytes([record.hash for record in records])
    yield _json([_public(stream, record) for stream, record in zip(streams, records, strict=True)]).decode()
    yield _json([_lobby(stream, record) for stream, record in zip(streams, records, strict=True)]).decode()
    yield _array([record.closes for record in records])
    yield _array([origin.command for origin in origins])
    yield _array([record.command != "" for record in records])
    yield _array([origin.actor for origin in origins])
    yield "{" + ",".join([f'"\\\\x{origin.request}"' if origin.request else "null" for origin in origins]) + "}"
    yield _array([origin.trace for origin in origins])


class _Origin(NamedTuple):
    """The metadata of a record in columns; `metadata` is null or a state hash if the columns hold the rest."""

    metadata: bytes
    command: str | None
    actor: str | None = None
    request: str | None = None
    trace: str | None = None


def _origin(record: NewRecord) -> _Origin:
    usual = _USUAL.fullmatch(record.metadata)
    if not usual or record.command not in ("", usual[2].decode()):
        return _Origin(record.metadata, record.command or None)
    actor, command, request, hashed, trace = (part.decode() if part else None for part in usual.groups())
    return _Origin(_json(hashed), command, actor, request, trace)


def _public(stream: str, record: NewRecord) -> str | None:
    """The stored form of a public message: the text between its type and its tail, "=" for all members of `data`,
    "#MASK" for some."""
    message = record.public
    if message is None:
        return None
    head = f'{{"type":"{record.type}"'.encode()
    tail = f',"game_id":"{stream}","version":{record.version},"at":"{rfc3339(record.at)}"}}'.encode()
    middle = message[len(head) : -len(tail)]
    if message != head + middle + tail or not (middle == b"" or middle.startswith(b",")):
        return message.decode()
    if len(middle) > 1 and middle[1:] == record.data[1:-1]:
        return "="
    if middle and record.data.startswith(b"{"):
        names, stored = [*_members(b"{" + middle[1:] + b"}")], _members(record.data)
        made = b"".join([b',"%b":%b' % (name.encode(), stored.get(name, b"")) for name in names])
        if made == middle and len(stored) <= _MOST_MEMBERS and all(map(_NAME.fullmatch, stored)):
            shown = [place for place, name in enumerate(stored) if name in names]
            if [[*stored][place] for place in shown] == names:
                return f"#{sum(1 << place for place in shown):x}"
    return middle.decode()


def _lobby(stream: str, record: NewRecord) -> str | None:
    """The stored form of a lobby message: for a usual one, only what its record and stream do not imply."""
    if record.lobby is None:
        return None
    message = record.lobby.decode()
    usual = _LOBBY.fullmatch(message)
    if not usual:
        return message
    kind, of, game, phase, seated, needed, at, language = usual.groups()
    if (of, game, at) != (stream, stream.partition("-")[0], rfc3339(record.at)):
        return message
    return "".join(f",{part}" for part in (kind, phase, seated, needed, language))


def _outcomes(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield _array([outcome.stream for outcome in outcomes])
    yield _array([outcome.command_id for outcome in outcomes])
    yield _array([outcome.fingerprint for outcome in outcomes])
    yield _json([outcome.body.decode() for outcome in outcomes]).decode()


def _array(values: Sequence[object]) -> str:
    """Names, numbers, booleans, times and None as a Postgres array: written as in JSON."""
    written = _json(values)
    if b"\\" in written:
        raise ValueError("a name needs escaping")
    return "{" + written[1:-1].decode() + "}"


def _bytes(values: Sequence[str]) -> str:
    """Hex values as a Postgres array of bytea."""
    return '{"\\\\x' + '","\\\\x'.join(values) + '"}' if values else "{}"


def _documents(values: Sequence[bytes]) -> str:
    """A JSON array with every document byte for byte."""
    return "[" + b",".join(values).decode() + "]"
