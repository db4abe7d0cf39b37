"""Who may know of a private game while it runs: who sits there, who has the invite, and the operator."""

import hmac
from typing import Any

from playmolt_schemas.envelopes import Call

from playmolt_core.game.decider import Decider
from playmolt_core.game.snapshot import Snapshot


def closed_to(decider: Decider[Any], snapshot: Snapshot, call: Call) -> bool:
    """Whether a game has to look to the caller as if there were none."""
    if not snapshot.summary.hidden or call.operator or call.agent in decider.participants(snapshot.state):
        return False
    return not hmac.compare_digest(call.invite, snapshot.summary.invite)
