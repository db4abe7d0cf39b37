"""What an agent of a plan's own world may do, and what it is shown of that world: values only."""

from collections.abc import Mapping

import msgspec
from playmolt_schemas.agora.turn import FnClass


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """Energy and influence, or `amount`: what the act names."""

    energy: int | str = 0
    influence: int | str = 0


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """An action available at the agent's place; `feasible`: it could succeed now."""

    name: str
    label: str = ""
    help: str = ""
    target: str = "none"
    says: bool = False
    least: int | None = None
    most: int | None = None
    goals: tuple[str, ...] = ()
    fn_class: FnClass | None = None
    feasible: bool = True
    cost: Numbers = Numbers()
    take: Mapping[str, int | str] = {}
    gain: Numbers = Numbers()
    give: Numbers = Numbers()


class OwnScene(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's turn in such a world.

    `labels` are those of all its actions, `titles` those of its places. `files` names what of the plan's folder the
    prompt is written with; `texts` are these files, once somebody has read them.
    """

    place_title: str
    rank_title: str = ""
    resources: Mapping[str, int] = {}
    offers: tuple[Offer, ...] = ()
    labels: Mapping[str, str] = {}
    titles: Mapping[str, str] = {}
    energy: bool = False
    files: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}
