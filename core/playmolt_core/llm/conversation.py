"""Asking for an object until the reply is one: a reply that is none is asked for again with its fault named."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from playmolt_core.llm.parsing import Unparsed, parse_object
from playmolt_core.llm.port import Failed, Message, Model, ModelRequest, Record, Reply, Turn

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
_CUT = "it was cut off, because it was too long; be shorter"

Check = Callable[[dict[str, Any]], str | None]
"""A game's own demand on an object that is true to its schema: None, or what the model has to put right."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """The object, the raw reply it stood in, and what it took."""

    value: dict[str, Any]
    reply: Reply
    attempts: int
    repairs: int


async def ask_object(
    model: Model,
    request: ModelRequest,
    record: Record,
    *,
    accepted: Mapping[str, Any] | None = None,
    check: Check | None = None,
    repairs: int = REPAIRS,
    korean: bool = False,
) -> Answered | Failed:
    """Ask for one JSON object true to `request.schema` (and to `check`), with at most `repairs` repair requests.

    `accepted` is the schema that a reply is held to where a game takes more than it asks for.
    Failed is `model_unavailable` when the model is away, `refused` when the last reply was a refusal, else
    `invalid_reply`; its `attempts` counts every request.
    """
    attempts, asked = 0, request
    for repair in range(repairs + 1):
        answer = await model.ask(asked, record)
        attempts += answer.attempts
        fault = answer.detail if isinstance(answer, Failed) else None
        if isinstance(answer, Reply):
            judged = _judge(answer, accepted or request.schema, check)
            if isinstance(judged, dict):
                return Answered(value=judged, reply=answer, attempts=attempts, repairs=repair)
            fault = judged
        if isinstance(answer, Failed) and answer.code == "model_unavailable":
            return msgspec.structs.replace(answer, attempts=attempts)
        text = answer.text if isinstance(answer, Reply) else answer.reply
        asked = repaired(request, text, str(fault), korean=korean)
    refused = isinstance(answer, Failed) and answer.code == "refused"
    return Failed(
        code="refused" if refused else "invalid_reply",
        detail=f"no usable reply after {repairs} repairs: {fault}; try again, or take another model",
        attempts=attempts,
        reply=text,
    )


def repaired(request: ModelRequest, reply: str, fault: str, *, korean: bool = False) -> ModelRequest:
    """Give the request that asks for a reply again with the fault named; its turn is of kind `repair`.

    The conversation is the request's own with the bad reply and the fault behind it, so it does not grow from repair
    to repair.
    """
    said = (Message("assistant", reply[:QUOTED_CHARS]),) if reply.strip() else ()
    demand = Message("user", (_KOREAN if korean else _ENGLISH).format(fault=fault))
    turn = request.turn and Turn(request.turn.session, request.turn.name, "repair")
    return msgspec.structs.replace(request, messages=(*request.messages, *said, demand), turn=turn)


def _judge(reply: Reply, accepted: Mapping[str, Any] | None, check: Check | None) -> dict[str, Any] | str:
    parsed = parse_object(reply.text, accepted)
    if isinstance(parsed, Unparsed):
        return _CUT if reply.cut else parsed.detail
    return (check(parsed.value) if check else None) or parsed.value
