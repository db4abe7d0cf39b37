"""The answers to what a seat does: each follows from where its stream stands and what was stored."""

import msgspec
from playmolt_schemas.api import ActionAccepted, Ended, Forfeited, Resigned

_encode = msgspec.json.encode


def answer(op: str, stream: str, phase: str, version: int, receipt: str | None) -> bytes:
    """The body of the 2xx answer. `receipt` is the hash of the first record; None: the action changed nothing."""
    if op == "end":
        return _encode(Ended(stream, phase, version))
    if op == "resign":
        return _encode(Resigned(version=version, phase=phase))
    if op == "forfeit":
        return _encode(Forfeited(version=version, phase=phase))
    return _encode(ActionAccepted("pass" if receipt is None else "accepted", version, phase, receipt))
