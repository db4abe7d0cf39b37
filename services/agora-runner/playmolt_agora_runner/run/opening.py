"""Checks of a run's specification, and its first event."""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.stored.agora.run import RunOpened
from playmolt_schemas.stored.agora.turn import RunSpec, Seat
from playmolt_schemas.stored.agora.world import Rules

from playmolt_agora_runner.run.forks import PERSONAS
from playmolt_agora_runner.turn import scenes
from playmolt_agora_runner.world import chance, world, worlds


def opened(spec: RunSpec, content_version: str, texts_version: str) -> RunOpened | tuple[FieldFault, ...]:
    """Event 1 of a run, or every fault of its spec."""
    rules = rules_of(spec)
    if not isinstance(rules, Rules):
        return rules
    return tuple(_faults(spec, rules)) or RunOpened(
        spec=spec,
        rules_version=worlds.RULES_VERSION,
        content_version=content_version,
        world=worlds.version(spec.phase, rules, texts_version),
        rules=rules,
        seats=_placed(spec, rules),
    )


def rules_of(spec: RunSpec) -> Rules | tuple[FieldFault, ...]:
    """The rules of a run: its room's own, or those of a packaged world with the plan's changes."""
    if not spec.world:
        return worlds.rules(spec.packaged, spec.rules)
    try:
        return msgspec.convert(spec.world, Rules)
    except msgspec.ValidationError as error:
        return (FieldFault("world", str(error)),)


def faults(spec: RunSpec) -> tuple[FieldFault, ...]:
    """Every fault for which a run with this spec could never be opened."""
    rules = rules_of(spec)
    return tuple(_faults(spec, rules)) if isinstance(rules, Rules) else rules


def _placed(spec: RunSpec, rules: Rules) -> tuple[Seat, ...]:
    if rules.persona_assignment == "fixed":
        return spec.seats
    return tuple(replace(seat, home=home) for seat, home in zip(spec.seats, chance.homes(spec), strict=True))


def _faults(spec: RunSpec, rules: Rules) -> Iterator[FieldFault]:
    if "epochs" in spec.rules and rules.epochs != spec.turns:
        yield FieldFault("rules.epochs", f"says {rules.epochs}, but the run has {spec.turns} turns: set `turns`")
    neutral = spec.packaged == "phase2" and not rules.own
    for seat in spec.seats:
        if neutral and seat.persona in PERSONAS and seat.persona not in scenes.LEVELS:
            yield FieldFault("seats.persona", f"{seat.persona} has no text in Phase 2, only {', '.join(scenes.LEVELS)}")
    homes = [seat.home for seat in spec.seats]
    for home in sorted(set(homes)):
        if home not in rules.places:
            yield FieldFault(
                "seats.home", f"{home} is not a place of this world; choose from {', '.join(rules.places)}"
            )
            continue
        room = world.made(rules, spec.packaged).places[home].capacity
        if room and homes.count(home) > room:
            yield FieldFault("seats.home", f"{home} has room for {room} agents, not {homes.count(home)}")
