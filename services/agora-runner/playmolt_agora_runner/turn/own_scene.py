"""The additional part of a scene in a plan's own world: titles, resources, available actions."""

from playmolt_schemas.stored.agora.own_world import CONTEST, Amounts, OwnWorld
from playmolt_schemas.stored.agora.turn import Language

from playmolt_agora_runner.turn.scene import Offer, OwnScene
from playmolt_agora_runner.world import acts, contest
from playmolt_agora_runner.world.named_rules import ActAttempt
from playmolt_agora_runner.world.state import RunState
from playmolt_agora_runner.world.world import Row, is_alley


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
        offers=_offers(state, agent),
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


def _offers(state: RunState, agent: str) -> tuple[Offer, ...]:
    """The actions of its place, including those it cannot pay for; the world's own before those of a shipped one."""
    attempt, feasible = ActAttempt(state, agent), acts.feasible(state, agent)
    rows = sorted(attempt.world.rows.items(), key=lambda named: named[1].packaged)
    found = [
        _offer(attempt, name, row, possible=name in feasible)
        for name, row in rows
        if row.listed and (row.packaged or acts.offered_at(attempt, row)) and acts.open_to(state, agent, name)
    ]
    contesting = [Offer(name=CONTEST, feasible=True)] if contest.is_open(state, agent) else []
    return (*found, *contesting)


def _offer(attempt: ActAttempt, name: str, row: Row, *, possible: bool) -> Offer:
    amount, language = row.amount, attempt.state.run.language
    paid = "alley" not in row.rules or is_alley(attempt.place)
    return Offer(
        name=name,
        label=row.label.in_language(language),
        help=row.help.in_language(language),
        target=row.target,
        says=row.does in ("say", "whisper"),
        least=None if amount is None else amount.min,
        most=None if amount is None else amount.max,
        goals=acts.goals(attempt, row) if row.target == "place" else (),
        fn_class=attempt.world.class_of(name),
        feasible=possible,
        cost=row.cost,
        take=dict(row.take),
        gain=row.gain if paid else Amounts(),
        give=row.give,
    )
