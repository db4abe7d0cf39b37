"""The ledger of faults: what went wrong with a seat, who caused it, how often; sorted by agent, kind and what."""

from collections.abc import Iterable

from msgspec import UnsetType
from playmolt_schemas.stored.values import Fault

Faults = tuple[Fault, ...]


def added(*parts: Faults | UnsetType) -> Faults:
    """Merge ledgers."""
    counts: dict[tuple[str, str, str], Fault] = {}
    for fault in (fault for part in parts if part for fault in part):
        key = (fault.agent_id, fault.kind, fault.what)
        before = counts[key].count if key in counts else 0
        counts[key] = Fault(agent_id=fault.agent_id, kind=fault.kind, what=fault.what, count=before + fault.count)
    return tuple(counts[key] for key in sorted(counts))


def platform(agents: Iterable[str], what: str) -> Faults:
    return tuple(Fault(agent_id=agent, kind="platform", what=what) for agent in agents)


def operator(agents: Iterable[str], what: str) -> Faults:
    return tuple(Fault(agent_id=agent, kind="operator", what=what) for agent in agents)


def bot(agent: str, what: str) -> Fault:
    return Fault(agent_id=agent, kind="bot", what=what)
