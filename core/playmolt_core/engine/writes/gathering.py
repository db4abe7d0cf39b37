"""What refusals count as, until an event of their stream carries it into the log.

A refusal stores nothing, and most are followed by an event of the same phase: so a bot that is refused again and again
fills no log. What a process that ends has gathered of a phase that was not finished is lost with it.
"""

from collections import Counter, OrderedDict

from msgspec.structs import replace
from playmolt_schemas.games.game_messages import Fault

_STREAMS = 10_000


class Gathering:
    """Faults by stream; of too many streams the oldest is forgotten."""

    def __init__(self) -> None:
        self._faults: OrderedDict[str, Counter[Fault]] = OrderedDict()

    def add(self, stream: str, *faults: Fault) -> None:
        counts = self._faults.setdefault(stream, Counter())
        for fault in faults:
            counts[replace(fault, count=1)] += fault.count
        while len(self._faults) > _STREAMS:
            self._faults.popitem(last=False)

    def take(self, stream: str) -> tuple[Fault, ...]:
        """What was gathered of a stream; from now on it is the caller's."""
        counts = self._faults.pop(stream, None)
        return tuple(replace(fault, count=count) for fault, count in counts.items()) if counts else ()
