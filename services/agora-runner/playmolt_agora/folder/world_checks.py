"""Whether a world can be lived in: actions that somebody can pay, places one can enter, an end that is not now."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from msgspec import UNSET
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.agora.turn import ACTIONS, Language

from playmolt_agora.folder.source import Placed
from playmolt_agora.world import resources
from playmolt_agora.world.own_world import Amounts, Both, OwnAction, OwnWorld
from playmolt_agora.world.worlds import Rules

_RATE_MOST = 10
_TITLE_CHARS = 60


def faults(rules: Rules, at: Placed, languages: Sequence[Language], homes: frozenset[str]) -> list[PlanFault]:
    own = rules.own
    if own is UNSET:
        return []
    found = [*_named(own, at), *_numbers(rules, own, at), *_texts(own, at, languages)]
    # What names nothing cannot be paid for or entered, either.
    return found or [*_payable(rules, own, at), *_reachable(own, at, homes), *_endless(own, at)]


def _named(own: OwnWorld, at: Placed) -> Iterator[PlanFault]:
    """What a file names and does not have."""
    if not own.places:
        yield at.fault("places", "a world has at least one place: [places.NAME]")
    if not own.packaged and not own.actions:
        yield at.fault("actions", "a world has at least one action: [actions.NAME]")
    for name, place in own.places.items():
        to = () if place.to is UNSET else place.to
        yield from _unknown(at, f"places.{name}.to", to, own.places, "place")
        yield from _unknown(at, f"places.{name}.hears", place.hears, own.places, "place")
    for name, action in own.actions.items():
        yield from _unknown(at, f"actions.{name}.where", action.where, own.places, "place")
        yield from _unknown(at, f"actions.{name}.take", action.take, own.resources, "resource")
    for name, resource in own.resources.items():
        where = () if resource.place is None else (resource.place,)
        yield from _unknown(at, f"resources.{name}.place", where, own.places, "place")
    yield from _unknown(at, "end.resource", own.end.resource, own.resources, "resource")


def _unknown(at: Placed, field: str, names: Iterable[str], known: Iterable[str], what: str) -> Iterator[PlanFault]:
    there = tuple(known)
    for name in names:
        if name not in there:
            yield at.fault(field, f"{name} is no {what} of this world; there are {', '.join(there) or 'none'}")


def _numbers(rules: Rules, own: OwnWorld, at: Placed) -> Iterator[PlanFault]:
    for name, action in own.actions.items():
        field = f"actions.{name}"
        if action.amount is not None and action.amount.min > action.amount.max:
            yield at.fault(f"{field}.amount", "min must not be above max")
        if action.amount is None and _uses_amount(action):
            yield at.fault(field, "names `amount` without an amount = { min, max }")
        if rules.energy.ledger == "none" and any(part.energy for part in (action.cost, action.gain, action.give)):
            yield at.fault(field, "costs or gains energy, and energy.ledger is none")
        if _moves(action.give) and action.target != "agent":
            yield at.fault(f"{field}.give", 'needs target = "agent"')
        if action.does == "move" and action.target != "place":
            yield at.fault(f"{field}.target", 'of what does = "move" is "place"')
        if action.does == "whisper" and action.target != "agent":
            yield at.fault(f"{field}.target", 'of what does = "whisper" is "agent"')
    for name, resource in own.resources.items():
        if resource.start > resource.max:
            yield at.fault(f"resources.{name}.start", "must not be above max")
        if Fraction(resource.regrowth.rate) > _RATE_MOST:
            yield at.fault(f"resources.{name}.regrowth.rate", f"must be 0 to {_RATE_MOST}")


def _uses_amount(action: OwnAction) -> bool:
    values = [value for part in (action.cost, action.gain, action.give) for value in (part.energy, part.influence)]
    return "amount" in (*values, *action.take.values())


def _moves(part: Amounts) -> bool:
    return bool(part.energy or part.influence)


def _texts(own: OwnWorld, at: Placed, languages: Sequence[Language]) -> Iterator[PlanFault]:
    yield from _titled("title", own.title, at, languages, needed=False)
    for name, place in own.places.items():
        yield from _titled(f"places.{name}.title", place.title, at, languages, needed=not own.packaged)
    for name, action in own.actions.items():
        yield from _titled(f"actions.{name}.label", action.label, at, languages, needed=name not in ACTIONS)
    for number, rank in enumerate(own.ranks):
        yield from _titled(f"ranks[{number}].name", rank.name, at, languages, needed=True)
    for part, files in (("shell", own.shell), ("template", own.template)):
        for language in languages:
            if files and language not in files:
                yield at.fault(
                    f"{part}.{language}", f"there is none in {language}, which the plan speaks", "missing_text"
                )


def _titled(field: str, text: Both, at: Placed, languages: Sequence[Language], *, needed: bool) -> Iterator[PlanFault]:
    for language in languages:
        told = text.told(language)
        if needed and not told.strip():
            yield at.fault(f"{field}.{language}", f"has no text in {language}, which the plan speaks", "missing_text")
        if len(told) > _TITLE_CHARS:
            yield at.fault(f"{field}.{language}", f"has more than {_TITLE_CHARS} characters")


def _payable(rules: Rules, own: OwnWorld, at: Placed) -> Iterator[PlanFault]:
    """Actions that nobody can ever pay: the whole world where a newcomer can pay none, each whose take is too much."""
    paid = False
    for name, action in own.actions.items():
        least = 0 if action.amount is None else action.amount.min
        short = _beyond(rules, own, action, least)
        if short:
            yield at.fault(f"actions.{name}", short, "world_unpayable")
        elif name != "idle":
            paid = paid or _newcomer_pays(rules, own, action, least)
    if not paid and not own.packaged:
        for name in own.actions:
            if name != "idle":
                message = "no newcomer can ever pay it, and there is no other action that one could"
                yield at.fault(f"actions.{name}", message, "world_unpayable")


def _beyond(rules: Rules, own: OwnWorld, action: OwnAction, least: int) -> str | None:
    for name, value in action.take.items():
        wanted = least if value == "amount" else int(value)
        if wanted > own.resources[name].max:
            return f"takes {wanted} of {name}, which holds at most {own.resources[name].max}"
    cost = _least(action.cost.energy, least)
    if rules.energy.ledger == "real" and cost > rules.energy.max:
        return f"costs {cost} energy, and nobody can hold more than {rules.energy.max}"
    return None


def _newcomer_pays(rules: Rules, own: OwnWorld, action: OwnAction, least: int) -> bool:
    real = rules.energy.ledger == "real"
    energy = not real or _least(action.cost.energy, least) <= rules.energy.start
    return energy and _least(action.cost.influence, least) <= own.influence


def _least(value: int | str, least: int) -> int:
    return least if value == "amount" else int(value)


def _reachable(own: OwnWorld, at: Placed, homes: frozenset[str]) -> Iterator[PlanFault]:
    """Places that nobody can stand in: somebody has to start there, or be able to move there."""
    entered = {next(iter(own.places)), *homes.intersection(own.places)}
    moving = own.packaged or any(action.does == "move" for action in own.actions.values())
    waiting = list(entered) if moving else []
    while waiting:
        for goal in own.goals(waiting.pop()):
            if goal not in entered:
                entered.add(goal)
                waiting.append(goal)
    for name in own.places:
        if name not in entered:
            yield at.fault(
                f"places.{name}", "nobody can enter it: no place that can be entered leads to it", "world_unreachable"
            )
    for name, action in own.actions.items():
        where = action.where or tuple(own.places)
        bound = {own.resources[taken].place for taken in action.take} - {None}
        if not any(bound <= {place} for place in where):
            yield at.fault(f"actions.{name}", "there is no place where it could be done", "world_unreachable")


def _endless(own: OwnWorld, at: Placed) -> Iterator[PlanFault]:
    held = {name: resource.start for name, resource in own.resources.items()}
    below = [name for name, least in own.end.resource.items() if held[name] <= least]
    for name in below:
        yield at.fault(
            f"end.resource.{name}", f"a run would end at once: {name} starts with {held[name]}", "world_ends_at_once"
        )


def ends_at_once(own: OwnWorld, seats: int) -> bool:
    """Whether so few agents are the end already."""
    start = {name: resource.start for name, resource in own.resources.items()}
    return resources.exhausted(own, start, seats)
