"""How models spell actions, targets and keys, read off a table of Korean and English synonyms (`synonyms.toml`)."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

import msgspec
from playmolt_schemas.stored.agora.own_world import CONTEST
from playmolt_schemas.stored.agora.turn import ACTIONS, SKILLS

from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.turn.scene import OwnScene, Scene

_AROUND: Final = " \t\r\n\"'`*<>[](){}.,!?;:@“”‘’「」"
_SPACES: Final = re.compile(r"[\s_\-]+")
_HEAD: Final = re.compile(r"\s*(->|[|:(<,→])\s*|\s+")
_OPENING: Final = re.compile(r"\s*(?:->|[|:(,→])\s*|\s+")
_MARK: Final = re.compile(r"\s*(?:->|[|:)>→])[\s|:)>→]*")
_NUMBERED: Final = re.compile(r"(\D*?)\s*0*(\d+)")

_NAMES: Final = frozenset((*ACTIONS, *SKILLS))
AIMED: Final = frozenset(("support", "whisper", "move", "trade", "grant_subsidy"))
"""Actions with an agent or a place as target."""

Entries = Mapping[str, Sequence[str]]


class NamedAction(msgspec.Struct, frozen=True):
    """An action as a text names it, with what else the text held."""

    action: str
    target: str | None = None
    content: str | None = None


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keys: Entries
    actions: Entries
    places: Entries
    nothing: Entries
    joints: Entries
    refusals: Entries


class ActionNames:
    """Looks spellings up in the table of synonyms."""

    def __init__(self, table: _Table) -> None:
        self._keys = _index(table.keys)
        self._actions = _index(table.actions)
        self._places = _index(table.places)
        self._nothing = frozenset(table.nothing["words"])
        self._before = frozenset(table.joints["before"])
        self._after = tuple(table.joints["after"])
        self.refusals = tuple(table.refusals["starts"])

    def key(self, spelt: str) -> str | None:
        """The field that a key means."""
        return self._keys.get(spelt) or self._keys.get(_plain(spelt))

    def is_name(self, spelt: str) -> bool:
        """Whether a key is a field's own name, give or take its case, and no synonym."""
        return _plain(spelt) == self.key(spelt)

    def action(self, spelt: str, agents: Sequence[str]) -> NamedAction | None:
        """The action that a text names; None when it names none, or two, or says more than a target and words."""
        if spelt in _NAMES:
            return NamedAction(spelt)
        plain = _plain(spelt)
        if plain in self._actions:
            return NamedAction(self._actions[plain])
        head, marked, rest = _headed(unicodedata.normalize("NFKC", spelt).strip(_AROUND))
        action = self._actions.get(_plain(head))
        if action is None:
            return self._at_the_end(plain, agents)
        # After a mark, only the first word can be a second action; after a space any word can.
        words = [_headed(rest)[0]] if marked else rest.split()
        if any(self._actions.get(_plain(word), action) != action for word in words):
            return None
        return self._with(action, rest, agents, marked=marked)

    def _with(self, action: str, rest: str, agents: Sequence[str], *, marked: bool) -> NamedAction | None:
        """Read what follows an action: words, or a target and then words."""
        if action == "idle":
            return NamedAction(action)
        if action not in AIMED:
            return NamedAction(action, content=rest)
        aim, _, words = _MARK.sub("|", rest, count=1).partition("|")
        if self._known(aim, agents):
            return NamedAction(action, aim, words)
        first, _, more = rest.partition(" ")
        if self._known(first, agents):
            return NamedAction(action, first, more.strip())
        return NamedAction(action, aim, words) if marked else None

    def _at_the_end(self, plain: str, agents: Sequence[str]) -> NamedAction | None:
        """Read `시장으로 이동`: in Korean the verb comes last."""
        aim, _, verb = plain.rpartition(" ")
        action = self._actions.get(verb)
        if action is None or verb.isascii() or not self._known(aim, agents):
            return None
        return NamedAction(action, aim)

    def target(self, spelt: str, agents: Sequence[str]) -> str:
        """The place or agent that a text means; a text that means neither stays as it is."""
        known = _agents(tuple(agents))
        for plain in self._readings(spelt):
            found = self._places.get(plain) or known.get(plain) or known.get(_unpadded(plain))
            if found:
                return found
        return spelt

    def is_nothing(self, spelt: str) -> bool:
        """Whether a target is a word for none."""
        return spelt in self._nothing or _plain(spelt) in self._nothing

    def _known(self, spelt: str, agents: Sequence[str]) -> bool:
        found = self.target(spelt, agents)
        return found in agents or found in self._places.values()

    def _readings(self, spelt: str) -> list[str]:
        plain = _plain(spelt)
        readings = [plain]
        words = plain.split(" ")
        while len(words) > 1 and words[0] in self._before:
            words = words[1:]
            readings.append(" ".join(words))
        last = readings[-1]
        readings += [last.removesuffix(ending).strip() for ending in self._after if last.endswith(ending)]
        return readings


