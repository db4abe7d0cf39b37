"""How often agents meet, how long Phase 2 is to last, and whether pilots idle (`measures.md`, section 8)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from playmolt_schemas.instrument.definitions import IDLE_ABOVE, INTERACTIONS_PER_AGENT

from playmolt_agora.measures.data.frame import SPEAK, SUPPORT, TRADE, WHISPER, Bools, Frame
from playmolt_agora.measures.data.results import ratio


def interactions(turns: Frame) -> Bools:
    """The turns that are interactions: a successful speak, support, whisper or trade with another here."""
    social = np.isin(turns.action, (SPEAK, TRADE, SUPPORT, WHISPER))
    return turns.valid & social & turns.success & (turns.others > 0)


def turn_rule(met: int, valid: int) -> int:
    """The length of Phase 2, 100 to 200 in tens, at which an agent may expect 50 interactions."""
    if met == 0:
        return 200
    tens = -(-INTERACTIONS_PER_AGENT * valid // (10 * met))
    return min(200, max(100, 10 * tens))


def seed_events_advised(early_idle: Sequence[float | None]) -> bool:
    """Whether more than 80 % of the first five turns are idle in at least half of the pilot runs (L18)."""
    return bool(early_idle) and 2 * _idle_runs(early_idle) >= len(early_idle)


def _idle_runs(early_idle: Sequence[float | None]) -> int:
    return sum(share is not None and share > IDLE_ABOVE for share in early_idle)


class Pilots(msgspec.Struct, frozen=True, kw_only=True):
    """What pilots say together before a plan is registered: the length of Phase 2, whether to consider seed events."""

    runs: int
    valid: int
    interactions: int
    p_int: float | None
    t_rule: int
    idle_runs: int
    seed_events: bool


def pilots(found: Sequence[Mapping[str, Any]]) -> Pilots:
    """Pool pilots, given as rows of the table `pint`."""
    valid, met = (sum(int(row[name]) for row in found) for name in ("valid", "interactions"))
    early = [row["early_idle"] for row in found]
    return Pilots(
        runs=len(found),
        valid=valid,
        interactions=met,
        p_int=ratio(met, valid),
        t_rule=turn_rule(met, valid),
        idle_runs=_idle_runs(early),
        seed_events=seed_events_advised(early),
    )
