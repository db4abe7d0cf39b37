"""The probe of reproducibility: what it counts, and where a plan, its lock and its report say it."""

from typing import Any

import msgspec
import pytest
from playmolt_agora_runner.experiment import locking, preregistration
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.plan import reading
from playmolt_cli.agora import probe
from playmolt_core.game.decider import Refused
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_core.llm.port import Failed, Model, ModelRequest, Reply
from playmolt_schemas.stored.agora.plan import Plan

from tests.agora_locks import power

ENTRY = ModelEntry(base_url="http://127.0.0.1:1/v1", model="m", alias="fake", cache_prompt=False)
CATALOGUE = Catalogue({"fake": ENTRY})
PLAN: dict[str, Any] = {
    "name": "n", "models": ["fake"], "languages": ["en"], "sampling": {"temperature": "0"},
    "phases": {"phase1": {"runs": 1, "turns": 2}},
}  # fmt: skip
FOUND = {"model": "fake", "at": "today", "prompts": 3, "times": 4, "alone": 9, "first": 0, "beside": 5}


class CachingServer(Model):
    """Gives one text to a prompt that is new to it and another to one that it knows; in parallel, each of them."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}

    async def ask(self, request: ModelRequest, *_: Any, **__: Any) -> Reply | Failed:
        text = request.messages[1].content
        number = self.seen[text] = self.seen.get(text, 0) + 1
        said = "new" if number == 1 or (number > 4 and number % 2) else "known"
        return Reply(text=said, tool_calls=(), attempts=1)


class SilentServer(Model):
    async def ask(self, *_: Any, **__: Any) -> Reply | Failed:
        return Failed(code="model_unavailable", detail="503 from fake", attempts=1)


def plan() -> Plan:
    found = reading.read(PLAN)
    assert isinstance(found, Plan)
    return found


async def test_it_counts_equal_replies_alone_and_beside_others() -> None:
    asked = probe.requests(plan(), PlanFolder(), "fake", 3)
    assert len({request.messages[1].content for request in asked}) == 3
    found = await probe.probed(CachingServer(), asked, CATALOGUE, plan(), 4)
    assert (found.prompts, found.times, found.alone, found.first, found.beside) == (3, 4, 9, 0, 6)
    assert (found.model, found.temperature, found.cache_prompt) == ("fake", "0", False)


async def test_a_model_without_a_reply_is_no_result() -> None:
    with pytest.raises(probe.ProbeFailed, match="503 from fake"):
        await probe.probed(SilentServer(), probe.requests(plan(), PlanFolder(), "fake", 1), CATALOGUE, plan(), 4)


def test_preview_and_lock_say_it() -> None:
    found = locking.examine(
        PLAN | {"probes": [FOUND | {"temperature": 0, "cache_prompt": False}]}, CATALOGUE, {}, power=power
    )
    assert isinstance(found, preregistration.ExaminedPlan), found
    said = next(line for line in found.preview.warnings if line.startswith("fake: asked alone"))
    assert "9 of 12" in said
    assert "0 of 3 prompts" in said
    assert "beside others, 5 of 12" in said
    assert "cache_prompt false" in said
    assert any(line.startswith("Temperature 0") for line in found.preview.warnings)
    lock = locking.lock("experiment-1", found, CATALOGUE)
    assert not isinstance(lock, Refused)
    assert said in lock.warnings
    assert [model.cache_prompt for model in lock.models] == [False]


def test_a_result_of_another_model_is_refused() -> None:
    found = locking.examine(PLAN | {"probes": [FOUND | {"model": "other"}]}, CATALOGUE, {}, power=power)
    assert isinstance(found, Refused)
    assert [fault.field for fault in found.errors] == ["probes[0].model"]


def test_what_a_catalogue_sets_is_sent() -> None:
    from playmolt_core.llm.limits import MemoryLimits
    from playmolt_core.llm.openai.model import OpenAIModel

    for entry, sent in ((ENTRY, False), (msgspec.structs.replace(ENTRY, cache_prompt=None), None)):
        request = probe.requests(plan(), PlanFolder(), "fake", 1)[0]
        assert OpenAIModel(entry, "", MemoryLimits()).line(request).get("cache_prompt") is sent
