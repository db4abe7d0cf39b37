"""Influence and the ranks it gives."""

from typing import Final, Literal

from playmolt_agora.world.worlds import Rules

Rank = Literal["commoner", "notable", "elder"]
FIRST: Final[Rank] = "commoner"


def rank_of(rules: Rules, influence: int) -> Rank:
    if influence >= rules.ranks.elder:
        return "elder"
    return "notable" if influence >= rules.ranks.notable else FIRST
