"""Scripted models that are asked aside: each has a leaning of its own on every question, and wavers around it."""

from functools import partial
from typing import Final

from playmolt_core.game import draws
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedTurn
from playmolt_schemas.stored.agora.turn import Interview, InterviewScale, Language

from playmolt_agora_runner.scripted import residents

_WAVERS: Final = 40
"""The percentage of answers beside the leaning."""


def cast(known: Cast, alias: str, question: Interview, language: Language) -> Cast:
    """A cast in which an alias answers a question; no other model does."""
    return residents.alone(known, alias, partial(answer, alias, question, language))


def answer(alias: str, question: Interview, language: Language, turn: ScriptedTurn) -> Said:
    """An answer near the leaning of the alias, in its profile's form; it depends on the request and the seed alone."""
    profile, choices = residents.profile(alias), question.choices_in(language)
    if isinstance(question.scale, InterviewScale):
        least, most = sorted((question.scale.from_, question.scale.to))
        return residents.in_form(profile, turn, {"answer": _near(alias, question, turn, least, most)}, language)
    if choices:
        return residents.in_form(profile, turn, {"answer": _near(alias, question, turn, 1, len(choices))}, language)
    words = residents.phrases(language).social + residents.phrases(language).plain
    return residents.in_form(profile, turn, {"answer": words[turn.draw("answer", len(words))]}, language)


def _near(alias: str, question: Interview, turn: ScriptedTurn, least: int, most: int) -> int:
    leaning = least + draws.below("interview", f"{alias}/{question.id}", most - least + 1)
    if turn.draw("wavers", 100) >= _WAVERS:
        return leaning
    return min(most, max(least, leaning + (1 if turn.draw("side", 2) else -1)))
