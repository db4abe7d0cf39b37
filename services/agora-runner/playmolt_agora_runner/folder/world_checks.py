"""Whether a world can be lived in: actions that somebody can pay, places one can enter, an end that is not now."""

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Final

from msgspec import UNSET
from playmolt_schemas.agora.plan import PlanFault
from playmolt_schemas.instrument.definitions import is_alley
from playmolt_schemas.stored.agora.own_world import OwnAction, OwnWorld, RuleName
from playmolt_schemas.stored.agora.turn import Language
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.folder import texts
from playmolt_agora_runner.folder.source import FaultyParts, KeyLines
from playmolt_agora_runner.world import acts, ledger

_RATE_MOST = 10
_OF_ENERGY: Final = frozenset(("tax", "pool", "subsidy"))


def faults(
    rules: Rules, at: KeyLines, languages: Sequence[Language], homes: frozenset[str], before: Sequence[PlanFault]
) -> list[PlanFault]:
    """What is wrong with a world beside the faults that its file was read with."""
    own = rules.own
    if own is UNSET:
        return []
    spoilt = FaultyParts(_fields(before))
    # A text that is missing may be there under a wrong name.
    unknown = (fault.field.rpartition(".")[0] for fault in before if fault.code == "unknown_key")
    misspelt = tuple(f"{entry}." for entry in unknown if entry)
    found = [
        fault
        for fault in (
            *_named(own, at, spoilt),
            *_numbers(rules, own, at, spoilt),
            *_cited(rules, own, at, spoilt),
            *_stocks(own, at),
            *_texts(own, at, languages),
        )
        if not spoilt.any(fault.field) and not (fault.code == "missing_text" and fault.field.startswith(misspelt))
    ]
    # What names nothing cannot be paid for or entered, either.
    spoilt.fields.update(_fields(found))
    return [*found, *_payable(rules, own, at, spoilt), *_reachable(own, at, homes, spoilt), *_endless(own, at, spoilt)]


def _fields(faults: Iterable[PlanFault]) -> set[str]:
    """Where there are faults; an unknown key says nothing of others."""
    return {fault.field for fault in faults if fault.code != "unknown_key"}


def _named(own: OwnWorld, at: KeyLines, spoilt: FaultyParts) -> Iterator[PlanFault]:
    """What a file names and does not have."""
    if not own.places:
        yield at.fault("places", "a world needs at least one place: [places.NAME]")
    if not own.packaged and not own.actions:
        yield at.fault("actions", "a world needs at least one action: [actions.NAME]")
    named: list[tuple[str, Iterable[str], str]] = [
        *((f"places.{name}.to", each.to or (), "place") for name, each in own.places.items()),
        *((f"places.{name}.hears", each.hears, "place") for name, each in own.places.items()),
        *((f"actions.{name}.where", each.where, "place") for name, each in own.actions.items()),
        *(
            (f"resources.{name}.place", () if each.place is None else [each.place], "place")
            for name, each in own.resources.items()
        ),
        *((f"actions.{name}.take", each.take, "resource") for name, each in own.actions.items()),
        ("end.resource", own.end.resource, "resource"),
    ]
    for field, names, what in named:
        known = sorted(own.places if what == "place" else own.resources)
        for name in names:
            # An entry with a fault may be missing.
            if name not in known and not spoilt.any(f"{what}s.{name}"):
                choices = ", ".join(known) or "none"
                yield at.fault(field, f"{name} is not a {what} of this world; choose from {choices}")


def _numbers(rules: Rules, own: OwnWorld, at: KeyLines, spoilt: FaultyParts) -> Iterator[PlanFault]:
    unledgered = rules.energy.ledger == "none" and not spoilt.any("energy")
    for name, action in own.actions.items():
        field = f"actions.{name}"
        if action.amount is not None and action.amount.min > action.amount.max:
            yield at.fault(f"{field}.amount", "min must not be above max")
        if action.amount is None and _uses_amount(action) and not spoilt.any(f"{field}.amount"):
            yield at.fault(field, "names `amount` without an amount = { min, max }")
        for part in ("cost", "gain", "give"):
            if unledgered and getattr(action, part).energy:
                yield at.fault(f"{field}.{part}", "costs or gains energy, but energy.ledger is none")
        if spoilt.any(f"{field}.target", f"{field}.does"):
            continue
        if (action.give.energy or action.give.influence) and action.target != "agent":
            yield at.fault(f"{field}.give", 'needs target = "agent"')
        if action.does == "move" and action.target != "place":
            yield at.fault(f"{field}.target", 'must be "place" when does = "move"')
        if action.does == "whisper" and action.target != "agent":
            yield at.fault(f"{field}.target", 'must be "agent" when does = "whisper"')


def _cited(rules: Rules, own: OwnWorld, at: KeyLines, spoilt: FaultyParts) -> Iterator[PlanFault]:
    """Named rules that an action cites and does not fit."""
    unledgered = rules.energy.ledger == "none" and not spoilt.any("energy")
    for name, action in own.actions.items():
        for rule in action.rules or ():
            unfit = _unfit(rule, action, own)
            if unfit is None and unledgered and rule in _OF_ENERGY:
                unfit = "moves energy, but energy.ledger is none"
            if unfit is not None:
                yield at.fault(f"actions.{name}.rules", f"{rule} {unfit}")


