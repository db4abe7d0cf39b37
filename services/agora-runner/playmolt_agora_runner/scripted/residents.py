"""Scripted models for Agora: distinct, seeded profiles that receive what the prompt shows and nothing else.

Each is drawn to its persona, its place and what is at stake to a different degree, some lose their persona with time,
all now and then answer in another form than asked. They replace models when no key is configured; reports say so.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Final, Literal, TypeVar

import msgspec
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedTurn, generic
from playmolt_schemas.stored.agora.turn import ACTIONS, SKILLS, Action, Language

from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.turn.spelling import NamedAction
from playmolt_agora_runner.world import worlds

T = TypeVar("T")
_HUNGRY: Final = 50
_FIRST: Final = 2
"""Messages of a request that is the first of its turn."""
_STRAY: Final = 2
"""Of a weight of a hundred, the part kept if the act cannot succeed: models try anyway."""
_SKILL_PERCENT: Final = 8
_MARKET: Final = "market"
_GOALS: Final = ("plaza", "alley_a", "alley_b", "alley_c", _MARKET)
"""In the order of the prompts, where draws count; in Phase 2 that is the order of its places."""


_Weights = Mapping[Action, int]
_Slip = Literal["fenced", "prose", "respelt", "garbled", "invalid", "refusal"]


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a scripted model is like; see `scripted.toml`."""

    pull: int
    span: int
    fade: int
    weights: _Weights
    calm: _Weights
    slips: Mapping[_Slip, int]


Phrases = Mapping[str, Sequence[str]]
"""What a scripted model says, in one language."""


class _Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    profiles: Mapping[str, Profile]
    personas: Mapping[str, _Weights]
    homes: Mapping[str, tuple[str, ...]]
    phrases: Mapping[Language, Phrases]
    marks: Mapping[Language, Phrases]
    """What each persona says."""


@cache
def _script() -> _Script:
    return msgspec.convert(texts.table("scripted.toml"), _Script)


ALIASES: Final = tuple(_script().profiles)
"""The model aliases, one of each profile."""


def cast() -> Cast:
    """A cast that knows each alias; what an alias answers in a turn depends on its scene (`visitors.character`)."""
    whole = Cast()
    for alias in ALIASES:
        whole.add(generic, alias=alias)
    return whole


def profile(alias: str) -> Profile:
    return _script().profiles[alias]


def phrases(language: Language) -> Phrases:
    return _script().phrases[language]


def drawn(turn: ScriptedTurn, name: str, choices: Sequence[T]) -> T:
    """One of the choices, each as likely as any other; `name` is that of the draw."""
    return choices[turn.draw(name, len(choices))]


def in_form(
    profile: Profile, turn: ScriptedTurn, reply: Mapping[str, str | bool | int | None], language: Language
) -> Said:
    """A reply in the form that the profile's slips give it, where the act itself has been chosen."""
    words, slip = phrases(language), _slip(profile, turn)
    text = msgspec.json.encode(reply).decode()
    if slip == "refusal":
        return Said(drawn(turn, "refusals", words["refusals"]), refusal=True)
    if slip == "garbled":
        return Said(drawn(turn, "garbled", words["garbled"]))
    if slip == "fenced":
        return Said(f"```json\n{text}\n```")
    if slip == "prose":
        return Said("\n".join((drawn(turn, "intro", words["intro"]), text, drawn(turn, "outro", words["outro"]))))
    return Said(text)


def weighted(turn: ScriptedTurn, name: str, options: Sequence[T], weights: Sequence[int]) -> T:
    """Draw an option by its weight; `name` is that of the draw."""
    return options[bisect_right(list(accumulate(weights)), turn.draw(name, sum(weights)))]


def _slip(profile: Profile, turn: ScriptedTurn) -> _Slip | None:
    """Draw in which other form to answer; who is asked again mostly takes care."""
    if len(turn.request.messages) > _FIRST and turn.draw("careful", 5):
        return None
    shares = profile.slips.values()
    return weighted(turn, "slip", (*profile.slips, None), (*shares, 1000 - sum(shares)))


def answer(alias: str, scene: Scene, turn: ScriptedTurn) -> Said:
    """The turn of an agent in a shipped world."""
    return _Player(profile(alias), scene, turn).answer()


