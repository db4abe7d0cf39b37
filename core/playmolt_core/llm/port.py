"""The port for language models. `OpenAIModel` calls servers, `ScriptedModel` needs no network.

Stored values contain no floats (canonical JSON): money and sampling are decimal strings, times are milliseconds.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

REPLY_BYTES: Final = 64 * 1024
"""The maximum size of a reply including tool calls, in UTF-8; a longer reply is refused."""
TURN_HEADER: Final = "X-PlayMolt-Turn"

PROMPT_CUT: Final = "prompt_cut"
"""Warning: a server counted too few tokens in two prompts in a row."""

Decoding = Literal["prompt", "json_object", "json_schema"]
"""How a server is made to answer in JSON: by the prompt, by its JSON mode, or by the schema."""
DecodingChoice = Literal["prompt", "json_object", "json_schema", "best"]
"""`best` uses what the server supports; the others are sent unchanged, and fail if the server rejects them."""
AttemptOutcome = Literal[
    "ok",
    "rate_limited",
    "server_error",
    "connection",
    "timeout",
    "malformed",
    "refusal",
    "too_large",
    "empty",
    "rejected",
    "cut",
]
"""The outcome of a request. `malformed`: the body is not a completion. `rejected`: the server refuses the request (any
4xx except 429), and a retry does not help. `cut`: the token limit was reached before the reply was complete."""
TRANSPORT_FAULTS: Final[frozenset[AttemptOutcome]] = frozenset(
    ("rate_limited", "server_error", "connection", "timeout", "malformed")
)
"""Outcomes that are retried, except for an exhausted account (NO_QUOTA)."""
UNCHARGED: Final[frozenset[AttemptOutcome]] = frozenset(("rejected", "rate_limited", "server_error"))
"""Outcomes that cost nothing if the server reports no usage; any other may have cost its worst case."""
NO_QUOTA: Final = "insufficient_quota"
"""The code of an exhausted account; waiting does not help."""
PROMPT_TOO_LONG: Final = "prompt_too_long"
"""The code of a prompt beyond the model's context; no other form of it fits."""
REPLY_UNREAD: Final = "reply_unread"
"""The code of a reply that was written, and paid for, and that its server failed to read: asked for in another form."""
CONTENT_FILTER: Final = "content_filter"
"""The code of a request or reply that a content filter refused, whatever the status: it would be refused again."""
FailureCode = Literal["model_unavailable", "invalid_reply", "refused", "budget_spent"]
WITHOUT_REPLY: Final[frozenset[FailureCode]] = frozenset(("model_unavailable", "budget_spent"))
"""Outcomes without a reply that a repair could improve."""
Role = Literal["system", "user", "assistant", "tool"]

_HEADER_PART = re.compile(r"[!-~]+")
_DECIMAL = re.compile(r"-?\d{1,9}(\.\d{1,9})?")


class TurnHeader(msgspec.Struct, frozen=True):
    """The turn of a request: the words of the header X-PlayMolt-Turn, in visible ASCII. Raises ValueError."""

    session: str
    name: str
    kind: str = "ask"

    def __post_init__(self) -> None:
        for part in (self.session, self.name, self.kind):
            if not _HEADER_PART.fullmatch(part):
                raise ValueError(f"{part!r} is not a word of visible ASCII characters")

    @property
    def value(self) -> str:
        return f"{self.session} {self.name} {self.kind}"


class ToolCall(msgspec.Struct, frozen=True):
    """A tool call of the model. `arguments` is the raw text, which may not be valid JSON."""

    id: str
    name: str
    arguments: str


