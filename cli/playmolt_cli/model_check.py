"""Whether each model of a catalogue is there, answers, and calls tools: `playmolt doctor --models`."""

import os
from collections.abc import Mapping
from typing import Final, NamedTuple

from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.conversation import tool_probe
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, Model, ModelRequest
from playmolt_core.llm.scripted.model import Cast

_WORDS: Final = (ChatMessage("user", "Answer with the one word: ready"),)
_TOKENS: Final = 256


class ModelCheck(NamedTuple):
    """`answers`: a question in words had a reply. `calls`: a tool that had to be called was; None if not asked."""

    alias: str
    answers: bool
    calls: bool | None
    detail: str


async def check_models(catalogue: Catalogue, environment: Mapping[str, str] = os.environ) -> list[ModelCheck]:
    """Ask each model two short questions, one after another. They are paid for like any other."""
    models = Models(catalogue, MemoryLimits(), Cast(), environment=environment)
    try:
        return [await _checked(alias, model) for alias in catalogue.models if (model := models.get(alias)) is not None]
    finally:
        await models.close()


async def _checked(alias: str, model: Model) -> ModelCheck:
    attempts: list[Attempt] = []

    async def record(attempt: Attempt) -> None:
        attempts.append(attempt)

    said = await model.ask(ModelRequest(alias=alias, messages=_WORDS, max_tokens=_TOKENS), record)
    if isinstance(said, Failed):
        return ModelCheck(alias, answers=False, calls=None, detail=said.detail)
    answered = attempts[-1]
    called = await model.ask(tool_probe(alias, _TOKENS), record)
    name = f"{answered.model_answered or answered.model_asked} answers in {answered.latency_ms} ms"
    if isinstance(called, Failed):
        return ModelCheck(alias, answers=True, calls=False, detail=f"{name}, but calls no tool: {called.detail}")
    how = "and calls tools" if "tools" in attempts[-1].request else "and calls tools that the prompt describes"
    return ModelCheck(alias, answers=True, calls=True, detail=f"{name} {how}")
