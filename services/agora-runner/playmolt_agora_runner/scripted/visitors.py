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
_THOUGHTS: Final = {"A": "survival", "B": "social"}
_OUTSIDE: Final = 100
_WAVERS: Final = 40
"""The percentage of answers aside beside the leaning."""


def character(alias: str, scene: Scene) -> Character:
    """What an alias plays in a scene: a resident of a shipped world, a visitor elsewhere."""
    return partial(residents.answer if scene.own is None else answer, alias, scene)


def answer(alias: str, scene: Scene, turn: ScriptedTurn) -> Said:
    """An act that can be done, drawn by the profile's weights, in the profile's form."""
    profile, words = residents.profile(alias), residents.phrases(scene.language)
    offers = [each for each in scene.own.offers if each.feasible] if scene.own else []
    offers = offers or [Offer(name="idle")]
    offer = residents.weighted(turn, "action", offers, [_weight(profile, each) for each in offers])
    thoughts = words[_THOUGHTS.get(offer.fn_class or "", "plain")]
    reply = {
        "thought": residents.drawn(turn, "thought", thoughts),
        "action": offer.name,
        "target": _target(offer, scene, turn),
        "content": _content(offer, words["words"], turn),
    }
    return residents.in_form(profile, turn, reply, scene.language)


def _weight(profile: residents.Profile, offer: Offer) -> int:
    """The weight of its name, or of its class."""
    weights = cast("Mapping[str, int]", profile.weights)
    names = (offer.name,) if offer.name in weights else _CLASSES.get(offer.fn_class or "")
    return max(1, sum(weights[name] for name in names) // len(names)) if names else _OUTSIDE


def _target(offer: Offer, scene: Scene, turn: ScriptedTurn) -> str | None:
    name, choices = ("target", scene.here) if offer.target == "agent" else ("goal", offer.goals)
    return residents.drawn(turn, name, choices) if choices else None


def _content(offer: Offer, words: Sequence[str], turn: ScriptedTurn) -> str | None:
    if offer.amount is not None:
        return str(offer.amount.min + turn.draw("amount", offer.amount.max - offer.amount.min + 1))
    return residents.drawn(turn, "words", words) if offer.says else None


def answer_aside(alias: str, question: Interview, language: Language, turn: ScriptedTurn) -> Said:
    """An answer near the leaning of the alias, in its profile's form; it depends on the request and the seed alone."""
    said: int | str
    if (ends := interview.ends(question, language)) is not None:
        said = _near(alias, question, turn, *sorted((ends.from_, ends.to)))
    else:
        words = residents.phrases(language)
        said = residents.drawn(turn, "answer", (*words["social"], *words["plain"]))
    return residents.in_form(residents.profile(alias), turn, {"answer": said}, language)


def _near(alias: str, question: Interview, turn: ScriptedTurn, least: int, most: int) -> int:
    leaning = least + draws.below("interview", f"{alias}/{question.id}", most - least + 1)
    if turn.draw("wavers", 100) >= _WAVERS:
        return leaning
    return min(most, max(least, leaning + (1 if turn.draw("side", 2) else -1)))
