"""Talking to a model until its reply can be used: one that cannot is asked for again with its fault named."""

from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, Final, TypeVar

import msgspec

from playmolt_core.llm.parsing import Unparsed, parse_object
from playmolt_core.llm.port import (
    WITHOUT_REPLY,
    Failed,
    FailureCode,
    Listener,
    Message,
    Model,
    ModelRequest,
    Record,
    Reply,
    TurnHeader,
)

REPAIRS: Final = 2
QUOTED_CHARS: Final = 8_000
"""How much of a bad reply is shown to the model again."""
_KOREAN = (
    "직전 답변은 사용할 수 없습니다: {fault}\n"
    "같은 내용을 요구된 형식의 JSON 객체 하나로만 다시 답하십시오. 다른 글은 쓰지 마십시오."
)
_ENGLISH = (
    "Your last reply cannot be used: {fault}\n"
    "Answer again with the same content as one JSON object of the required form, and write nothing else."
)

A = TypeVar("A")
R = TypeVar("R")

Check = Callable[[dict[str, Any]], str | None]
"""A game's own demand on an object that is true to its schema: None, or what the model has to put right."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The object, the raw reply it stood in, and what it took."""

    value: dict[str, Any]
    reply: Reply
    attempts: int
    repairs: int


class Unusable(msgspec.Struct, frozen=True, kw_only=True):
    """A reply that cannot be used: what it said, and the fault that the model is told."""

    said: str
    fault: str
    code: FailureCode = "invalid_reply"


def repairing(
    answer: A, read: Callable[[A], R], again: Callable[[R], ModelRequest | None], repairs: int = REPAIRS
) -> Generator[ModelRequest, A, R]:
    """Read an answer, and ask again, `repairs` times at most, while `again` has a request for what was read.

    The one loop of all games, without I/O: whoever drives it (`driven`) sends the answer to each request it gives. It
    returns what was read last.
    """
    outcome = read(answer)
    for _ in range(repairs):
        request = again(outcome)
        if request is None:
            break
        outcome = read((yield request))
    return outcome


async def driven(asking: Generator[ModelRequest, A, R], ask: Callable[[ModelRequest], Awaitable[A]]) -> R:
    """Answer each request of `asking` by `ask`, and give what it returns."""
    try:
        request = next(asking)
        while True:
            request = asking.send(await ask(request))
    except StopIteration as end:
        result: R = end.value
        return result


def asked_again(request: ModelRequest, said: str, demand: str) -> ModelRequest:
    """The request with a bad reply and a demand behind its own messages; its turn is of kind `repair`.

    It is made of the first request each time, so that a conversation does not grow from repair to repair.
    """
    quoted = (Message("assistant", said),) if said.strip() else ()
    turn = request.turn and TurnHeader(request.turn.session, request.turn.name, "repair")
    return msgspec.structs.replace(request, messages=(*request.messages, *quoted, Message("user", demand)), turn=turn)


async def ask_object(
    model: Model,
    request: ModelRequest,
    record: Record,
    *,
    accepted: Mapping[str, Any] | None = None,
    check: Check | None = None,
    repairs: int = REPAIRS,
    korean: bool = False,
    listening: Callable[[ModelRequest], Listener] | None = None,
) -> Answered | Failed:
    """Ask for one JSON object true to `request.schema` (and to `check`), with at most `repairs` repair requests.

    `accepted` is the schema that a reply is held to where a game takes more than it asks for.
    `listening` makes what hears a request's reply as it comes.
    Failed is `model_unavailable` when the model is away, `budget_spent` when the day's budget does not hold the call,
    `refused` when the last reply was a refusal, else `invalid_reply`; its `attempts` counts every request.
    """
    attempts = requests = 0

    async def ask(asked: ModelRequest) -> Reply | Failed:
        nonlocal attempts, requests
        answer = await model.ask(asked, record, listener=listening(asked) if listening else None)
        attempts, requests = attempts + answer.attempts, requests + 1
        return answer

    def read(answer: Reply | Failed) -> tuple[dict[str, Any], Reply] | Failed | Unusable:
        if isinstance(answer, Failed):
            final = answer.cut or answer.code in WITHOUT_REPLY
            return answer if final else Unusable(said=answer.reply, fault=answer.detail, code=answer.code)
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
            detail = f"no usable reply after {repairs} repairs: {last.fault}; try again, or take another model"
            return Failed(code=last.code, detail=detail, attempts=attempts, reply=last.said)
        case (value, reply):
            return Answered(value=value, reply=reply, attempts=attempts, repairs=requests - 1)


def _judge(reply: Reply, accepted: Mapping[str, Any] | None, check: Check | None) -> dict[str, Any] | str:
    parsed = parse_object(reply.text, accepted)
    if isinstance(parsed, Unparsed):
        return parsed.detail
    return (check(parsed.value) if check else None) or parsed.value