class ChatMessage(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message of a conversation. A `tool` message answers the call `tool_call_id` of the assistant message before."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


class Tool(msgspec.Struct, frozen=True):
    """A tool that the model may call; `parameters` is the JSON Schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class SamplingParameters(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sampling parameters as decimal strings; None uses the server's default. Raises ValueError for other texts."""

    temperature: str | None = None
    top_p: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        for text in (self.temperature, self.top_p):
            if text is not None and not _DECIMAL.fullmatch(text):
                raise ValueError(f"{text!r} is not a decimal number like '0.7'")


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a model.

    `schema` is the JSON Schema of the reply (None: plain text). The runtime adds nothing to the prompt, except
    descriptions of tools for servers without tool support, so the prompt must describe the format of the reply.
    `tool_choice` is `auto`, `none`, `required` or a tool's name. `streamable`: the reply is a speech that may be
    streamed to listeners, if the server supports it. A `patient` request waits up to two minutes for capacity after a
    429, which does not count as an attempt. `prose`: a reply that reaches its limit within a sentence counts as cut.
    `within`: the seconds after which no reply counts any more, so that no further request is sent.
    """

    alias: str
    messages: tuple[ChatMessage, ...]
    turn: TurnHeader | None = None
    schema_name: str = "reply"
    schema: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    sampling: SamplingParameters = SamplingParameters()
    max_tokens: int = 2048
    headers: Mapping[str, str] = {}
    decoding: DecodingChoice = "best"
    streamable: bool | UnsetType = UNSET
    patient: bool | UnsetType = UNSET
    within: float | UnsetType = UNSET
    prose: bool = False
    payer: str = ""
    """The agent whose daily budget pays for the request; "" for the operator."""
    drawn_by: str | UnsetType = UNSET
    """By what scripted models draw, so that equal requests of two sessions get equal replies; unset: by the session."""

    @property
    def seed_is_optional(self) -> bool:
        """Whether a server without seeds may answer as well: it makes sessions alike where that is possible."""
        return self.sampling.seed is not None and self.drawn_by is not UNSET

    def all_headers(self) -> dict[str, str]:
        """The headers of the request, including that of its turn."""
        return dict(self.headers) | ({TURN_HEADER: self.turn.value} if self.turn else {})


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens as counted by the server; None for missing figures.

    Cached tokens are part of the prompt's tokens, reasoning tokens part of the reply's.
    """

    prompt_tokens: int | None
    completion_tokens: int | None
    cached_tokens: int | None = None
    reasoning_tokens: int | None = None

    @property
    def total(self) -> int | None:
        if self.prompt_tokens is None or self.completion_tokens is None:
            return None
        return self.prompt_tokens + self.completion_tokens


class Attempt(msgspec.Struct, frozen=True, kw_only=True):
    """A request to a model and its result, ready to be stored.

    `number` counts the requests of one call of `ask` from 1. `request` is the sent body with floats as decimal strings;
    `headers` are only the platform's own, never the key. `reply` is the text of the message without reasoning, or the
    beginning of a body that is not a completion; it is truncated to REPLY_BYTES. `reasoning` is the model's reasoning,
    `raw` the received body. None of them contains NUL or lone surrogates (replaced by U+FFFD). `code` is the server's
    error: a status as text, or a word. `cost` is None if prices or usage are unknown; it is never estimated. `warnings`
    lists anomalies that did not cost the reply: PROMPT_CUT.
    """

    number: int
    alias: str
    model_asked: str
    model_answered: str | None
    headers: Mapping[str, str]
    request: Mapping[str, Any]
    decoding: Decoding
    outcome: AttemptOutcome
    status: int | None
    detail: str
    reply: str
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str | None
    usage: Usage | None
    cost: str | None
    latency_ms: int
    retry_after_ms: int | None = None
    reasoning: str | None = None
    raw: str = ""
    code: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def uncharged(self) -> bool:
        """Whether it costs nothing if the server reports no usage: an error, not a reply."""
        filtered = self.outcome == "refusal" and self.code == CONTENT_FILTER and self.finish_reason is None
        return filtered or self.outcome in UNCHARGED


def session_of(attempt: Attempt) -> str:
    """The stream of an attempt's turn; "" if it has none."""
    return attempt.headers.get(TURN_HEADER, "").partition(" ")[0]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """A model's reply: text, tool calls or both, without reasoning."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    attempts: int


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """No usable reply after `attempts` requests. `detail` describes what happened and what to do next; `reply` is the
    raw text of the last one, empty if that was a server's error. `cut`: the token limit was too low for a reply, which
    no repair changes. `filtered`: a content filter refused it."""

    code: FailureCode
    detail: str
    attempts: int
    reply: str = ""
    cut: bool = False
    filtered: bool = False

    @property
    def final(self) -> bool:
        """Whether a repair cannot improve it."""
        return self.cut or self.filtered or self.code in WITHOUT_REPLY


Sending = Callable[[], Awaitable[None]]
"""Awaited just before each request is sent, after waiting for capacity; its exceptions end the call."""
Record = Callable[[Attempt], Awaitable[None]]
"""Stores an attempt. Awaited after each request, before anything else; its exceptions end the call."""


class Listener(Protocol):
    """Receives the text of a streamed reply in pieces; each attempt starts from the beginning."""

    def begin(self) -> None: ...

    def say(self, text: str) -> None: ...

    def end(self) -> None: ...


class Model(Protocol):
    """A model behind an alias."""

    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        """Send a request and record every attempt; `listener` receives streamed text.

        Transport faults are retried up to 3 times while a reply still counts; a patient request also waits after a
        429. Refusals and empty or too large replies are not retried; they need a repair. Raises LogUnavailable."""
        ...
