"""Every stored type and version has a sample that must read for ever. A sample is never changed, only added to."""

from typing import Any

import msgspec
import pytest
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.rules import Agora
from playmolt_core.game.decider import EndGame, read_event
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.agora.run import Interviewed, ResourceSettled
from playmolt_schemas.stored.event import Event

from schemas.tests import samples as golden

RULES = Agora()


def samples() -> dict[tuple[str, int], bytes]:
    return {(kind, version): sample for kind, version, sample in golden.samples("agora")}


def choose(state: Any, agent: str) -> Any:
    choices = {
        "jester_01": ("whisper", "jester_02", "속삭임"),
        "merchant_01": ("trade", None, None),
        "citizen_02": ("support", "influencer_01", None),
        "architect_01": ("build_billboard", None, "Gather") if state.turn == 1 else ("adjust_tax", "20", None),
    }
    return choices.get(agent, ("idle", None, None))


def every_event(runs: Any) -> list[Event]:
    """Events of all types: a run with everything in it, one that died out, and one that was ended."""
    rules = {"leak": 1, "leak_observer": 0, "ranks": {"notable": 1}, "crisis": {"p": 1, "from": 1}}
    rules |= {"seed_events": [{"turn": 1, "ko": "종이 울린다.", "en": "A bell rings."}]}
    run = runs(turns=3, homes={"jester_02": "alley_a", "citizen_01": "alley_a"}, rules=rules)
    run.fail().when(commands.PauseRun(code="model_away", detail="503")).when(commands.ResumeRun())
    run.answer(attempts=({"outcome": "ok", "cost": "0.001"},))
    run.play(choose)
    starved = runs(turns=1, rules={"energy": {"start": 5}}).play()
    aborted = runs(turns=1).when(EndGame(reason="Maintenance."))
    return run.events + starved.events + aborted.events + contested(runs).of("act_contested") + [_settled(), _asked()]


def contested(runs: Any) -> Any:
    """A run whose elders undo what the architect built."""
    elders = {"influencer_01": "citizen_01", "archivist_01": "citizen_01"}
    elders |= {"influencer_02": "citizen_02", "observer_01": "citizen_02"}

    def acts(state: Any, agent: str) -> Any:
        if state.turn > 1:
            return ("contest" if agent in elders.values() else "idle", None, None)
        if agent in elders:
            return ("support", elders[agent], None)
        return ("build_billboard", None, "Gather") if agent == "architect_01" else ("idle", None, None)

    return runs(turns=3, rules={"ranks_act": True, "ranks": {"notable": 1, "elder": 2}}).play(acts)


def _settled() -> Event:
    """Of a world of a plan's folder; rooms/test_world.py plays them."""
    return ResourceSettled(turn=2, name="grass", before=90, regrown=17, after=107)


def _asked() -> Event:
    """Of a run with questions asked aside; test_interviews.py plays them."""
    return Interviewed(
        run="agora-1", turn=0, agent="jester_01", id="trust", language="en", prompt_hash="0" * 64, raw_reply="5",
        parse_code="ok", value=5, usage={}, cost="0",
    )  # fmt: skip


@pytest.fixture
def events(runs: Any) -> list[Event]:
    return every_event(runs)


def test_every_stored_type_and_version_has_a_sample() -> None:
    assert samples().keys() == RULES.events.keys()


def test_every_sample_reads_and_writes_back_to_the_same_bytes() -> None:
    for (kind, version), sample in samples().items():
        event = read_event(RULES, kind, version, sample)
        assert (event.type, event.schema_version) == (kind, version)
        assert canonical_json(event) == sample


def test_what_is_stored_today_has_the_fields_of_its_sample(events: list[Event]) -> None:
    stored = {key: msgspec.json.decode(sample) for key, sample in samples().items()}
    assert {(event.type, event.schema_version) for event in events} == stored.keys()
    for event in events:
        assert msgspec.to_builtins(event).keys() == stored[event.type, event.schema_version].keys()


def test_an_unknown_type_is_not_guessed() -> None:
    with pytest.raises(LookupError, match="no_such_event"):
        read_event(RULES, "no_such_event", 1, b"{}")
