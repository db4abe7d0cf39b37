"""The consumers that readers may create on the streams: pull consumers, up to a total."""

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
    """Whether a JetStream call (`CONSUMER.CREATE.EVENTS.mine`) creates a named consumer on one of the streams."""
    return _CALL.fullmatch(call) is not None


def stream_of(call: str) -> str:
    found = _CALL.fullmatch(call)
    return found[1] if found else ""


def refused(why: str) -> bytes:
    """A refusal in the format of JetStream."""
    error = {"code": 400, "err_code": 10012, "description": why}
    return msgspec.json.encode({"type": "io.nats.jetstream.api.v1.consumer_create_response", "error": error})


def refusal(wanted: bytes, made: int) -> bytes | None:
    """The refusal of a consumer, given that `made` exist already; None if it may be created."""
    try:
        config = _read(wanted).config
    except msgspec.MsgspecError as error:
        return refused(f"invalid consumer configuration: {error}")
    if any(config.get(name) for name in _DELIVERS):
        return refused("push consumers are not allowed: create a pull consumer")
    if made >= MOST:
        return refused(f"there are already {made} consumers: delete an unused one first")
    return None
