"""The request forms that a server supports: the best form first, a simpler one after a refusal."""

import re
from typing import Final

import msgspec

from playmolt_core.llm.openai.portable_schema import BOUNDS
from playmolt_core.llm.openai.request_body import DECODINGS, Form, constrained, offered_tools, spelt
from playmolt_core.llm.openai.server_errors import error_of
from playmolt_core.llm.openai.tool_text import demands_tool
from playmolt_core.llm.port import CONTENT_FILTER, PROMPT_TOO_LONG, REPLY_UNREAD, Attempt, ModelRequest

_REJECTS_PARAMETER: Final = frozenset({400, 415, 422})
_ROLE = re.compile(r"\broles?\b")
_STREAM = re.compile(r"\bstream(ing|_options)?\b")
_SEED = re.compile(r"\bseed\b")
_NOT_THE_FORM: Final = ("model_not_found",)
_BOUND_WORDS: Final = tuple(word.lower() for word in BOUNDS if word != "format")
"""What a strict service names if it refuses a schema for its bounds."""
_FORMAT_WORDS: Final = ("response_format", "json_schema", "json_object", "schema", "grammar", "structured")


def first_form(request: ModelRequest, known: Form) -> Form:
    """The best form that the server is not known to reject; a requested decoding is kept."""
    if request.decoding != "best":
        return msgspec.structs.replace(known, decoding=request.decoding)
    if known.tools == "native" and offered_tools(request):
        # With a schema and tools together, many servers never call a tool.
        return msgspec.structs.replace(known, decoding="prompt")
    return known


def other_form(request: ModelRequest, form: Form, attempt: Attempt, known: Form) -> Form | None:
    """The next form to try after this attempt; None if there is none or none is needed.

    Each form is simpler than the previous one, so there are at most nine.
    """
    text_tools = None
    if form.tools == "native" and offered_tools(request):
        decoding = known.decoding if request.decoding == "best" else request.decoding
        text_tools = msgspec.structs.replace(form, tools="text", decoding=decoding)
    if attempt.outcome in ("ok", "empty"):
        return text_tools if demands_tool(request) and not attempt.tool_calls else None
    if attempt.code == REPLY_UNREAD:
        constrains = request.decoding == "best" and constrained(request, form)
        return _next_decoding(form) if constrains else text_tools
    if attempt.code in (PROMPT_TOO_LONG, CONTENT_FILTER) or attempt.outcome != "rejected":
        return None
    if attempt.status not in _REJECTS_PARAMETER:
        return None
    error = error_of(attempt.reply.encode())
    words = error.words
    named = _without_what_is_named(request, form, words)
    if named or any(word in words for word in _NOT_THE_FORM):
        return named
    plainer = _plainer(request, form, error.param, words)
    return plainer or (text_tools if not error.param or "tool" in words else None)


def _without_what_is_named(request: ModelRequest, form: Form, words: str) -> Form | None:
    """The form without the feature that the server rejects by name; None if it names none."""
    if form.system == "system" and _ROLE.search(words) and any(each.role == "system" for each in request.messages):
        return msgspec.structs.replace(form, system="user")
    if form.stream and request.streamable and _STREAM.search(words):
        return msgspec.structs.replace(form, stream=False)
    if form.limit == "max_tokens" and "max_completion_tokens" in words:
        return msgspec.structs.replace(form, limit="max_completion_tokens")
    if form.seed and request.seed_is_optional and _SEED.search(words):
        return msgspec.structs.replace(form, seed=False)
    return None


def _plainer(request: ModelRequest, form: Form, parameter: str, words: str) -> Form | None:
    if request.decoding != "best" or not constrained(request, form):
        return None
    if form.bounds and form.decoding == "json_schema" and any(word in words for word in _BOUND_WORDS):
        return msgspec.structs.replace(form, bounds=False)
    if parameter and not any(word in words for word in _FORMAT_WORDS):
        return None
    return _next_decoding(form)


def _next_decoding(form: Form) -> Form:
    return msgspec.structs.replace(form, decoding=DECODINGS[DECODINGS.index(form.decoding) + 1])


def learned(request: ModelRequest, form: Form, attempt: Attempt, known: Form) -> Form:
    """What is known of the server after a reply in this form; a refusal alone shows nothing."""
    if attempt.outcome != "ok":
        return known
    known = msgspec.structs.replace(
        known, limit=form.limit, system=form.system, stream=form.stream, bounds=form.bounds, seed=form.seed
    )
    if form.tools == "text" and (attempt.tool_calls or not demands_tool(request)):
        known = msgspec.structs.replace(known, tools="text")
    bound = request.schema is not None if not offered_tools(request) else spelt(request, form)
    return msgspec.structs.replace(known, decoding=form.decoding) if request.decoding == "best" and bound else known
