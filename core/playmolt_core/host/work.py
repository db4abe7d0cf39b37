"""A call under way inside an engine."""

from collections.abc import Callable, Sequence

import msgspec
from playmolt_schemas.codes import Code, FieldFault, problem_bytes
from playmolt_schemas.envelopes import Answer, Call

from playmolt_core.decider import Command

Respond = Callable[[Answer], None]


class Work(msgspec.Struct, eq=False):
    """A call and the way to answer it, once. A wish brings its command with it."""

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


BUSY = "The engine is busy or its database is away; nothing is lost. Repeat the request with the same Idempotency-Key."

ARCHIVED_GAME = "This game is over and was archived: its states and events are no longer served here."


def refuse_busy(work: Work) -> None:
    """Answer that the call could not be finished now."""
    work.refuse(Code.UNAVAILABLE, BUSY)
