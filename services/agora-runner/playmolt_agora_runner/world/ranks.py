"""Influence and the ranks it gives, and what a rank does where ranks are more than words."""

from typing import Final

from playmolt_schemas.stored.agora.world import Rules

FIRST: Final = "commoner"
_WEIGHTS: Final = {"notable": 2, "elder": 3}
"""The weight of an utterance in a packaged world where ranks act."""


def rank_of(rules: Rules, influence: int) -> str:
    if rules.own and (rules.own.ranks or not rules.own.packaged):
        own = rules.own.rank(influence)
        return own.id if own else FIRST
    if influence >= rules.ranks.elder:
        return "elder"
    return "notable" if influence >= rules.ranks.notable else FIRST


def weight_of(rules: Rules, influence: int) -> int:
    """How many events newer an utterance counts than it is, and one."""
    if rules.own and rules.own.ranks:
        own = rules.own.rank(influence)
        return own.speaking_weight if own else 1
    return _WEIGHTS.get(rank_of(rules, influence), 1) if rules.ranks_act else 1


def may_contest(rules: Rules, influence: int) -> bool:
    """Whether so much influence lets one contest an act of the architect."""
    if rules.own and rules.own.ranks:
        own = rules.own.rank(influence)
        return own is not None and own.contest
    return bool(rules.ranks_act) and rank_of(rules, influence) == "elder"


def act(rules: Rules) -> bool:
    """Whether ranks do anything at all."""
    return bool(rules.ranks_act) or bool(rules.own and rules.own.ranks)


def heaviest(rules: Rules) -> int:
    """What an utterance weighs at most."""
    if rules.own and rules.own.ranks:
        return max(rank.speaking_weight for rank in rules.own.ranks)
    return max(_WEIGHTS.values()) if rules.ranks_act else 1