@cache
def spelling() -> ActionNames:
    return ActionNames(msgspec.convert(texts.table("synonyms.toml"), _Table))


def _headed(spelt: str) -> tuple[str, bool, str]:
    """Split a text at its first mark or space: the part before, whether it was a mark, the part after."""
    found = _HEAD.search(spelt)
    if found is None:
        return spelt, False, ""
    return spelt[: found.start()], found[1] is not None, spelt[found.end() :].strip()


def _index(entries: Entries) -> dict[str, str]:
    own = {_plain(name): name for name in entries} | {name: name for name in entries}
    return {_plain(spelt): name for name, others in entries.items() for spelt in others} | own


@lru_cache(maxsize=256)
def _agents(agents: tuple[str, ...]) -> Mapping[str, str]:
    return {form: agent for agent in agents for form in (_plain(agent), _unpadded(_plain(agent)))}


def _plain(spelt: str) -> str:
    folded = unicodedata.normalize("NFKC", spelt).casefold().strip(_AROUND)
    return _SPACES.sub(" ", folded).strip()


def _unpadded(plain: str) -> str:
    """Read `agent 3`, `agent3` and `agent 03` alike."""
    found = _NUMBERED.fullmatch(plain)
    return f"{found[1].strip()} {found[2]}" if found else plain


def action_in(spelt: str, scene: Scene) -> NamedAction | None:
    """The action that a text names, with the target or content that follows it: in a world of a plan's folder also by
    its label."""
    own = scene.own
    if own is None:
        contest = scene.contests and _plain(spelt) == CONTEST
        return NamedAction(CONTEST) if contest else spelling().action(spelt, scene.agents)
    known = {_plain(own.labels.get(name, name)): name for name in scene.actions}
    known |= {_plain(name): name for name in scene.actions}
    whole = known.get(_plain(spelt))
    if whole is not None:
        return NamedAction(whole)
    found = _OPENING.search(spelt)
    head = known.get(_plain(spelt[: found.start()])) if found else None
    if found and head is not None:
        return _with_rest(head, spelt[found.end() :].strip(_AROUND), own)
    usual = spelling().action(spelt, scene.agents)
    return usual if usual is not None and usual.action in scene.actions else None


def target_in(spelt: str, own: OwnScene, agents: Sequence[str]) -> str:
    """The agent or place that a text means, by name or title; one that means neither stays as it is."""
    known = {_plain(title): name for name, title in own.titles.items()}
    known |= {_plain(name): name for name in (*own.titles, *agents)}
    return known.get(_plain(spelt)) or spelt


def _with_rest(name: str, rest: str, own: OwnScene) -> NamedAction:
    offer = next((each for each in own.offers if each.name == name), None)
    if not rest or offer is None:
        return NamedAction(name)
    return NamedAction(name, content=rest) if offer.target == "none" else NamedAction(name, rest)
