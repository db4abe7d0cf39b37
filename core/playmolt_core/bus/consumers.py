"""Which consumers of the streams a reader may have made: pull consumers, so many in all."""

import re
from typing import Any, Final

import msgspec
from playmolt_schemas import subjects

MOST: Final = 64
_CALL: Final = re.compile(
    rf"CONSUMER\.(?:DURABLE\.)?CREATE\.((?:{subjects.EVENTS_STREAM}|{subjects.SPECTATE_STREAM})(?:_[0-9]{{1,2}})?)"
    r"\.[^.*> ]+(?:\..+)?"
)
_DELIVERS: Final = ("deliver_subject", "deliver_group")


class _Wanted(msgspec.Struct):
    config: dict[str, Any]


_read = msgspec.json.Decoder(_Wanted).decode


def makes_one(call: str) -> bool:
    """Whether a call to JetStream (`CONSUMER.CREATE.EVENTS.mine`) makes a named consumer of one of the streams."""
    return _CALL.fullmatch(call) is not None


def stream_of(call: str) -> str:
    found = _CALL.fullmatch(call)
    return found[1] if found else ""


def refused(why: str) -> bytes:
    """JetStream's own form of a refusal."""
    error = {"code": 400, "err_code": 10012, "description": why}
    return msgspec.json.encode({"type": "io.nats.jetstream.api.v1.consumer_create_response", "error": error})


def refusal(wanted: bytes, made: int) -> bytes | None:
    """Why a consumer is not made where there are `made` already; None when it is."""
    try:
        config = _read(wanted).config
    except msgspec.MsgspecError as error:
        return refused(f"not a consumer's configuration: {error}")
    if any(config.get(name) for name in _DELIVERS):
        return refused("a reader pulls: a consumer that delivers by itself is not made")
    if made >= MOST:
        return refused(f"there are {made} consumers: delete one that nobody uses")
    return None
