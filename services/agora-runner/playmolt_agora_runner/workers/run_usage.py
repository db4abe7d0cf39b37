"""What a run has taken, counted from its log."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, Final

from msgspec.structs import replace
from playmolt_schemas.instrument.usage import LOST, is_call, lost_of, with_call
from playmolt_schemas.stored.agora.plan import Noticed, Spent
from playmolt_schemas.stored.agora.run import AgentActed, CallMade, TurnFailed
from playmolt_schemas.stored.event import Event

_OTHERS: Final = 20
_MORE: Final = "(others)"
WEIGHTS: Final = re.compile(r"\.(?:gguf|ggml|bin|safetensors|onnx|pt|llamafile)$", re.IGNORECASE)
"""A server without a name for its model gives the file of its weights; that does not count as another model."""


class Notices:
    """Counts what a run's calls show of their models beside the replies."""

    def __init__(self) -> None:
        self._answered: dict[str, Counter[str]] = defaultdict(Counter)
        self._cut: Counter[str] = Counter()

    def add(self, call: dict[str, Any]) -> None:
        alias, asked, answered = (str(call.get(name) or "") for name in ("alias", "model_asked", "model_answered"))
        if answered and answered != asked and not WEIGHTS.search(answered):
            others = self._answered[alias]
            # A server that makes up a name for each reply must not fill the log.
            others[answered if answered in others or len(others) < _OTHERS else _MORE] += 1
        if "prompt_cut" in call.get("warnings", ()):
            self._cut[alias] += 1

    def noticed(self) -> Noticed:
        return Noticed(
            answered={alias: dict(others) for alias, others in self._answered.items()}, prompt_cut=dict(self._cut)
        )


def spent_of(events: Iterable[Event], replayed: int) -> Spent:
    """Count calls, tokens, money and turns; the `replayed` turns that a fork took over are not its own."""
    spent = Spent(turns=-replayed)
    for event in events:
        if isinstance(event, CallMade):
            spent = with_call(spent, event.call)
        elif isinstance(event, AgentActed | TurnFailed):
            spent = replace(spent, turns=spent.turns + 1)
    return spent


def acts_of(events: Iterable[Event]) -> Counter[str]:
    return Counter(str(event.record.action) for event in events if isinstance(event, AgentActed))


def requests_recorded(
    events: Iterable[Event], turn: int, agent: str | None, interview: str | None = None
) -> tuple[int, int]:
    """Count the requests of a turn, or of a question asked aside after it, that its log holds, and how many of them
    were lost."""
    calls = [
        event.call
        for event in events
        if isinstance(event, CallMade)
        and (event.turn, event.agent, event.call.get("interview")) == (turn, agent, interview)
    ]
    lost = lost_of(calls)
    return lost + sum(is_call(call) and call.get("outcome") != LOST for call in calls), lost
