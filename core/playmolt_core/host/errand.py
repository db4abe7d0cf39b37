"""A wish in a worker's hands."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable

import msgspec
from playmolt_schemas.envelopes import Answer, Call

from playmolt_core.decider import Command, Wish
from playmolt_core.host.entry import Snapshot
from playmolt_core.host.freshness import Freshness
from playmolt_core.host.work import Work
from playmolt_core.host.writes import Writes
from playmolt_core.log.port import LogUnavailable


class _Problem(msgspec.Struct):
    detail: str = ""


def command_of_wish(wish_id: str, step: str = "") -> str:
    """Give the command id in which a wish, or a step on the way to it, ends.

    It is the same on every replica, so that a second answer is a duplicate.
    """
    return hashlib.sha256(f"wish/{wish_id}{'/' if step else ''}{step}".encode()).hexdigest()[:32]


class Wishless(Exception):
    """The rules did not take a worker's command; `status` and `detail` are those of the refusal."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status = status
        self.detail = detail


class Errand:
    """A wish that this worker alone fulfils now. `attempt` is 1 plus the workers that were lost with it.

    `snapshot` is the stream as read under the lease.
    """

    def __init__(
        self,
        stream: str,
        wish: Wish,
        snapshot: Snapshot | None,
        attempt: int,
        writes: Writes,
        fresh: Freshness,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self.stream = stream
        self.wish = wish
        self.attempt = attempt
        self._snapshot = snapshot
        self._writes = writes
        self._fresh = fresh
        self._stopping = stopping

    @property
    def snapshot(self) -> Snapshot:
        """The stream as it was when the wish was taken up."""
        if self._snapshot is None:
            raise RuntimeError("a deadline has no worker")
        return self._snapshot

    @property
    def stopping(self) -> bool:
        """Whether this process ends: take up nothing more under this lease."""
        return self._stopping()

    async def present(self) -> Snapshot:
        """Give the stream as committed now. Raises LogUnavailable."""
        snapshot = self._fresh.present(self.stream) or await self._fresh.snapshot(self.stream)
        if snapshot is None:
            raise RuntimeError("a stream with a wish does not vanish")
        return snapshot

    async def tell(
        self, command: Command, step: str = "", *, wish: Wish | None = None, to: tuple[Writes, str] | None = None
    ) -> None:
        """Commit a command; without `step` it is the one that the wish ends in. The same step commits once.

        `wish` is one that follows under the same lease, `to` names another stream and the writes of its engine. Raises
        Wishless when the rules refuse it, and LogUnavailable when the log is away: whether it was stored is unknown.
        """
        writes, stream = to or (self._writes, self.stream)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()

        def respond(answer: Answer) -> None:
            if not future.done():
                future.set_result(answer)

        call = Call(0, "wish", stream, command_id=command_of_wish((wish or self.wish).id, step))
        writes.take(Work(call, respond, command))
        answer = await future
        if answer.status == 503:
            raise LogUnavailable("the engine is busy or its log is away")
        if answer.status >= 300:
            raise Wishless(answer.status, msgspec.json.decode(answer.body, type=_Problem).detail)


Worker = Callable[[Errand], Awaitable[None]]
"""Fulfils a wish by telling its stream the command that the wish ends in. It bounds its own waits. What it raises is
logged, and the wish taken up again later."""
