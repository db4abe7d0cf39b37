"""How models spell keys, actions and targets: by the names of a scene and a table of synonyms (`synonyms.toml`)."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

import msgspec

from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.turn.scene import Scene

_AROUND: Final = " \t\r\n\"'`*<>[](){}.,!?;:@“”‘’「」"
_SPACES: Final = re.compile(r"[\s_\-]+")
_HEAD: Final = re.compile(r"\s*(->|[|:(<,→])\s*|\s+")
_MARK: Final = re.compile(r"\s*(?:->|[|:)>→])[\s|:)>→]*")
_NUMBERED: Final = re.compile(r"(\D*?)\s*0*(\d+)")
_AIMED: Final = frozenset(("support", "whisper", "move", "trade", "grant_subsidy"))
"""Actions of shipped worlds with an agent or a place as target."""

Entries = Mapping[str, Sequence[str]]


class NamedAction(msgspec.Struct, frozen=True):
    """An action as a text names it, with what else the text held."""

    action: str
    target: str | None = None
    content: str | None = None


@cache
def _synonyms() -> Mapping[str, Entries]:
    return texts.table("synonyms.toml")


@cache
def _index(part: str) -> Mapping[str, str]:
    return _plainly(_synonyms()[part])


def key(spelt: str) -> str | None:
    """The field that a key means."""
    keys = _index("keys")
    return keys.get(spelt) or keys.get(_plain(spelt))


def is_field(spelt: str) -> bool:
    """Whether a key is a field's own name, give or take its case, and no synonym."""
    return _plain(spelt) in _synonyms()["keys"]


def is_nothing(spelt: str) -> bool:
    """Whether a target is a word for none."""
    words = _synonyms()["nothing"]["words"]
    return spelt in words or _plain(spelt) in words


def declines(text: str) -> bool:
    """Whether a reply begins as refusals do."""
    begun = text.lower().replace("’", "'").lstrip("\"'*# ")
    return begun.startswith(tuple(_synonyms()["refusals"]["starts"]))


def action_in(spelt: str, scene: Scene) -> NamedAction | None:
    """The action that a text names, with the target or content that follows it.

    None when it names none, or two, or says more than a target and words.
    """
    if spelt in scene.actions:
        return NamedAction(spelt)
    actions, plain = _actions(scene), _plain(spelt)
    if plain in actions:
        return NamedAction(actions[plain])
    head, marked, rest = _headed(unicodedata.normalize("NFKC", spelt).strip(_AROUND))
    action = actions.get(_plain(head))
    if action is None:
        return _at_the_end(plain, actions, scene)
    # After a mark, only the first word can be a second action; after a space any word can.
    words = [_headed(rest)[0]] if marked else rest.split()
    if any(actions.get(_plain(word), action) != action for word in words):
        return None
    return _with_rest(action, rest, scene, marked=marked)


def _with_rest(action: str, rest: str, scene: Scene, *, marked: bool) -> NamedAction | None:
    """Read what follows an action: words, or a target and then words."""
    if action == "idle":
        return NamedAction(action)
    if not is_aimed(action, scene):
        return NamedAction(action, content=rest)
    aim, _, more = _MARK.sub("|", rest, count=1).partition("|")
    first, _, behind = rest.partition(" ")
    if not _is_target(aim, scene) and _is_target(first, scene):
        return NamedAction(action, first, behind.strip())
    return NamedAction(action, aim, more) if marked or _is_target(aim, scene) else None


def _at_the_end(plain: str, actions: Mapping[str, str], scene: Scene) -> NamedAction | None:
    """Read `시장으로 이동`: in Korean the verb is at the end."""
    aim, _, verb = plain.rpartition(" ")
    if verb.isascii() or verb not in actions or not _is_target(aim, scene):
        return None
    return NamedAction(actions[verb], aim)


def is_aimed(action: str, scene: Scene) -> bool:
    """Whether an action has an agent or a place as target."""
    offers = scene.own.offers if scene.own else ()
    return next((offer.target != "none" for offer in offers if offer.name == action), action in _AIMED)


def target_in(spelt: str, scene: Scene) -> str:
    """The place or agent that a text means; a text that means neither stays as it is."""
    places, agents = _places(scene), _agents(scene.agents)
    for plain in _readings(spelt):
        found = places.get(plain) or agents.get(plain) or agents.get(_unpadded(plain))
        if found:
            return found
    return spelt


def _is_target(spelt: str, scene: Scene) -> bool:
    found = target_in(spelt, scene)
    return found in scene.agents or found in _places(scene).values()


def _actions(scene: Scene) -> Mapping[str, str]:
    """The usual ones, whether or not the scene has them, and those of the scene by name and label."""
    labels = scene.own.labels if scene.own else {}
    return {**_index("actions"), **_plainly({name: (labels.get(name, name),) for name in scene.actions})}


def _places(scene: Scene) -> Mapping[str, str]:
    return _plainly({name: (title,) for name, title in scene.own.titles.items()}) if scene.own else _index("places")


@lru_cache(maxsize=256)
def _agents(agents: tuple[str, ...]) -> Mapping[str, str]:
    return {form: agent for agent in agents for form in (_plain(agent), _unpadded(_plain(agent)))}


def _readings(spelt: str) -> list[str]:
    """A target with and without the words that join it to its action."""
    plain, joints = _plain(spelt), _synonyms()["joints"]
    readings = [plain]
    words = plain.split(" ")
    while len(words) > 1 and words[0] in joints["before"]:
        words = words[1:]
        readings.append(" ".join(words))
    last = readings[-1]
    return readings + [last.removesuffix(ending).strip() for ending in joints["after"] if last.endswith(ending)]


def _headed(spelt: str) -> tuple[str, bool, str]:
    """Split a text at its first mark or space: the part before, whether it was a mark, the part after."""
    found = _HEAD.search(spelt)
    if found is None:
        return spelt, False, ""
    return spelt[: found.start()], found[1] is not None, spelt[found.end() :].strip()


def _plainly(entries: Entries) -> dict[str, str]:
    """Each spelling of an entry in plain form → its name; the names themselves before other spellings."""
    own = {_plain(name): name for name in entries}
    return {_plain(spelt): name for name, others in entries.items() for spelt in others} | own


def _plain(spelt: str) -> str:
    folded = unicodedata.normalize("NFKC", spelt).casefold().strip(_AROUND)
    return _SPACES.sub(" ", folded).strip()


def _unpadded(plain: str) -> str:
    """Read `agent 3`, `agent3` and `agent 03` alike."""
    found = _NUMBERED.fullmatch(plain)
    return f"{found[1].strip()} {found[2]}" if found else plain
