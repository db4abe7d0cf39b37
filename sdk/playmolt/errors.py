"""The exceptions of this package, as a tree.

    PlayMoltError
    ├── Refused              the server refused the request (4xx): `code`, `detail`, `errors`, `status`
    │   └── RateLimited      still rate limited after retries: `retry_after`
    ├── Unavailable          no usable answer within the retry limits; uncaught, it prints one line, no traceback
    │   └── Unreachable      no server responds at the URL
    ├── UnexpectedAnswer     a response not from this API (a proxy's page, another product); also prints one line
    ├── BotFailed            the bot raised an exception (`file`, `line`), or too many refused actions: `refusal`
    ├── CredentialsUnusable  the key file cannot be read or written
    └── Stalled              no progress in a game within the caller's `patience`

An invalid argument, such as a URL without http, raises ValueError.
"""

import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from playmolt_schemas.codes import Code, FieldFault, Problem


class PlayMoltError(Exception):
    """Base class of this package's exceptions."""


class Refused(PlayMoltError):
    """The server refused the request. Branch on `code`; show `detail`, which says what to do next."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.code: str = problem.code
        self.detail: str = problem.detail
        self.errors: tuple[FieldFault, ...] = tuple(problem.errors)
        self.status: int = problem.status
        unmentioned = (fault for fault in self.errors if fault.message not in self.detail)
        fields = "".join(f"; {fault.field}: {fault.message}" for fault in unmentioned)
        super().__init__(f"{self.status} {self.code}: {self.detail}{fields}")

    def __reduce__(self) -> tuple[type["Refused"], tuple[Problem]]:
        return type(self), (self.problem,)


class RateLimited(Refused):
    """The rate limit lasts longer than the retries may wait; `retry_after` is in seconds."""

    def __init__(self, problem: Problem, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.retry_after = retry_after


class Unavailable(PlayMoltError):
    """No usable answer. It is unknown whether an action was applied: repeat it with the same idempotency key."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        _install_excepthook()


class Unreachable(Unavailable):
    """No server has answered at the URL since this client was created."""


def _install_excepthook() -> None:
    """Print uncaught connection errors as one line with address and reason, instead of a traceback."""
    before = sys.excepthook
    if getattr(before, "playmolt_one_line", False):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, Unavailable | UnexpectedAnswer):
            sys.stderr.write(f"{error}\n")
        else:
            before(kind, error, trace)

    hook.playmolt_one_line = True  # type: ignore[attr-defined]  # marks the hook, so that it is installed once
    sys.excepthook = hook


class CredentialsUnusable(PlayMoltError):
    """Keys cannot be stored in the file. Fix it, set another in PLAYMOLT_CREDENTIALS, or use `keep=False`."""

    def __init__(self, file: Path, reason: str) -> None:
        self.file = file
        super().__init__(
            f"Cannot store keys in {file}: {reason}. Fix the file, set another one in PLAYMOLT_CREDENTIALS, or "
            "use keep=False."
        )


class UnexpectedAnswer(PlayMoltError):
    """The response is not from this API. Check the URL and any proxy in between."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        _install_excepthook()


class BotFailed(PlayMoltError):
    """The bot raised an exception at `line` of `file`, or too many of its actions were refused (`refusal`: the last).

    The agent keeps its seat: play again with the same key to continue.
    """

    def __init__(
        self, message: str, *, refusal: Problem | None = None, file: str | None = None, line: int | None = None
    ) -> None:
        self.refusal = refusal
        self.file = file
        self.line = line
        super().__init__(message)

    @classmethod
    def by_refusals(cls, refusal: Problem, tries: int) -> "BotFailed":
        detail = f"the bot's action was refused {tries} times in a row; last refusal: {refusal.code}: {refusal.detail}"
        return cls(detail, refusal=refusal)

    @classmethod
    def by_raising(cls, error: BaseException, own_file: str) -> "BotFailed":
        """Report the innermost line in the bot's own file, else the innermost line."""
        frames = traceback.extract_tb(error.__traceback__)
        frame = next((frame for frame in reversed(frames) if frame.filename == own_file), frames[-1])
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        message = f"{place}: {type(error).__name__}: {error}".rstrip(": ")
        return cls(message, file=frame.filename, line=frame.lineno)


class Stalled(PlayMoltError):
    """The game made no progress within the caller's `patience`."""

    def __init__(self, game_id: str, version: int, patience: float) -> None:
        self.game_id = game_id
        self.version = version
        super().__init__(
            f"{game_id} has been at version {version} for more than {patience:g} s because another seat does not act. "
            "Leave the game, or continue it later with game_id."
        )


UNAVAILABLE: Mapping[int, str] = {502: "bad gateway", 503: Code.UNAVAILABLE.wire, 504: "gateway timeout"}
"""Statuses after which the same request may be retried."""
