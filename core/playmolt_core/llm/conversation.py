"""Conversations with a model until its reply is usable: an unusable reply is requested again with its fault named."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from playmolt_core.llm.parsing import Unparsed, parse_object
from playmolt_core.llm.port import (
    ChatMessage,
    Failed,
    FailureCode,
    Listener,
    Model,
    ModelRequest,
    Record,
    Reply,
    Tool,
    TurnHeader,
)

REPAIRS: Final = 2
QUOTED_CHARS: Final = 8_000
"""How much of an invalid reply is shown to the model again."""
_KOREAN = (
    "직전 답변은 사용할 수 없습니다: {fault}\n"
    "같은 내용을 요구된 형식의 JSON 객체 하나로만 다시 답하십시오. 다른 글은 쓰지 마십시오."
)
_ENGLISH = (
    "Your last reply cannot be used: {fault}\n"
    "Answer again with the same content as one JSON object of the required form, and write nothing else."
)

_PROBED: Final = Tool(
    "lookup_evidence",
    "Read a piece of evidence.",
    {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": False},
)

A = TypeVar("A")
R = TypeVar("R")

Check = Callable[[dict[str, object]], str | None]
"""A game's own check of an object that is valid under its schema: None, or what the model must fix."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The object, its raw reply, and the usage."""

    value: dict[str, Any]
    reply: Reply
    attempts: int
    repairs: int


class Unusable(msgspec.Struct, frozen=True, kw_only=True):
    """An unusable reply: its text, and the fault to report to the model."""

    said: str
    fault: str
    code: FailureCode = "invalid_reply"


def tool_probe(alias: str, max_tokens: int = 256) -> ModelRequest:
    """A short request that demands a tool call: a model that calls none fails with `invalid_reply`.

    Some servers leave tools out of the prompt without a word where the model's template has none.
    """
    asked = ChatMessage("user", "Look up evidence E1 with the tool.")
    return ModelRequest(alias=alias, messages=(asked,), tools=(_PROBED,), tool_choice="required", max_tokens=max_tokens)


def repairing(
    answer: A, read: Callable[[A], R], again: Callable[[R], ModelRequest | None], repairs: int = REPAIRS
) -> Generator[ModelRequest, A, R]:
    """Read an answer, and request again, at most `repairs` times, while `again` returns a request for it.

    The loop that all games share, without I/O: its driver (`driven`) sends the answer to each yielded request. Returns
    the last result.
    """
    outcome = read(answer)
    for _ in range(repairs):
        request = again(outcome)
        if request is None:
            break
        outcome = read((yield request))
    return outcome


async def driven(asking: Generator[ModelRequest, A, R], ask: Callable[[ModelRequest], Awaitable[A]]) -> R:
    """Answer each request of `asking` with `ask`, and return its result."""
    try:
        request = next(asking)
        while True:
            request = asking.send(await ask(request))
    except StopIteration as end:
        result: R = end.value
        return result


def asked_again(request: ModelRequest, said: str, demand: str) -> ModelRequest:
    """The request followed by an invalid reply and a demand; its turn is of kind `repair`.

    It is always based on the first request, so that conversations do not grow with every repair.
    """
    quoted = (ChatMessage("assistant", said),) if said.strip() else ()
    turn = request.turn and TurnHeader(request.turn.session, request.turn.name, "repair")
    return msgspec.structs.replace(
        request, messages=(*request.messages, *quoted, ChatMessage("user", demand)), turn=turn
    )


async def ask_object(
    model: Model,
    request: ModelRequest,
    record: Record,
    *,
    accepted: Mapping[str, object] | None = None,
    check: Check | None = None,
    repairs: int = REPAIRS,
    korean: bool = False,
    listening: Callable[[ModelRequest], Listener] | None = None,
) -> Answered | Failed:
    """Request one JSON object that is valid under `request.schema` (and `check`), with at most `repairs` repairs.

    `accepted` is the schema that validates replies, if a game accepts more than it requests.
    `listening` creates the listener of a request's streamed reply.
    Failed has the code `model_unavailable` if the model is unavailable, `budget_spent` if the day's budget is too
    small, `refused` if the last reply was a refusal, else `invalid_reply`; `attempts` counts all requests.
    """
    attempts = requests = 0

    async def ask(asked: ModelRequest) -> Reply | Failed:
        nonlocal attempts, requests
        answer = await model.ask(asked, record, listener=listening(asked) if listening else None)
        attempts, requests = attempts + answer.attempts, requests + 1
        return answer

    def read(answer: Reply | Failed) -> tuple[dict[str, Any], Reply] | Failed | Unusable:
        if isinstance(answer, Failed):
            return answer if answer.final else Unusable(said=answer.reply, fault=answer.detail, code=answer.code)
        judged = _judge(answer, accepted or request.schema, check)
        return (judged, answer) if isinstance(judged, dict) else Unusable(said=answer.text, fault=judged)

    def again(outcome: object) -> ModelRequest | None:
        if not isinstance(outcome, Unusable):
            return None
        demand = (_KOREAN if korean else _ENGLISH).format(fault=outcome.fault)
        return asked_again(request, outcome.said[:QUOTED_CHARS], demand)

    match await driven(repairing(await ask(request), read, again, repairs), ask):
        case Failed() as away:
            return msgspec.structs.replace(away, attempts=attempts)
        case Unusable() as last:
            detail = f"no usable reply after {repairs} repairs: {last.fault}; try again, or use another model"
            return Failed(code=last.code, detail=detail, attempts=attempts, reply=last.said)
        case (value, reply):
            return Answered(value=value, reply=reply, attempts=attempts, repairs=requests - 1)


def _judge(reply: Reply, accepted: Mapping[str, object] | None, check: Check | None) -> dict[str, object] | str:
    parsed = parse_object(reply.text, accepted)
    if isinstance(parsed, Unparsed):
        return parsed.detail
    return (check(parsed.value) if check else None) or parsed.value