class _Player:
    def __init__(self, profile: Profile, scene: Scene, turn: ScriptedTurn) -> None:
        self._profile, self._scene, self._draw, self._turn = profile, scene, turn.draw, turn
        self._words = phrases(scene.language)
        # A persona of a plan's folder draws to nothing.
        shown = scene.persona_condition == "with_persona" and scene.persona_text is None
        self._persona = scene.persona if shown else None
        self._at_stake = scene.phase == "stage1"
        self._hungry = self._at_stake and (scene.energy or 0) < _HUNGRY

    def answer(self) -> Said:
        slip, choice = _slip(self._profile, self._turn), self._choice()
        if slip == "invalid":
            choice = NamedAction(self._one("invalid"), choice.target, choice.content)
        if slip == "respelt":
            choice = self._respelt(choice)
        reply = {"thought": self._thought(choice), **msgspec.structs.asdict(choice)}
        return in_form(self._profile, self._turn, reply, self._scene.language)

    def _choice(self) -> NamedAction:
        if self._persona == "architect" and self._scene.phase != "phase2" and self._draw("skill", 100) < _SKILL_PERCENT:
            return self._skill()
        action = weighted(self._turn, "action", ACTIONS, [self._weight(action) for action in ACTIONS])
        match action:
            case "speak":
                return NamedAction(action, None, self._said())
            case "whisper":
                return NamedAction(action, self._somebody(), self._said())
            case "support":
                return NamedAction(action, self._somebody())
            case "move":
                return NamedAction(action, self._goal())
        return NamedAction(action)

    def _skill(self) -> NamedAction:
        skill = drawn(self._turn, "which skill", SKILLS)
        match skill:
            case "build_billboard":
                return NamedAction(skill, None, self._said())
            case "adjust_tax":
                return NamedAction(skill, None, str(5 * self._draw("rate", 7)))
        return NamedAction(skill, self._somebody(), str(1 + self._draw("amount", 9)))

    def _weight(self, action: Action) -> int:
        """An action's weight, 10,000 for indifference; never 0, so that every act can happen."""
        weight = self._profile.weights[action] * self._persona_weight(action)
        away = self._scene.place != _MARKET
        if not self._at_stake:
            weight = weight * self._profile.calm[action] // 100
        if action in ("trade", "support"):
            answers = sum(each.kind == "feedback" for each in self._scene.events)
            weight = weight * max(20, 100 - self._profile.fade * answers) // 100
        if self._hungry:
            weight *= 3 if action == "trade" or (action == "move" and away) else 1
        if action == "move" and self._persona == "merchant" and away:
            weight *= 3
        return max(1, weight if self._feasible(action) else weight * _STRAY // 100)

    def _persona_weight(self, action: Action) -> int:
        """Mix the persona's weight with indifference by what is left of its pull."""
        if self._persona is None:
            return 100
        pull = self._pull()
        own = _script().personas[self._persona]
        return (own[action] * pull + 100 * (100 - pull)) // 100

    def _pull(self) -> int:
        profile = self._profile
        return profile.pull * max(0, profile.span - self._scene.turn) // profile.span if profile.span else profile.pull

    def _feasible(self, action: Action) -> bool:
        scene = self._scene
        match action:
            case "trade":
                return scene.place == _MARKET
            case "support":
                return bool(scene.here)
            case "whisper":
                return bool(scene.here) and scene.place.startswith("alley")
        return True

    def _somebody(self) -> str | None:
        return drawn(self._turn, "somebody", self._scene.here) if self._scene.here else None

    def _goal(self) -> str:
        scene = self._scene
        goals = worlds.preset(scene.phase).places if scene.phase == "phase2" else _GOALS
        others = [place for place in goals if place != scene.place]
        homes = (_MARKET,) if self._hungry else _script().homes[self._persona] if self._persona else ()
        wanted = [place for place in others for home in homes if place.startswith(home)]
        homeward = wanted and self._draw("home", 100) < max(self._pull(), 100 * self._hungry)
        return drawn(self._turn, "goal", wanted if homeward else others)

    def _said(self) -> str:
        persona = self._persona
        marked = persona is not None and self._draw("mark", 100) < self._pull()
        marks = _script().marks[self._scene.language]
        return drawn(self._turn, "words", marks[persona] if persona is not None and marked else self._words["words"])

    def _thought(self, choice: NamedAction) -> str:
        """Name an aim that mostly fits the act."""
        serving = choice.action == "trade" or (choice.action == "move" and choice.target == _MARKET)
        chance = self._draw("aim", 100)
        if chance < 12:
            return self._one("both") if self._scene.phase != "phase2" else self._one("plain")
        if chance < 24:
            return self._one("social" if serving else self._fear())
        if chance < 72:
            return self._one(self._fear() if serving else "plain" if choice.action == "idle" else "social")
        return self._one("plain")

    def _fear(self) -> str:
        """Whether the thought mentions survival: always if it is at stake, half the time if costs are shown."""
        odds = {"stage1": 100, "phase1": 50, "phase2": 5}[self._scene.phase]
        return "survival" if self._draw("fear", 100) < odds else "plain"

    def _respelt(self, choice: NamedAction) -> NamedAction:
        if choice.target is not None:
            return NamedAction(f"{choice.action}|{choice.target}", None, choice.content)
        return NamedAction(f" {choice.action.upper()} ", None, choice.content)

    def _one(self, name: str) -> str:
        return drawn(self._turn, name, self._words[name])
