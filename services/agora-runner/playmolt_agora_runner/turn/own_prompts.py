"""The prompts of a plan's own worlds: a shell and a template of its folder, or the generic pair, with their slots."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec
from playmolt_schemas.canonical import digest
from playmolt_schemas.stored.agora.own_world import Amounts
from playmolt_schemas.stored.agora.turn import Language

from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.turn.scene import Offer, OwnScene

SLOTS: Final = (
    "agent_id", "persona", "place", "place_title", "energy", "influence", "rank", "resources", "others", "events",
    "history", "actions", "turn", "turns", "residents",
)  # fmt: skip
SLOT: Final = re.compile(r"\{([a-z_]+)\}")


class RoomPhrases(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The words of one language (`rooms.toml`)."""

    shell: str
    template: str
    nobody: str
    none: str
    resource: str
    did: str
    did_target: str
    did_amount: str
    did_target_amount: str
    contested: str
    undone: str
    target_agent: str
    target_place: str
    amount: str
    cost: str
    take: str
    gain: str
    give: str
    energy: str
    influence: str
    named: str
    unknown_action: str
    labels: Mapping[str, str]
    reasons: Mapping[str, str]


@cache
def words(language: Language) -> RoomPhrases:
    return msgspec.convert(texts.table("rooms.toml")[language], RoomPhrases)


@cache
def version() -> str:
    """The version of the generic texts, which changes with any of them."""
    return digest([words(language) for language in texts.LANGUAGES])[:16]


def filled(text: str, slots: Mapping[str, object]) -> str:
    """Fill the slots of a text in one pass; other braces stay."""
    return SLOT.sub(lambda found: str(slots[found[1]]) if found[1] in slots else found[0], text)


def shell(own: OwnScene, language: Language) -> str:
    return own.texts.get("shell") or words(language).shell


def template(own: OwnScene, language: Language) -> str:
    return own.texts.get("template") or words(language).template


def resources(own: OwnScene, language: Language) -> str:
    line = words(language).resource
    return "\n".join(filled(line, {"name": name, "held": held}) for name, held in own.resources.items())


def actions(own: OwnScene, language: Language) -> str:
    """A line for each action of the place: its name, costs and gains."""
    return "\n".join(action_line(offer, language) for offer in own.offers)


def action_line(offer: Offer, language: Language) -> str:
    said = words(language)
    head = [f"- {offer.name}"]
    if offer.target != "none":
        head.append(said.target_agent if offer.target == "agent" else said.target_place)
    if offer.most is not None:
        head.append(filled(said.amount, {"least": offer.least, "most": offer.most}))
    label = offer.label or said.labels.get(offer.name, offer.name)
    text = f"{label}. {offer.help}" if offer.help else label
    notes = [*_notes(offer, said), *([f"({'/'.join(offer.goals)})"] if offer.goals else [])]
    return f"{' '.join(head)}: {text}{' — ' + ', '.join(notes) if notes else ''}"


def _notes(offer: Offer, said: RoomPhrases) -> Iterator[str]:
    for line, numbers in ((said.cost, offer.cost), (said.gain, offer.gain), (said.give, offer.give)):
        what = ", ".join(_parts(numbers, said))
        if what:
            yield filled(line, {"what": what})
    for name, value in offer.take.items():
        yield filled(said.take, {"what": f"{name} {_value(value, said)}"})


def _parts(numbers: Amounts, said: RoomPhrases) -> Iterator[str]:
    for line, value in ((said.energy, numbers.energy), (said.influence, numbers.influence)):
        if value:
            yield filled(line, {"value": _value(value, said)})


def _value(value: object, said: RoomPhrases) -> str:
    return said.named if value == "amount" else str(value)


EVENTS: Final = frozenset(("failed", "did", "contested", "undone"))
"""Kinds of observations for which a researcher's world may define the line."""


def event_line(kind: str, values: Mapping[str, Any], own: OwnScene | None, language: Language) -> str | None:
    """The line of an observation that exists only in such worlds or with acting ranks; None for others."""
    said = words(language)
    if kind == "failed":
        return said.reasons.get(str(values["reason"])) if own or values["reason"] == "nothing_to_contest" else None
    if kind == "did":
        parts = [name for name in ("target", "amount") if values.get(name) is not None]
        line: str = getattr(said, "_".join(("did", *parts)))
        name = str(values["action"])
        action = own.labels.get(name, name) if own else name
        return filled(line, {**values, "action": action})
    if kind == "contested":
        return filled(said.contested, values)
    if kind == "undone":
        return filled(said.undone, {**values, "agents": ", ".join(values["agents"])})
    return None
