"""The error codes of the API with their HTTP statuses, and problem documents (api.md)."""

from collections.abc import Mapping, Sequence
from enum import Enum
from http import HTTPStatus
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType


class Code(Enum):
    """An error code. The value is `(code on the wire, HTTP status)`."""

    INVALID_REQUEST = ("invalid_request", 400)
    INVALID_ACTION = ("invalid_action", 400)
    NOT_STARTED = ("not_started", 400)
    WRONG_ACTION = ("wrong_action", 400)
    WRONG_PHASE = ("wrong_phase", 400)
    SWITCH_UNAVAILABLE = ("switch_unavailable", 400)
    UNAUTHORIZED = ("unauthorized", 401)
    NOT_A_PARTICIPANT = ("not_a_participant", 403)
    OPERATOR_ONLY = ("operator_only", 403)
    LOCKED = ("locked", 403)
    LOG_NOT_FINISHED = ("not_finished", 403)
    REGISTRATION_CLOSED = ("registration_closed", 403)
    PEOPLE_CLOSED = ("people_closed", 403)
    BANNED = ("banned", 403)
    FOREIGN_ORIGIN = ("foreign_origin", 403)
    NOT_FOUND = ("not_found", 404)
    ARCHIVED = ("archived", 404)
    METHOD_NOT_ALLOWED = ("method_not_allowed", 405)
    SESSION_PHASE = ("wrong_phase", 409)
    WRONG_GATE = ("wrong_gate", 409)
    NO_ROUNDS_LEFT = ("no_rounds_left", 409)
    NO_NOTES_LEFT = ("no_notes_left", 409)
    BUSY = ("busy", 409)
    NOTHING_TO_RETRY = ("nothing_to_retry", 409)
    NOTHING_TO_REDO = ("nothing_to_redo", 409)
    NOT_STANDING = ("not_standing", 409)
    STALE_TURN = ("stale_turn", 409)
    ALREADY_SUBMITTED = ("already_submitted", 409)
    TOO_MANY_AGENTS = ("too_many_agents", 409)
    ALREADY_SEATED = ("already_seated", 409)
    ONLY_WAY = ("only_way", 409)
    ALREADY_CLAIMED = ("already_claimed", 409)
    ALREADY_STARTED = ("already_started", 409)
    ALREADY_RESIGNED = ("already_resigned", 409)
    NOTHING_TO_FORFEIT = ("nothing_to_forfeit", 409)
    NOT_RUNNING = ("not_started", 409)
    GAME_OVER = ("game_over", 409)
    NOT_FINISHED = ("not_finished", 409)
    ALREADY_JOINED = ("already_joined", 409)
    TOURNAMENT_FULL = ("tournament_full", 409)
    ONE_OWNER = ("one_owner", 409)
    TOURNAMENT_OVER = ("tournament_over", 409)
    ERASED = ("erased", 410)
    BODY_TOO_LARGE = ("body_too_large", 413)
    UNKNOWN_HOST = ("unknown_host", 421)
    UNSUPPORTED_ENCODING = ("unsupported_encoding", 415)
    UNSUPPORTED_VERSION = ("unsupported_version", 426)
    INVALID_FORM = ("invalid_form", 422)
    IDEMPOTENCY_MISMATCH = ("idempotency_mismatch", 422)
    RATE_LIMITED = ("rate_limited", 429)
    BUDGET_SPENT = ("budget_spent", 429)
    HEADERS_TOO_LARGE = ("headers_too_large", 431)
    UNSUPPORTED_CODING = ("unsupported_transfer_coding", 501)
    UNSUPPORTED_FORMAT = ("unsupported_format", 501)
    UNAVAILABLE = ("unavailable", 503)

    @property
    def wire(self) -> str:
        """The stable code for clients to branch on."""
        return self.value[0]

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.value[1]


NO_GAME: Final = "This game does not exist. List games with GET /api/games."
"""The detail of NOT_FOUND for a game; also for a private game if the caller has neither its invite nor a seat."""
ARCHIVED: Final = (
    "This game is over and was archived: its operator has its log in a file. Its result still counts. "
    "`playmolt replay` with its id names the file, and replays it with --log."
)
"""The detail of `Code.ARCHIVED`."""
NO_SESSION: Final = "You have no session with this id. To list your sessions, send GET to the path without the id."
"""The detail of NOT_FOUND for a session; the same whether it does not exist or belongs to somebody else."""
MISMATCH: Final = "This Idempotency-Key was already used with a different body. Use a new key for a new request."
"""The detail of IDEMPOTENCY_MISMATCH."""


class FieldMessage(msgspec.Struct, frozen=True):
    """An invalid field and what is wrong with it."""

    field: str
    message: str


class FieldFault(FieldMessage, frozen=True, kw_only=True):
    """An invalid field and what is wrong with it; for programs, `reason` is a word where several faults are usual.

    A fault in a file has a `line`, null if it was sent in another form, and a `code`.
    """

    reason: str | UnsetType = UNSET
    line: int | UnsetType | None = UNSET
    code: str | UnsetType = UNSET


class RateLimit(msgspec.Struct, frozen=True):
    """The exhausted rate limit: its key, its size, and the seconds until it is full again."""

    key: str
    limit: int
    seconds: float


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An RFC 9457 problem document. `detail` describes the problem and what to do next."""

    title: str
    status: int
    code: str
    detail: str
    type: str = "about:blank"
    errors: Sequence[FieldFault] = ()
    ratelimit: RateLimit | None = None
    game_id: str = ""
    """The game in which you already have a seat, or the one of your invite, which has started."""
    until: str | UnsetType | None = UNSET
    """When a ban ends; null: never."""


def problem(
    code: Code,
    detail: str,
    errors: Sequence[FieldFault] = (),
    ratelimit: RateLimit | None = None,
    game_id: str = "",
    until: str | UnsetType | None = UNSET,
) -> Problem:
    """Build the problem document of a refusal."""
    return Problem(
        title=HTTPStatus(code.status).phrase,
        status=code.status,
        code=code.wire,
        detail=detail,
        errors=errors,
        ratelimit=ratelimit,
        game_id=game_id,
        until=until,
    )


def faults(fields: Mapping[str, str]) -> tuple[FieldFault, ...]:
    """Convert `{field: message}` to the list in a problem document."""
    return tuple(FieldFault(field, message) for field, message in fields.items())


def problem_bytes(code: Code, detail: str, errors: Sequence[FieldFault] = (), **extra: Any) -> bytes:
    """Encode the problem document of a refusal, including its default `type`."""
    document: dict[str, Any] = {"type": "about:blank"}
    document |= msgspec.to_builtins(problem(code, detail, errors, **extra))
    return msgspec.json.encode(document)


_PROBLEM: Final = msgspec.json.Decoder(Problem)


def code_in(body: bytes) -> str:
    """The code in an encoded problem document; "" for another body."""
    try:
        return _PROBLEM.decode(body).code
    except msgspec.DecodeError:
        return ""
