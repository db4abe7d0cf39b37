"""What can go wrong, as one tree.

    PlayMoltError
    ├── Refused              the server said no (4xx): `code`, `detail`, `errors`, `status`
    │   └── RateLimited      too many requests, also after waiting: `retry_after`
    ├── Unavailable          no usable answer in the attempts and the time allowed
    ├── UnexpectedAnswer     an answer that is not of this API (a proxy's page, another product)
    ├── BotFailed            the bot's actions were refused until its tries ran out: `refusal`
    └── Stalled              nothing happened in a game for longer than the caller's patience

A wrong argument (a URL without http, an empty file name) is a ValueError, as everywhere in Python.
"""

from collections.abc import Mapping

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


class UnexpectedAnswer(PlayMoltError):
    """The answer is not what this API gives; look at the URL and at what stands between you and it."""


class BotFailed(PlayMoltError):
    """The bot's actions were refused `tries` times in a row; `refusal` is the last refusal."""

    def __init__(self, refusal: Problem, tries: int) -> None:
        self.refusal = refusal
        super().__init__(
            f"the bot's action was refused {tries} times in a row, at last {refusal.code}: {refusal.detail}"
        )


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
