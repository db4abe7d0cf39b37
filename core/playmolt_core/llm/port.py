"""A language model as the games see it. `OpenAIModel` speaks to servers, `ScriptedModel` needs no network.

Whatever is stored holds no floats (canonical JSON): money and sampling are decimal strings, times are milliseconds.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Literal, Protocol

import msgspec
from msgspec import UNSET, UnsetType

REPLY_BYTES: Final = 64 * 1024
"""What a model may say in one reply, tool calls included, in UTF-8; more counts as no reply."""
TURN_HEADER: Final = "X-PlayMolt-Turn"

PROMPT_CUT: Final = "prompt_cut"
"""The warning that a server counted too few tokens in two prompts in a row."""

Decoding = Literal["prompt", "json_object", "json_schema"]
"""How a server is made to answer in JSON: by the prompt's words alone, by its JSON mode, or bound to the schema."""
DecodingChoice = Literal["prompt", "json_object", "json_schema", "best"]
"""`best` takes what the server can do; the others are sent as they are, and a server that rejects one fails the ask."""
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
"""How one request ended. `malformed`: the body is no completion. `rejected`: the server refuses the request itself
(any 4xx but 429), which no repeat of it changes. `cut`: the tokens were spent before there was a whole reply."""
TRANSPORT_FAULTS: Final[frozenset[AttemptOutcome]] = frozenset(
    ("rate_limited", "server_error", "connection", "timeout", "malformed")
)
"""What is tried again, but for an account that is used up (NO_QUOTA)."""
UNCHARGED: Final[frozenset[AttemptOutcome]] = frozenset(("rejected", "rate_limited", "server_error"))
"""Outcomes that cost nothing where the server gave no figures; any other may have cost its worst case."""
NO_QUOTA: Final = "insufficient_quota"
"""The code of an account that is used up: a pause does not help."""
FailureCode = Literal["model_unavailable", "invalid_reply", "refused", "budget_spent"]
WITHOUT_REPLY: Final[frozenset[FailureCode]] = frozenset(("model_unavailable", "budget_spent"))
"""No reply came that a repair could better."""
Role = Literal["system", "user", "assistant", "tool"]

_HEADER_PART = re.compile(r"[!-~]+")
_DECIMAL = re.compile(r"-?\d{1,9}(\.\d{1,9})?")


class TurnHeader(msgspec.Struct, frozen=True):
    """Whose turn a request is: the words of the header X-PlayMolt-Turn. ValueError unless each is visible ASCII."""

    session: str
    name: str
    kind: str = "ask"

    def __post_init__(self) -> None:
        for part in (self.session, self.name, self.kind):
            if not _HEADER_PART.fullmatch(part):
                raise ValueError(f"{part!r} is no word of visible ASCII characters")

    @property
    def value(self) -> str:
        return f"{self.session} {self.name} {self.kind}"


class ToolCall(msgspec.Struct, frozen=True):
    """A tool that the model wants to use. `arguments` is its text as it came: JSON is hoped for, not promised."""

    id: str
    name: str
    arguments: str


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a conversation. A `tool` message answers the call `tool_call_id` of the assistant's before it."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


class Tool(msgspec.Struct, frozen=True):
    """A tool on offer; `parameters` is the JSON Schema of its arguments, an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


class Sampling(msgspec.Struct, frozen=True, omit_defaults=True):
    """Sampling as it is sent; None leaves it to the server. Decimal strings; ValueError for anything else."""

    temperature: str | None = None
    top_p: str | None = None
    seed: int | None = None

    def __post_init__(self) -> None:
        for text in (self.temperature, self.top_p):
            if text is not None and not _DECIMAL.fullmatch(text):
                raise ValueError(f"{text!r} is no decimal number as in '0.7'")


class ModelRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a game asks of a model.

    `schema` is the JSON Schema of the reply (None: plain text). The runtime adds no word to the prompt unless tools
    have to be spelt out for a server that knows none, so the prompt itself has to say what form the reply takes.
    `tool_choice` is `auto`, `none`, `required` or a tool's name. `told` is a speech that its listeners may be told as
    it comes, where the model's server streams. A `patient` request waits for room, for two minutes in all, where its
    provider has none (429): that is no attempt. `prose` wants whole sentences: one that stops at its longest within one
    is cut.
    """

    alias: str
    messages: tuple[Message, ...]
    turn: TurnHeader | None = None
    schema_name: str = "reply"
    schema: Mapping[str, Any] | None = None
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    sampling: Sampling = Sampling()
    max_tokens: int = 2048
    headers: Mapping[str, str] = {}
    decoding: DecodingChoice = "best"
    told: bool | UnsetType = UNSET
    patient: bool | UnsetType = UNSET
    prose: bool = False
    payer: str = ""
    """The agent on whose budget of the day the request is counted; "" for the operator's own."""

    def all_headers(self) -> dict[str, str]:
        """The request's own headers and that of its turn."""
        return dict(self.headers) | ({TURN_HEADER: self.turn.value} if self.turn else {})


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens as the server counted them; None for a figure that it did not give.

    Cached tokens are some of the prompt's, reasoning tokens some of the reply's.
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
    """One request to a model and what came of it, ready to be stored.

    `number` counts the requests of one call of `ask` from 1. `request` is the body as sent, floats as decimal strings;
    `headers` are ours only, never the key. `reply` is the text of the message without its model's thoughts, or what the
    body began with when it was no completion; it is cut at REPLY_BYTES. `reasoning` is what the model thought, `raw`
    the body as it came. None of them holds NUL or lone surrogates (each becomes U+FFFD). `code` is what the server
    called its error: a status as text, or a word. `cost` is None when prices or usage are unknown: it is never guessed.
    `warnings` name what cost no reply and should be looked at: PROMPT_CUT.
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


def session_of(attempt: Attempt) -> str:
    """The stream whose turn an attempt belongs to; "" where it is nobody's."""
    return attempt.headers.get(TURN_HEADER, "").partition(" ")[0]


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What a model said: text, tool calls or both, never its thoughts."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    attempts: int


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """No usable reply after `attempts` requests. `detail` says what happened and what to do next; `reply` is the raw
    text of the last one. `cut` says that it had no room for one, which no repair changes."""

    code: FailureCode
    detail: str
    attempts: int
    reply: str = ""
    cut: bool = False


Sending = Callable[[], Awaitable[None]]
"""Awaited just before each request goes out, after all waiting for room; what it raises ends the call."""
Record = Callable[[Attempt], Awaitable[None]]
"""Stores an attempt. It is awaited after each request, before anything else happens; what it raises ends the call."""


class Listener(Protocol):
    """Hears the text of a streamed reply as it comes. Each attempt begins anew."""

    def begin(self) -> None: ...

    def say(self, text: str) -> None: ...

    def end(self) -> None: ...


class Model(Protocol):
    """A model behind an alias."""

    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        """Records every attempt; `listener` hears those that stream.

        Transport faults are tried again up to 3 times, but that a patient request waits a 429 out; a refusal, an empty
        or too large reply is not: those are for a repair. Raises LogUnavailable when the shared limits are away."""
        ...
