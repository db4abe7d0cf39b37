"""Scripted models: no network, no key, the same answer to the same request.

Games register characters in a `Cast`; the generic character plays all other turns, with plausible replies that are
valid under the schema.
"""

import re
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Final

import msgspec
from msgspec import UNSET
from msgspec.structs import replace
from playmolt_schemas.canonical import digest
from playmolt_schemas.identifiers import SCRIPTED
from typing_extensions import override

from playmolt_core.game import draws
from playmolt_core.llm.openai.request_body import Form, body_of, offered_tools, stored
from playmolt_core.llm.openai.storing import storable
from playmolt_core.llm.port import (
    Attempt,
    Failed,
    Listener,
    Model,
    ModelRequest,
    Record,
    Reply,
    Sending,
    Tool,
    ToolCall,
    Usage,
)
from playmolt_core.llm.scripted.replies import Draw, sentence, true_to
from playmolt_core.llm.spans import attempt_span, finish

_HANGUL = re.compile("[\uac00-\ud7a3]")


class ScriptedTurn(msgspec.Struct, frozen=True, dict=True):
    """The input of a character. All randomness comes from `draw`, which depends only on this request and the seed."""

    request: ModelRequest
    seed: str

    @property
    def name(self) -> str:
        """The name of the turn, "" without one."""
        return self.request.turn.name if self.request.turn else ""

    @property
    def kind(self) -> str:
        """`ask`, `repair` …"""
        return self.request.turn.kind if self.request.turn else "ask"

    @property
    def tools(self) -> tuple[Tool, ...]:
        return offered_tools(self.request)

    @cached_property
    def korean(self) -> bool:
        return any(_HANGUL.search(message.content) for message in self.request.messages)

    @cached_property
    def _stream(self) -> str:
        # Neither streaming nor a deadline changes the reply.
        request = replace(self.request, streamable=UNSET, within=UNSET)
        if request.drawn_by is not UNSET and request.turn:
            request = replace(request, turn=replace(request.turn, session="-"), payer="")
        return digest(request)

    def draw(self, name: str, bound: int) -> int:
        """An integer from 0 to bound - 1."""
        return draws.below(self.seed, f"{self._stream}/{name}", bound)


class Said(msgspec.Struct, frozen=True):
    """A character's reply: a text (valid or not), tool calls, or a refusal."""

    text: str = ""
    tool_calls: tuple[tuple[str, str], ...] = ()
    """(name, arguments as JSON text)."""
    refusal: bool = False


Character = Callable[[ScriptedTurn], Said]
"""A pure function of the turn."""


class _ScriptedPart(msgspec.Struct, frozen=True):
    character: Character
    alias: str
    turn: str
    schema: str


class Cast:
    """Assigns characters to turns."""

    def __init__(self) -> None:
        self._parts: list[_ScriptedPart] = []

    def add(self, character: Character, *, alias: str = "*", turn: str = "*", schema: str = "*") -> None:
        """Assign requests whose alias, turn name and schema name match the patterns (`*`, `?`) to a character.

        The last matching character plays. A complete alias `scripted-NAME` makes that alias known.
        """
        self._parts.insert(0, _ScriptedPart(character, alias, turn, schema))

    def knows(self, alias: str) -> bool:
        """Whether the alias is `scripted` or has a character."""
        return alias == SCRIPTED or any(part.alias == alias for part in self._parts)

    def character(self, turn: ScriptedTurn) -> Character:
        request = turn.request
        for part in self._parts:
            pairs = ((request.alias, part.alias), (turn.name, part.turn), (request.schema_name, part.schema))
            if all(fnmatchcase(name, pattern) for name, pattern in pairs):
                return part.character
        return generic


def generic(turn: ScriptedTurn) -> Said:
    """Calls a tool if required, or sometimes once if optional; otherwise replies with a valid value."""
    request = turn.request
    used = any(message.role == "tool" for message in request.messages)
    demanded = request.tool_choice not in ("auto", "none")
    if turn.tools and (demanded or (not used and turn.draw("tool", 2) == 0)):
        named = [tool for tool in turn.tools if tool.name == request.tool_choice]
        tool = (named or turn.tools)[turn.draw("which", len(named or turn.tools))]
        return Said(tool_calls=((tool.name, _encoded(true_to(tool.parameters, _draw(turn), korean=turn.korean))),))
    if request.schema is None:
        return Said(sentence("text", _draw(turn), korean=turn.korean))
    return Said(_encoded(true_to(request.schema, _draw(turn), korean=turn.korean)))


class ScriptedModel(Model):
    """Costs nothing, answers immediately and is always available."""

    def __init__(self, cast: Cast, seed: str = "0") -> None:
        self._cast = cast
        self._seed = seed

    @override
    async def ask(
        self, request: ModelRequest, record: Record, sending: Sending | None = None, listener: Listener | None = None
    ) -> Reply | Failed:
        if not self._cast.knows(request.alias):
            detail = f"no scripted character plays {request.alias!r}: use {SCRIPTED!r}, or add one to the cast"
            return Failed(code="model_unavailable", detail=detail, attempts=0)
        if sending is not None:
            await sending()
        with attempt_span(request, "playmolt", request.alias) as span:
            attempt, reply = self.answered(request)
            finish(span, attempt)
        await record(attempt)
        return reply

    def answered(self, request: ModelRequest) -> tuple[Attempt, Reply | Failed]:
        """What `ask` records and returns."""
        turn = ScriptedTurn(request, self._seed)
        said = self._cast.character(turn)(turn)
        attempt = _attempt(request, said)
        if attempt.outcome == "ok":
            return attempt, Reply(text=attempt.reply, tool_calls=attempt.tool_calls, attempts=1)
        code: Final = "refused" if said.refusal else "invalid_reply"
        return attempt, Failed(code=code, detail=attempt.detail, attempts=1, reply=attempt.reply)


def _attempt(request: ModelRequest, said: Said) -> Attempt:
    body = body_of(request, request.alias, Form(decoding="prompt"))
    number = 1 + sum(len(message.tool_calls) for message in request.messages)
    calls = tuple(ToolCall(f"call_{number + n}", name, text) for n, (name, text) in enumerate(said.tool_calls))
    empty = not said.text.strip() and not calls
    size = len(said.text.encode()) + sum(len(call.arguments.encode()) for call in calls)
    return Attempt(
        number=1,
        alias=request.alias,
        model_asked=request.alias,
        model_answered=request.alias,
        headers=request.all_headers(),
        request=stored(body),
        decoding="prompt",
        outcome="refusal" if said.refusal else "empty" if empty else "ok",
        status=None,
        detail="the model refused to answer" if said.refusal else "the reply is empty" if empty else "",
        reply=storable(said.text),
        tool_calls=calls,
        finish_reason="tool_calls" if calls else "stop",
        usage=Usage(len(msgspec.json.encode(request.messages)) // 4, size // 4),
        cost="0",
        latency_ms=0,
    )


def _draw(turn: ScriptedTurn) -> Draw:
    return turn.draw


def _encoded(value: object) -> str:
    return msgspec.json.encode(value).decode()
