"""Slots for work that anyone may request: few at once, shared fairly among callers."""

import asyncio
from asyncio import Future
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

from msgspec import Struct
from playmolt_schemas.routes.route import Load

WAITING: Final = 2_000
"""The maximum of requests that wait for one kind of slot in this process."""
WAITING_EACH: Final = 256
"""The same for one caller."""


class SlotsBusy(ConnectionError):
    """No slot became free in time, or too many requests already wait for one."""


class Capacity(Struct, frozen=True):
    """How many run at once in this process, in all and for one caller."""

    total: int
    each: int
    seconds: float = 8.0
    """How long a request waits for a slot before it is refused."""


CAPACITIES: Final[Mapping[Load, Capacity]] = {
    Load.READ: Capacity(16, 4),
    Load.SEARCH: Capacity(2, 1),
    Load.DRAWING: Capacity(4, 2, 30.0),
    Load.REPLAY: Capacity(1, 1, 30.0),
}
"""Slots by load. A caller with many requests at once takes turns with all others, so it delays mostly itself."""

LONG_BODIES: Final = Capacity(4, 2, 30.0)
"""Requests whose body is longer than usual, by address: each is in memory several times while it is answered."""


class FairSlots:
    """A number of slots. Callers that wait are served in turn, one request each, not in the order of requests."""

    def __init__(self, capacity: Capacity, waiting: int = WAITING, waiting_each: int = WAITING_EACH) -> None:
        self._capacity = capacity
        self._most_waiting = waiting
        self._most_waiting_each = waiting_each
        self._busy: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[Future[None]]] = OrderedDict()
        self._waiting = 0

    def __len__(self) -> int:
        """The requests that hold a slot."""
        return self._busy.total()

    @asynccontextmanager
    async def slot(self, caller: str, seconds: float) -> AsyncIterator[None]:
        """Hold a slot for a block; waits at most `seconds` for it. Raises SlotsBusy."""
        await self._take(caller, seconds)
        try:
            yield
        finally:
            self._free(caller)

    async def _take(self, caller: str, seconds: float) -> None:
        queue = self._queues.get(caller)
        if queue is None and self._has_room(caller):
            self._busy[caller] += 1
            return
        if self._waiting >= self._most_waiting or (queue is not None and len(queue) >= self._most_waiting_each):
            raise SlotsBusy("too many requests of this kind wait")
        turn: Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(caller, deque()).append(turn)
        self._waiting += 1
        try:
            async with asyncio.timeout(seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled():  # The slot was given at the same moment.
                self._free(caller)
            else:
                self._leave(caller, turn)
                self._serve()
            if isinstance(error, TimeoutError):
                raise SlotsBusy("no slot became free in time") from None
            raise

    def _free(self, caller: str) -> None:
        self._busy[caller] -= 1
        if not self._busy[caller]:
            del self._busy[caller]
        self._serve()

    def _leave(self, caller: str, turn: "Future[None]") -> None:
        queue = self._queues[caller]
        queue.remove(turn)
        self._waiting -= 1
        if not queue:
            del self._queues[caller]

    def _has_room(self, caller: str) -> bool:
        return len(self) < self._capacity.total and self._busy[caller] < self._capacity.each

    def _serve(self) -> None:
        """Give the free slots to waiting callers in turn."""
        for caller in tuple(self._queues):
            if len(self) >= self._capacity.total:
                return
            turn = self._queues[caller][0]
            if self._busy[caller] < self._capacity.each and not turn.cancelled():
                self._leave(caller, turn)
                if caller in self._queues:
                    self._queues.move_to_end(caller)
                self._busy[caller] += 1
                turn.set_result(None)