def _unfit(rule: RuleName, action: OwnAction, own: OwnWorld) -> str | None:
    """What a row lacks for a rule that it cites."""
    if rule == "tax" and action.gain.energy in (0, "amount"):
        return "needs a gain of energy that is a whole number"
    if rule in ("elder", "crisis", "ties") and action.target != "agent":
        return 'needs target = "agent"'
    if rule == "leak" and action.does != "whisper":
        return 'needs does = "whisper"'
    if rule == "alley" and not any(map(is_alley, own.places)):
        return "needs a place named alley or alley_…"
    if rule in ("billboard", "set_tax", "subsidy") and action.amount is not None:
        return "reads the content itself: leave `amount` out"
    return None


def _stocks(own: OwnWorld, at: KeyLines) -> Iterator[PlanFault]:
    for name, resource in own.resources.items():
        if resource.start > resource.max:
            yield at.fault(f"resources.{name}.start", "must not be above max")
        if Fraction(resource.regrowth.rate) > _RATE_MOST:
            yield at.fault(f"resources.{name}.regrowth.rate", f"must be 0 to {_RATE_MOST}")


def _uses_amount(action: OwnAction) -> bool:
    values = [value for part in (action.cost, action.gain, action.give) for value in (part.energy, part.influence)]
    return "amount" in (*values, *action.take.values())


def _texts(own: OwnWorld, at: KeyLines, languages: Sequence[Language]) -> Iterator[PlanFault]:
    for field, text, needed, most in texts.shown(own):
        spoken = {language: text.in_language(language) for language in languages}
        yield from at.text_faults(field, spoken, needed=needed, most=most)
    for part, files in (("shell", own.shell), ("template", own.template)):
        for language in languages:
            if files and language not in files:
                yield at.fault(
                    f"{part}.{language}", f"is missing in {language}, a language of the plan", "missing_text"
                )


def _payable(rules: Rules, own: OwnWorld, at: KeyLines, spoilt: FaultyParts) -> Iterator[PlanFault]:
    """Actions that no agent can ever pay: the whole world if a newcomer can pay none, and each that takes too much."""
    paid = False
    for name, action in own.actions.items():
        if spoilt.any("energy", f"actions.{name}", *(f"resources.{taken}" for taken in action.take)):
            continue
        least = 0 if action.amount is None else action.amount.min
        energy = acts.valued(action.cost.energy, least) if rules.energy.ledger == "real" else 0
        if short := _beyond(rules, own, action, least, energy):
            yield at.fault(f"actions.{name}", short, "world_unpayable")
        elif name != "idle" and energy <= rules.energy.start:
            paid |= acts.valued(action.cost.influence, least) <= own.influence
    if not paid and not own.packaged and not spoilt.any("actions", "energy", "influence", "resources"):
        for name in own.actions:
            if name != "idle":
                message = "no newcomer can ever pay it or any other action"
                yield at.fault(f"actions.{name}", message, "world_unpayable")


def _beyond(rules: Rules, own: OwnWorld, action: OwnAction, least: int, energy: int) -> str | None:
    for name, value in action.take.items():
        wanted, held = acts.valued(value, least), own.resources[name].max
        if wanted > held:
            return f"takes {wanted} of {name}, which holds at most {held}"
    if energy > rules.energy.max:
        return f"costs {energy} energy, but an agent holds at most {rules.energy.max}"
    return None


def _reachable(own: OwnWorld, at: KeyLines, homes: frozenset[str], spoilt: FaultyParts) -> Iterator[PlanFault]:
    if own.places and not spoilt.any("places", "actions"):
        yield from _entered(own, at, homes)
    for name, action in own.actions.items():
        if spoilt.any("places", f"actions.{name}", *(f"resources.{taken}" for taken in action.take)):
            continue
        where = action.where or tuple(own.places)
        bound = {own.resources[taken].place for taken in action.take} - {None}
        if not any(bound <= {place} for place in where):
            yield at.fault(f"actions.{name}", "it is not available at any place", "world_unreachable")


def _entered(own: OwnWorld, at: KeyLines, homes: frozenset[str]) -> Iterator[PlanFault]:
    """Places that no agent can enter: one must start there or be able to move there."""
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
                f"places.{name}", "no agent can enter it: no reachable place leads to it", "world_unreachable"
            )


def _endless(own: OwnWorld, at: KeyLines, spoilt: FaultyParts) -> Iterator[PlanFault]:
    for name, least in own.end.resource.items():
        if not spoilt.any("end", f"resources.{name}") and own.resources[name].start <= least:
            message = f"a run would end at once: {name} starts with {own.resources[name].start}"
            yield at.fault(f"end.resource.{name}", message, "world_ends_at_once")


def ends_at_once(own: OwnWorld, seats: int) -> bool:
    """Whether so few agents are the end already."""
    start = {name: resource.start for name, resource in own.resources.items()}
    return ledger.exhausted(own, start, seats)
