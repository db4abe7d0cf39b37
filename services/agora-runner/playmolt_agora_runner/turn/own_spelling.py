"""How models spell the actions and places of a plan's own world: by name, by label, or as the six are spelt."""

import re
import unicodedata
from typing import Final

from playmolt_schemas.stored.agora.own_world import CONTEST

from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.turn.spelling import NamedAction, spelling

_AROUND: Final = " \t\r\n\"'`*<>[](){}.,!?;:@“”‘’「」"
_SPACES: Final = re.compile(r"[\s_\-]+")
_HEAD: Final = re.compile(r"\s*(?:->|[|:(,→])\s*|\s+")


def action(spelt: str, scene: Scene) -> NamedAction | None:
    """The action that a text names, with the target or content that follows it."""
    known = _actions(scene)
    if scene.own is None:
        return NamedAction(CONTEST) if _plain(spelt) == CONTEST else spelling().action(spelt, scene.agents)
    whole = known.get(_plain(spelt))
    if whole is not None:
        return NamedAction(whole)
    found = _HEAD.search(spelt)
    head = known.get(_plain(spelt[: found.start()])) if found else None
    if found and head is not None:
        return _with_rest(head, spelt[found.end() :].strip(_AROUND), scene)
    usual = spelling().action(spelt, scene.agents)
    return usual if usual is not None and usual.action in known.values() else None


def target(spelt: str, scene: Scene) -> str:
    """The agent or place that a text means; one that means neither stays as it is."""
    places = {name: name for name in scene.own.titles} if scene.own else {}
    titled = {title: name for name, title in (scene.own.titles.items() if scene.own else ())}
    known = {_plain(text): name for text, name in (*titled.items(), *places.items())}
    known |= {_plain(name): name for name in scene.agents}
    return known.get(_plain(spelt)) or spelt


def _with_rest(name: str, rest: str, scene: Scene) -> NamedAction:
    offer = next((each for each in scene.own.offers if each.name == name), None) if scene.own else None
    if not rest or offer is None:
        return NamedAction(name)
    if offer.target != "none":
        return NamedAction(name, rest)
    return NamedAction(name, content=rest)


def _actions(scene: Scene) -> dict[str, str]:
    own = scene.own
    known = {_plain(CONTEST): CONTEST, "idle": "idle"}
    if own is not None:
        known |= {_plain(label): name for name, label in own.labels.items()}
        known |= {_plain(name): name for name in (*own.labels, *(offer.name for offer in own.offers))}
    return known


def _plain(text: str) -> str:
    folded = unicodedata.normalize("NFKC", text).casefold().strip(_AROUND)
    return _SPACES.sub(" ", folded).strip()
