"""Scripted models as judges: they read as the lexicons do, err now and then, and answer in their profile's form."""

from functools import partial
from typing import Final

from playmolt_core.llm.scripted.model import Cast, Said, ScriptedTurn
from playmolt_schemas.agora.turn import Language

from playmolt_agora.coding.judgement import thought_in
from playmolt_agora.measures.data.coding import cues
from playmolt_agora.scripted import residents

SCHEMA: Final = "judgement"
"""What the reply of a judge is called, by which a cast knows that one is asked."""
_ERRS: Final = 10
"""In so many of a hundred labels it takes the other one."""


def cast() -> Cast:
    """A cast in which each alias judges."""
    whole = Cast()
    for alias in residents.ALIASES:
        whole.add(partial(_answer, alias), alias=alias, schema=SCHEMA)
    return whole


def _answer(alias: str, turn: ScriptedTurn) -> Said:
    language: Language = "ko" if turn.korean else "en"
    found = cues(thought_in(turn.request.messages[-1].content), language)
    labels = {"survival": _seen(turn, "survival", found.s), "social": _seen(turn, "social", found.o)}
    return residents.in_form(residents.profile(alias), turn, labels, language)


def _seen(turn: ScriptedTurn, label: str, named: bool) -> bool:
    return named != (turn.draw(label, 100) < _ERRS)
