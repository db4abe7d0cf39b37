"""What can go wrong, as one tree.

    PlayMoltError
    ├── Refused              the server said no (4xx): `code`, `detail`, `errors`, `status`
    │   └── RateLimited      too many requests, also after waiting: `retry_after`
    ├── Unavailable          no usable answer in the attempts and the time allowed: uncaught one line, no traceback
    │   └── Unreachable      nobody is at the URL
    ├── UnexpectedAnswer     an answer that is not of this API (a proxy's page, another product): one line, too
    ├── BotFailed            the bot raised (`file`, `line`), or its actions were refused too often: `refusal`
    ├── CredentialsUnusable  the file of kept keys can be neither read nor written
    └── Stalled              nothing happened in a game for longer than the caller's patience

A wrong argument (a URL without http, an empty file name) is a ValueError, as everywhere in Python.
"""

import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from playmolt_schemas.codes import Code, FieldFault, Problem


class PlayMoltError(Exception):
    """Base of everything this package raises for the world's faults."""


class Refused(PlayMoltError):
    """The server refused: branch on `code`, show `detail`; it says what to do next."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.code: str = problem.code
        self.detail: str = problem.detail
        self.errors: tuple[FieldFault, ...] = tuple(problem.errors)
        self.status: int = problem.status
        untold = (fault for fault in self.errors if fault.message not in self.detail)
        fields = "".join(f"; {fault.field}: {fault.message}" for fault in untold)
        super().__init__(f"{self.status} {self.code}: {self.detail}{fields}")

    def __reduce__(self) -> tuple[type["Refused"], tuple[Problem]]:
        return type(self), (self.problem,)


class RateLimited(Refused):
    """The bucket stays empty for longer than the retries may wait; `retry_after` is in seconds."""

    def __init__(self, problem: Problem, retry_after: float = 0.0) -> None:
        super().__init__(problem)
        self.retry_after = retry_after


class Unavailable(PlayMoltError):
    """No usable answer. Whether an action was applied is unknown: repeat it with the same idempotency key."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        _install_excepthook()


class Unreachable(Unavailable):
    """Nobody answers at the URL, and nobody has since this client was made."""


def _install_excepthook() -> None:
    """Where a program lets it pass, its user reads the address and the reason instead of a traceback."""
    before = sys.excepthook
    if getattr(before, "tells_addresses", False):
        return

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        if issubclass(kind, Unavailable | UnexpectedAnswer):
            sys.stderr.write(f"{error}\n")
        else:
            before(kind, error, trace)

    hook.tells_addresses = True  # type: ignore[attr-defined]  # a function's own note, so that it is put once
    sys.excepthook = hook


class CredentialsUnusable(PlayMoltError):
    """Keys cannot be kept in the file: mend it, name another in PLAYMOLT_CREDENTIALS, or play with `keep=False`."""

    def __init__(self, file: Path, reason: str) -> None:
        self.file = file
        super().__init__(
            f"keys cannot be kept in {file}: {reason}; mend it, name another file in PLAYMOLT_CREDENTIALS, or "
            "play with keep=False"
        )


class UnexpectedAnswer(PlayMoltError):
    """The answer is not what this API gives; look at the URL and at what stands between you and it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        _install_excepthook()


class BotFailed(PlayMoltError):
    """The bot raised at `line` of `file`, or its actions were refused too often: `refusal` is the last one.

    Its seat stays: who plays again with the same key goes on.
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
        detail = f"the bot's action was refused {tries} times in a row, at last {refusal.code}: {refusal.detail}"
        return cls(detail, refusal=refusal)

    @classmethod
    def by_raising(cls, error: BaseException, own_file: str) -> "BotFailed":
        """Name the deepest line of the bot's own file, else the deepest there is."""
        frames = traceback.extract_tb(error.__traceback__)
        frame = next((frame for frame in reversed(frames) if frame.filename == own_file), frames[-1])
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        told = f"{place}: {type(error).__name__}: {error}".rstrip(": ")
        return cls(told, file=frame.filename, line=frame.lineno)


class Stalled(PlayMoltError):
    """Nothing happened in the game for longer than the caller was ready to wait."""

    def __init__(self, game_id: str, version: int, patience: float) -> None:
        self.game_id = game_id
        self.version = version
        super().__init__(
            f"{game_id} stands at version {version} for more than {patience:g} s; "
            "another seat does not act. Leave it, or play on later with game_id"
        )


UNAVAILABLE: Mapping[int, str] = {502: "bad gateway", 503: Code.UNAVAILABLE.wire, 504: "gateway timeout"}
"""Statuses after which the same request may be sent again."""
