"""How an operator ends what still runs (api.md, `…/games/{id}/end`)."""

from collections.abc import Callable

from playmolt_schemas.codes import Code, faults
from playmolt_schemas.text import reason_fault, trimmed

from playmolt_core.game.decider import Accepted, Decision, EndGame, Event, Refused


def ended(command: EndGame, event: Callable[..., Event]) -> Decision:
    """Let it end with `event(reason=…)`, the reason trimmed; refused when the reason is empty, long or unstorable."""
    reason = trimmed(command.reason)
    if fault := reason_fault(reason):
        return Refused(Code.INVALID_REQUEST, f"Say why: reason {fault}.", faults({"reason": fault}))
    return Accepted((event(reason=reason),))
