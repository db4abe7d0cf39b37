"""What an agent sees at its turn, as values only. `prompts.render` puts them into the language of the run."""

from collections.abc import Mapping
from typing import Any

import msgspec
from playmolt_schemas.stored.agora.own_world import Amounts, Range
from playmolt_schemas.stored.agora.turn import FnClass, Language, PersonaCondition, PhaseName

from playmolt_agora_runner.world.state import Observation


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """An action available at the agent's place. `amount`: what its content says is a number in this range; `feasible`:
    it could succeed now."""

    name: str
    label: str = ""
    help: str = ""
    target: str = "none"
    says: bool = False
    amount: Range | None = None
    goals: tuple[str, ...] = ()
    fn_class: FnClass | None = None
    feasible: bool = True
    cost: Amounts = Amounts()
    take: Mapping[str, int | str] = {}
    gain: Amounts = Amounts()
    give: Amounts = Amounts()


class OwnScene(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's turn in such a world.

    `labels` are those of all its actions, `titles` those of its places, `texts` its shell and template.
    """

    place_title: str
    rank_title: str = ""
    resources: Mapping[str, int] = {}
    offers: tuple[Offer, ...] = ()
    labels: Mapping[str, str] = {}
    titles: Mapping[str, str] = {}
    texts: Mapping[str, str] = {}


class Scene(msgspec.Struct, frozen=True, kw_only=True):
    """One agent's turn. What a phase does not have is None or empty.

    `events` and `history` are the newest last, cut to what the agent's context allows; `context` is full everywhere but
    in Stage 1. `rank` is commoner, notable or elder. `supporters` counts supports received by agent, `supported` those
    given. `gini` has two decimals, as text. `rules` are the world's, as plain values: the texts name their numbers.
    """

    phase: PhaseName
    language: Language
    agent: str
    persona: str | None
    persona_condition: PersonaCondition
    place: str
    turn: int
    turns: int
    residents: int
    residents_start: int
    here: tuple[str, ...]
    agents: tuple[str, ...]
    """Everyone alive, in the order of the run's seats."""
    rules: dict[str, Any]
    energy: int | None = None
    energy_max: int | None = None
    influence: int | None = None
    rank: str | None = None
    supporters: dict[str, int] = {}
    supported: dict[str, int] = {}
    gini: str | None = None
    tax_rate: int | None = None
    treasury: int | None = None
    billboard: str | None = None
    crisis: str | None = None
    context: str = "full"
    events: tuple[Observation, ...] = ()
    history: tuple[Observation, ...] = ()
    persona_text: str | None = None
    """The text of a persona of the plan's folder."""
    own: OwnScene | None = None
    """What a world of the plan's folder shows beside."""
    actions: tuple[str, ...] = ()
    """All that the agent may do now; those at its place first."""
    contests: bool = False
    """Whether the agent may contest an act of the architect now."""
