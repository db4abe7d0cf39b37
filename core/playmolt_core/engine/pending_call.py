"""A call under way inside an engine."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec
from playmolt_schemas.codes import Code, FieldFault, problem_bytes
from playmolt_schemas.envelopes import Answer, Call

from playmolt_core.game.decider import Accepted, Command, Refused

Respond = Callable[[Answer], None]


class PendingCall(msgspec.Struct, eq=False):
    """A call and the way to answer it, once."""

    call: Call
    respond: Respond
    command: Command | None = None
    tries: int = 0
    afresh: bool = False
    """Decide it again although its outcome is remembered: it came to nothing."""
    archived: frozenset[str] = frozenset()
    """Streams it asked for that are over and no longer in the log."""

    def answer(self, status: int, body: bytes, content_type: str = "", total: int = 0) -> None:
        """Send the answer."""
        self.respond(Answer(self.call.id, status, body, content_type, total))

    def refuse(self, code: Code, detail: str, errors: Sequence[FieldFault] = ()) -> None:
        """Send a refusal."""
        self.answer(code.status, problem_bytes(code, detail, errors))


class Submission(PendingCall):
    """A worker's command on its way: its outcome is a value, `outcome`."""

    outcome: asyncio.Future[Accepted | Refused] | None = None

    def answer(self, *_: object) -> None:
        """Tell that the command was taken: a refusal comes as `refuse`."""
        self._settle(Accepted())

    def refuse(self, code: Code, detail: str, errors: Sequence[FieldFault] = ()) -> None:
        """Tell why it was not."""
        self._settle(Refused(code, detail, tuple(errors)))

    def _settle(self, outcome: Accepted | Refused) -> None:
        if self.outcome is not None and not self.outcome.done():
            self.outcome.set_result(outcome)


BUSY = "The engine is busy or its database is away; nothing is lost. Repeat the request with the same Idempotency-Key."

ARCHIVED_GAME = "This game is over and was archived: its states and events are no longer served here."


def refuse_busy(work: PendingCall) -> None:
    """Answer that the call could not be finished now."""
    work.refuse(Code.UNAVAILABLE, BUSY)
