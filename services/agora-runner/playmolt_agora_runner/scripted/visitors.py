"""Scripted models in worlds of a plan's folder, which choose among what can be done at their place, and asked aside.

A prompt there is written by a researcher, in whatever form; so they receive only what it offers. Asked aside, each has
a leaning of its own on every question, and wavers around it.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, cast

from playmolt_core.game import draws
from playmolt_core.llm.scripted.model import Character, Said, ScriptedTurn
from playmolt_schemas.stored.agora.turn import Interview, Language

from playmolt_agora_runner.scripted import residents
from playmolt_agora_runner.turn import interview
from playmolt_agora_runner.turn.scene import Offer, Scene

_CLASSES: Final = {"A": ("trade", "support"), "B": ("speak", "whisper"), "C": ("move", "idle")}
"""The actions that share the weight of a class."""
_OUTSIDE: Final = 100
_WAVERS: Final = 40
"""The percentage of answers aside beside the leaning."""


def character(alias: str, scene: Scene) -> Character:
    """What an alias plays in a scene: a resident of a shipped world, a visitor elsewhere."""
    return partial(residents.answer if scene.own is None else answer, alias, scene)


def answer(alias: str, scene: Scene, turn: ScriptedTurn) -> Said:
    """An act that can be done, drawn by the profile's weights, in the profile's form."""
    visitor = _Visitor(residents.profile(alias), scene, turn)
    return residents.in_form(residents.profile(alias), turn, visitor.reply(), scene.language)


def answer_aside(alias: str, question: Interview, language: Language, turn: ScriptedTurn) -> Said:
    """An answer near the leaning of the alias, in its profile's form; it depends on the request and the seed alone."""
    said: int | str
    if (ends := interview.ends(question, language)) is not None:
        said = _near(alias, question, turn, *sorted((ends.from_, ends.to)))
    else:
        words = residents.phrases(language).social + residents.phrases(language).plain
        said = words[turn.draw("answer", len(words))]
    return residents.in_form(residents.profile(alias), turn, {"answer": said}, language)


def _near(alias: str, question: Interview, turn: ScriptedTurn, least: int, most: int) -> int:
    leaning = least + draws.below("interview", f"{alias}/{question.id}", most - least + 1)
    if turn.draw("wavers", 100) >= _WAVERS:
        return leaning
    return min(most, max(least, leaning + (1 if turn.draw("side", 2) else -1)))


class _Visitor:
    def __init__(self, profile: residents.Profile, scene: Scene, turn: ScriptedTurn) -> None:
        self._profile, self._scene, self._turn, self._draw = profile, scene, turn, turn.draw

    def reply(self) -> dict[str, str | None]:
        offer = self._offer()
        words = residents.phrases(self._scene.language)
        thoughts = words.social if offer.fn_class == "B" else words.survival if offer.fn_class == "A" else words.plain
        return {
            "thought": self._one("thought", thoughts),
            "action": offer.name,
            "target": self._target(offer),
            "content": self._content(offer, words.words),
        }

    def _offer(self) -> Offer:
        own = self._scene.own
        offers = [each for each in own.offers if each.feasible] if own else []
        offers = offers or [Offer(name="idle")]
        return residents.weighted(self._turn, offers, [self._weight(offer) for offer in offers])

    def _weight(self, offer: Offer) -> int:
        """The weight of its name, or of its class."""
        weights = cast("Mapping[str, int]", self._profile.weights)
        if offer.name in weights:
            return max(1, weights[offer.name])
        names = _CLASSES.get(offer.fn_class or "")
        return max(1, sum(weights[name] for name in names) // len(names)) if names else _OUTSIDE

    def _target(self, offer: Offer) -> str | None:
        if offer.target == "agent":
            return self._one("target", self._scene.here) if self._scene.here else None
        return self._one("goal", offer.goals) if offer.goals else None

    def _content(self, offer: Offer, words: Sequence[str]) -> str | None:
        if offer.amount is not None:
            return str(offer.amount.min + self._draw("amount", offer.amount.max - offer.amount.min + 1))
        return self._one("words", words) if offer.says else None

    def _one(self, name: str, choices: Sequence[str]) -> str:
        return choices[self._draw(name, len(choices))]
