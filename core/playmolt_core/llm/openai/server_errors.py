"""Reads errors from the body of an error response or of a 200."""

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Final

import msgspec

from playmolt_core.llm.openai.answer_body import document_of
from playmolt_core.llm.openai.content_filters import is_filter
from playmolt_core.llm.openai.storing import json_text, storable
from playmolt_core.llm.port import NO_QUOTA, PROMPT_TOO_LONG, AttemptOutcome

_WORD_CHARS: Final = 500
_CODES: Final = ("code", "status", "status_code", "http_status", "http_code", "error_code", "statusCode", "type")
_REJECTED: Final = frozenset({"401", "402", "403", PROMPT_TOO_LONG})
_TOO_LONG: Final = re.compile(
    r"exceed_context|context[_ ](?:length|size|window)|maximum context|max_model_len|maximum model length"
    r"|(?:prompt|input|request) (?:is|was) too long|too many (?:input |prompt )?tokens|input length .* exceeds"
    r"|reduce the length of the (?:messages|prompt|input)|token count .* exceeds"
)
"""How servers say that a prompt does not fit."""
_UNREAD: Final = re.compile(r"pars(?:e|ing)\b|unmarshal|does not match the expected|unexpected end of json")
_OF_REQUEST: Final = re.compile(r"\b(?:request|messages?|grammar|template|schema|body|prompt)\b")
"""What a server failed to parse of the request."""
_KEY_WORDS: Final = ("invalid_api_key", "authentication", "unauthorized", "permission_denied", "forbidden")
_CREDIT_WORDS: Final = ("payment_required", "insufficient_credit", "insufficient_balance", "insufficient balance")
_BUSY_WORDS: Final = ("rate_limit", "ratelimit", "too_many_requests", "resource_exhausted")
_FINE: Final = (None, "", 0, "0", 200, "200", False)
"""Codes with which some servers report success in the error field."""


class ServerError(msgspec.Struct, frozen=True):
    """`code` is a status as text if there is one, else the server's own code, else ""; `message` is the text."""

    code: str = ""
    message: str = ""
    param: str = ""
    prompt_tokens: int | None = None
    context_tokens: int | None = None
    filtered: bool = False
    """Whether a content filter refused the request or its reply."""

    @property
    def full_message(self) -> str:
        """The server's own words, with its figures of a prompt that is too long."""
        if self.code != PROMPT_TOO_LONG:
            return self.message
        figures = ""
        if self.prompt_tokens and self.context_tokens:
            figures = f" ({self.prompt_tokens} tokens, of {self.context_tokens} that fit)"
        return f"the prompt is too long for the model{figures}: {self.message}"

    @property
    def unread(self) -> bool:
        """Whether the server failed to read what the model wrote, and not the request."""
        words = self.message.lower()
        return bool(_UNREAD.search(words)) and not _OF_REQUEST.search(words.partition(":")[0])

    @property
    def words(self) -> str:
        return f"{self.message} {self.param} {self.code}".lower()

    @property
    def outcome(self) -> AttemptOutcome:
        """The outcome of a request whose error came with a 200."""
        if self.filtered:
            return "refusal"
        if self.code in _REJECTED:
            return "rejected"
        return "rate_limited" if self.code in ("429", NO_QUOTA) else "server_error"


def error_of(body: bytes) -> ServerError:
    """The error in a body."""
    try:
        document = document_of(body)
    except (ValueError, RecursionError):
        return ServerError(message=storable(body[:_WORD_CHARS].decode(errors="replace")))
    if isinstance(document, list):
        document = next((each for each in document if isinstance(each, dict)), {})
    if not isinstance(document, dict):
        return ServerError()
    return read_error(document.get("error") or document)


def error_in(document: Mapping[str, object], choice: Mapping[str, object] | None) -> ServerError | None:
    """The error in a 200 body, if any: beside the choices, in one of them, or instead of them."""
    for error in (document.get("error"), choice and choice.get("error")):
        if _is_error(error, readable=bool(choice)):
            return read_error(error)
    if choice is None:
        found = read_error(document)
        return found if found.message else msgspec.structs.replace(found, message="the answer has no choices")
    if str(choice.get("finish_reason")).lower() == "error":
        return ServerError(message="the server ended the reply with an error")
    return None


def read_error(error: object) -> ServerError:
    """Read an error in any of the usual forms."""
    if isinstance(error, str) and error.lstrip().startswith("{"):
        with suppress(ValueError, RecursionError):
            error = json.loads(error)
    if not isinstance(error, Mapping):
        return ServerError(message=_word(error))
    message = next((_word(error[name]) for name in ("message", "msg", "detail") if error.get(name)), "")
    inner = error.get("error")
    if not message and isinstance(inner, Mapping):
        return read_error(inner)
    message = _in_full(message, error.get("metadata"))
    codes = [_word(error.get(name)) for name in _CODES]
    code = _code([code for code in codes if code], message)
    if code != NO_QUOTA and _TOO_LONG.search(" ".join((*codes, message)).lower()):
        code = PROMPT_TOO_LONG
    return ServerError(
        code,
        message,
        _word(error.get("param")),
        _count(error, ("n_prompt_tokens", "prompt_tokens")),
        _count(error, ("n_ctx", "max_context", "context_length")),
        filtered=is_filter([*codes, *_inner_codes(error)], message),
    )


def _inner_codes(error: Mapping[str, object]) -> list[str]:
    """The codes of an error inside this one, as Azure's `innererror` and Gemini's `blockReason`."""
    inner = [each for name in ("innererror", "inner_error", "metadata") if isinstance(each := error.get(name), Mapping)]
    return [_word(each.get("code")) for each in inner] + [_word(error.get("blockReason") or error.get("block_reason"))]


def _count(error: Mapping[str, object], names: tuple[str, ...]) -> int | None:
    return next((value for name in names if isinstance(value := error.get(name), int)), None)


def _in_full(message: str, metadata: object) -> str:
    """The message of a router, with the name and the message of the server behind it."""
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return storable(f"{message}: {_word(raw)}") if raw else message


def _is_error(error: object, *, readable: bool) -> bool:
    if not isinstance(error, Mapping):
        return bool(error)
    return any(value not in _FINE for value in error.values()) and not (
        readable and "code" in error and error["code"] in _FINE
    )


def _code(codes: list[str], message: str) -> str:
    words = " ".join((*codes, message)).lower()
    if NO_QUOTA in words:
        return NO_QUOTA
    number = next((code for code in codes if code.isdecimal() and len(code) == 3), None)
    if number is not None:
        return number
    named = " ".join(codes).lower()
    for status, known in (("402", _CREDIT_WORDS), ("401", _KEY_WORDS), ("429", _BUSY_WORDS)):
        if any(word in named for word in known):
            return status
    return codes[0] if codes else ""


def _word(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if value is None or isinstance(value, bool):
        return ""
    text = value if isinstance(value, str) else str(value) if isinstance(value, int | float) else json_text(value)
    return storable(text[:_WORD_CHARS])
