"""Classifies the answer to a request as its reply."""

import unicodedata
from typing import Final, NamedTuple

from msgspec.structs import replace

from playmolt_core.llm.openai.completion import FILTERED, Completion, empty_detail, named, read_completion, read_usage
from playmolt_core.llm.openai.connection import HttpResult
from playmolt_core.llm.openai.request_body import Form, offered_tools, spelt
from playmolt_core.llm.openai.server_errors import error_of
from playmolt_core.llm.openai.spelt_calls import read_spelt
from playmolt_core.llm.openai.storing import storable
from playmolt_core.llm.openai.tool_text import read_tool_text
from playmolt_core.llm.parsing import Unparsed, parse_object
from playmolt_core.llm.port import CONTENT_FILTER, NO_QUOTA, PROMPT_TOO_LONG, REPLY_UNREAD, ModelRequest, ToolCall

_SERVER_ERRORS: Final = 500
_NO_FILTER: Final = frozenset({401, 402, 429})
"""Statuses that always speak of key, credit or capacity."""
_ENDS: Final = frozenset(".!?…。！？｡．‼⁇⁈⁉؟।")
_BEHIND: Final = frozenset("\"'*_`~")
_BEHIND_CATEGORIES: Final = frozenset({"Pe", "Pf", "Pi", "So", "Sk", "Mn", "Cf"})
"""Characters that may follow the end of a sentence: closing quotes and brackets, emphasis, emoji."""


def ends_a_sentence(words: str) -> bool:
    end = len(words)
    while end and (words[end - 1].isspace() or _may_follow(words[end - 1])):
        end -= 1
    return end > 0 and words[end - 1] in _ENDS


def _may_follow(char: str) -> bool:
    return char in _BEHIND or unicodedata.category(char) in _BEHIND_CATEGORIES


class ReplyContent(NamedTuple):
    """The words and the tool calls of a reply."""

    words: str
    calls: tuple[ToolCall, ...] = ()


def judged(result: HttpResult, request: ModelRequest, form: Form, limit: str = "`max_tokens`") -> Completion:
    """As the reply to this request. `limit` names what bounds its tokens."""
    if result.fault is not None:
        return _fault(result)
    said = read_completion(result.body)
    if said.outcome not in ("ok", "empty"):
        return said
    native = said.tool_calls if offered_tools(request) else ()  # a call without offered tools is not a reply
    content = ReplyContent(said.text, native) if native else content_in(said.text, request, form)
    said = replace(said, tool_calls=content.calls)
    if said.cut and _is_half(content, request):
        return replace(said, outcome="cut", detail=_cut_detail(said, request, limit))
    if not content.calls and not content.words.strip():
        detail = "the reply calls a tool: answer in words" if said.text.strip() else empty_detail(said.reasoning_fields)
        return replace(said, outcome="empty", detail=detail)
    return said


def content_in(text: str, request: ModelRequest, form: Form) -> ReplyContent:
    """The content of a reply in words, without tool calls that are written in it."""
    if not request.tools:
        return ReplyContent(text)
    words = text
    if spelt(request, form):
        words, calls = read_tool_text(request, text)
        if calls:
            return ReplyContent(words, calls)
    found = read_spelt(text, {tool.name for tool in request.tools})
    if not found.spelt:
        return ReplyContent(words)
    first = 1 + sum(len(message.tool_calls) for message in request.messages)
    made = [ToolCall(f"call_{number}", *call) for number, call in enumerate(found.calls, first)]
    return ReplyContent(found.text, tuple(made) if offered_tools(request) else ())


def _fault(result: HttpResult) -> Completion:
    text, detail, code = storable(result.body.decode(errors="replace")), result.detail, ""
    if result.status is not None and result.status >= 400:
        error = error_of(result.body)
        if error.code == PROMPT_TOO_LONG:
            return Completion(outcome="rejected", detail=storable(error.full_message), text=text, code=PROMPT_TOO_LONG)
        usage = read_usage(result.body)
        if error.filtered and result.status not in _NO_FILTER:
            detail = storable(f"{FILTERED} ({detail}: {error.message})")
            return Completion(outcome="refusal", detail=detail, text=text, code=CONTENT_FILTER, usage=usage)
        if result.status >= _SERVER_ERRORS and (error.unread or (usage and usage.completion_tokens)):
            detail = f"{detail} after the model had written a reply, which it could not read: {error.message}"
            return Completion(outcome="malformed", detail=storable(detail), text=text, code=REPLY_UNREAD, usage=usage)
        detail = f"{detail}: {error.message}" if error.message else detail
        code = NO_QUOTA if error.code == NO_QUOTA else str(result.status)
    return Completion(outcome=result.fault or "connection", detail=storable(detail), text=text, code=code)


def _is_half(content: ReplyContent, request: ModelRequest) -> bool:
    """Whether a reply that reached its limit is empty, an incomplete object or, if `prose` is requested, an incomplete
    sentence."""
    if content.calls:
        return any(isinstance(parse_object(call.arguments or "{}"), Unparsed) for call in content.calls)
    words = content.words.strip()
    is_object = request.schema is not None or words.startswith(("{", "`" * 3))
    if is_object:
        return isinstance(parse_object(words), Unparsed)
    return not words or (request.prose and not ends_a_sentence(words))


def _cut_detail(said: Completion, request: ModelRequest, limit: str) -> str:
    """Speaks of thinking where there was some, or where nothing else can have taken the tokens."""
    counted = said.usage.reasoning_tokens if said.usage else None
    off = ", or turn its thinking off" if said.reasoning or counted or not said.text.strip() else ""
    kept = f"; what it thought is kept as its reasoning (in {named(said.reasoning_fields)})" if said.reasoning else ""
    return f"the model spent its {request.max_tokens} tokens before it answered: raise {limit}{off}{kept}"
