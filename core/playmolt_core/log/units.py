"""What every event log refuses before it stores anything."""

import re
from collections.abc import Sequence

from playmolt_schemas.limits import RECORD_BYTES

from playmolt_core.log.port import RecordTooLarge, StreamAppend, Unit

_STREAM = re.compile(r"[a-z][a-z0-9]{0,15}-[a-z0-9-]{1,64}")


def check(units: Sequence[Unit]) -> None:
    """Raise RecordTooLarge for a record that is over the limit, ValueError for a unit that makes no sense.

    The limit holds for data and metadata together, and for each message that goes out with the record: all of them
    have to fit into a NATS message.
    """
    for unit in units:
        streams: set[str] = set()
        for part in unit.streams:
            streams.add(part.stream)
            if part.expected == 0 and not _STREAM.fullmatch(part.stream):
                raise ValueError(f"{part.stream!r} is no stream name: it is <type>-<id> in lower case")
            for record in part.records:
                size = max(len(record.data) + len(record.metadata), len(record.public or b""), len(record.lobby or b""))
                if size > RECORD_BYTES:
                    raise RecordTooLarge(
                        f"{part.stream} version {record.version} ({record.type}) has {size} bytes; "
                        f"a record holds {RECORD_BYTES}: store less in it"
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
