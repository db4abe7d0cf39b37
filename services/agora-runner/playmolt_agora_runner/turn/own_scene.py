"""The additional part of a scene in a plan's own world: titles, resources, available actions."""

import msgspec
from playmolt_schemas.stored.agora.own_world import CONTEST, OwnAction, OwnWorld
from playmolt_schemas.stored.agora.turn import ACTIONS, FnClass, Language

from playmolt_agora_runner.turn.scene import Numbers, Offer, OwnScene
from playmolt_agora_runner.world import acts, contest, own_acts, places
from playmolt_agora_runner.world.state import RunState


def own_scene(state: RunState, agent: str) -> OwnScene | None:
    """An agent's view of its world; None in a packaged one."""
    own = state.rules.own
    if not own:
        return None
    language, place = state.run.language, state.agents[agent].place
    shown = {
        name: state.resources.get(name, 0)
        for name, each in own.resources.items()
        if each.shown and each.place in (None, place)
    }
    rank = own.rank(state.agents[agent].influence)
    return OwnScene(
        place_title=_title(own, place, language),
        rank_title=rank.name.in_language(language) if rank else "",
        resources=shown,
        offers=_offers(state, own, agent),
        labels={name: action.label.in_language(language) or name for name, action in own.actions.items()},
        titles={name: _title(own, name, language) for name in own.places},
        energy=state.rules.energy.ledger != "none",
        files=_files(state, agent),
    )


def _title(own: OwnWorld, place: str, language: Language) -> str:
    return own.places[place].title.in_language(language) or place


def _files(state: RunState, agent: str) -> dict[str, str]:
    """The files of the plan's folder in its prompt, by part: shell, template, persona."""
    own, language, seat = state.rules.own, state.run.language, state.seat(agent)
    files = state.run.files or {}
    persona = f"personas/{seat.persona}.toml"
    found = {"persona": persona} if persona in files else {}
    if own:
        found |= {"shell": f"texts/{own.shell[language]}"} if language in own.shell else {}
        found |= {"template": f"texts/{own.template[language]}"} if language in own.template else {}
    return found


def _offers(state: RunState, own: OwnWorld, agent: str) -> tuple[Offer, ...]:
    """The actions of its place, including those it cannot pay for."""
    place, language = state.agents[agent].place, state.run.language
    feasible = acts.feasible(state, agent)
    mine = [
        _offer(own, name, action, place, language, possible=name in feasible)
        for name, action in own.actions.items()
        if place in (action.where or own.places) and all(_here(own, taken, place) for taken in action.take)
    ]
    packaged = [name for name in ACTIONS if acts.known(state, name) and name not in own.actions]
    found = [_packaged(state, own, name, place, possible=name in feasible) for name in packaged]
    contesting = [Offer(name=CONTEST, feasible=True)] if contest.is_open(state, agent) else []
    return (*mine, *found, *contesting)


def _here(own: OwnWorld, resource: str, place: str) -> bool:
    return own.resources[resource].place in (None, place)


def _offer(own: OwnWorld, name: str, action: OwnAction, place: str, language: Language, *, possible: bool) -> Offer:
    amount = action.amount
    return Offer(
        name=name,
        label=action.label.in_language(language),
        help=action.help.in_language(language),
        target=action.target,
        says=action.does in ("say", "whisper"),
        least=None if amount is None else amount.min,
        most=None if amount is None else amount.max,
        goals=_goals(own, action, place),
        fn_class=own_acts.class_of(own, name),
        feasible=possible,
        cost=Numbers(energy=action.cost.energy, influence=action.cost.influence),
        take=dict(action.take),
        gain=Numbers(energy=action.gain.energy, influence=action.gain.influence),
        give=Numbers(energy=action.give.energy, influence=action.give.influence),
    )


def _goals(own: OwnWorld, action: OwnAction, place: str) -> tuple[str, ...]:
    if action.target != "place":
        return ()
    return own.goals(place) if action.does == "move" else tuple(own.places)


_TARGETS = {"support": "agent", "whisper": "agent", "move": "place"}


def _packaged(state: RunState, own: OwnWorld, name: str, place: str, *, possible: bool) -> Offer:
    """One of the six actions as in the packaged world."""
    costs, rewards = state.rules.costs, state.rules.rewards
    fn_class: FnClass | None = own_acts.class_of(own, name)
    plain = Offer(
        name=name,
        target=_TARGETS.get(name, "none"),
        says=name in ("speak", "whisper"),
        goals=own.goals(place) if name == "move" else (),
        fn_class=fn_class,
        feasible=possible,
        cost=Numbers(energy=getattr(costs, name)),
    )
    if name == "trade":
        return msgspec.structs.replace(plain, gain=Numbers(energy=rewards.trade))
    if name == "support":
        given = Numbers(energy=rewards.support_energy, influence=rewards.support_influence)
        return msgspec.structs.replace(plain, give=given)
    if name == "speak" and places.is_alley(place):
        return msgspec.structs.replace(plain, gain=Numbers(energy=rewards.speak_alley))
    return plain
