"""What the public sees: a message an event, the state, and never a secret."""

import json
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.turn import prompts, scenes
from playmolt_core.game.decider import PUBLIC, EndGame, Viewer
from playmolt_schemas.agora.feed import RunView
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code
from playmolt_schemas.stored.agora import run as events

from core.tests.scenario import like

IDLE = ("idle", None, None)
ALLEY = {"jester_02": "alley_a", "citizen_01": "alley_a"}


def public(run: Any) -> list[bytes]:
    """Every public byte of a run: all messages, and after each event the state and what each agent had seen."""
    messages = []
    for event, _, state in run.log:
        messages.append(canonical_json(run.decider.public(event, PUBLIC)))
        viewers = (PUBLIC, *map(Viewer, run.decider.participants(state)))
        messages += [canonical_json(run.decider.view(state, viewer)) for viewer in viewers]
    return messages


def test_an_act_is_public_with_these_fields_and_no_others(runs: Any) -> None:
    run = runs(turns=1)
    run.act("citizen_01", "speak", content="hello")
    assert run.public(run.caused[0]) == {
        "type": "agent_acted",
        "agent_id": "citizen_01",
        "action": "speak",
        "target": None,
        "location": "plaza",
        "content": "hello",
        "success": True,
    }


def test_a_reply_that_is_not_an_act_is_public_with_its_code(runs: Any) -> None:
    run = runs(turns=1).until("citizen_01").fail("refusal")
    assert run.public(run.caused[0]) == {"type": "turn_failed", "agent_id": "citizen_01", "code": "refusal"}


def test_a_leak_shows_who_and_to_whom_and_a_whisper_never_what(runs: Any) -> None:
    run = runs(turns=1, homes=ALLEY, rules={"leak": 1, "leak_observer": 0})
    run.act("jester_01", "whisper", "jester_02", "the secret")
    assert run.public(run.caused[0])["content"] is None
    leak = {"type": "whisper_leaked", "agent_id": "jester_01", "target": "jester_02", "location": "alley_a"}
    assert run.public(run.of("whisper_leaked")[0]) == leak
    assert not any(b"the secret" in told for told in public(run))


@pytest.mark.parametrize("homes", [ALLEY, {}])
def test_what_was_whispered_thought_or_said_raw_changes_no_public_byte(runs: Any, homes: dict[str, str]) -> None:
    def twin(secret: str) -> list[bytes]:
        run = runs(turns=3, homes=homes, rules={"leak": "0.5", "leak_observer": "0.1"})
        while run.state.next_agent:
            whispers = run.state.next_agent == "jester_01"
            run.answer(("whisper", "jester_02", secret) if whispers else IDLE, thought=secret, raw_reply=secret)
        return public(run)

    assert twin("one secret") == twin("quite another")


def test_an_agent_has_seen_what_stood_in_its_prompt_and_whispers_without_their_words(runs: Any) -> None:
    run = runs(turns=2, homes=ALLEY, rules={"leak": 0, "leak_observer": 0})
    run.act("jester_01", "whisper", "jester_02", "the secret")
    run.until("jester_02")
    seen = run.decider.view(run.state, Viewer("jester_02")).own.seen
    prompt = prompts.render(scenes.scene(run.state, "jester_02")).user
    whispers = [line for line in seen if "jester_01" in line and "…" in line]
    assert len(whispers) == 1
    assert "the secret" in prompt
    assert all(line in prompt for line in seen if line not in whispers)
    others = run.decider.view(run.state, Viewer("merchant_01")).own.seen
    assert not [line for line in others if "…" in line]


def test_a_seats_view_is_that_of_all_with_what_it_had_before_it(runs: Any) -> None:
    run = runs(turns=1, homes=ALLEY).play()
    everybody = msgspec.to_builtins(run.decider.view(run.state, PUBLIC))
    one = msgspec.to_builtins(run.decider.view(run.state, Viewer("jester_02")))
    assert "self" not in everybody
    assert one.pop("self")["id"] == "jester_02"
    assert one == everybody


def test_the_seed_is_in_no_public_byte(runs: Any) -> None:
    run = runs(turns=2, seed="987654321987654321").play()
    assert not any(b"987654321987654321" in told for told in public(run))


def test_every_event_has_one_message_and_calls_have_nothing_to_tell(runs: Any) -> None:
    run = runs(turns=1, rules={"crisis": {"p": 1, "from": 1}}).answer(attempts=({"outcome": "ok"},))
    run.play()
    types = [run.public(event)["type"] for event in run.events]
    assert types[:3] == ["progress", "epoch_started", "crisis_started"]
    assert types[3:5] == ["progress", "agent_acted"]
    assert types[-2:] == ["market_settled", "run_ended"]
    assert run.public(run.of("market_settled")[0]) == {"type": "market_settled", "shadow": False}
    assert run.public(run.of("crisis_started")[0])["crisis"] in ("drought", "plague", "famine")
    assert run.public(run.events[-1]) == {"type": "run_ended", "outcome": "completed", "turns": 1}


def test_what_the_architect_does_and_who_rises_is_reported(runs: Any) -> None:
    run = runs(turns=2, rules={"ranks": {"notable": 1}})
    run.act("architect_01", "build_billboard", None, "Gather")
    assert run.public(run.caused[1]) == {
        "type": "billboard_posted",
        "agent_id": "architect_01",
        "content": "Gather",
    }
    run.epoch().act("architect_01", "adjust_tax", "12")
    assert run.public(run.caused[1]) == {"type": "tax_changed", "agent_id": "architect_01", "rate": 12}
    run = runs(turns=2, rules={"ranks": {"notable": 1}})
    run.act("citizen_01", "support", "citizen_02")
    assert run.public(run.caused[1]) == {"type": "rank_changed", "agent_id": "citizen_02", "rank": "notable"}


def test_the_state_shows_the_run_as_it_stands(runs: Any) -> None:
    run = runs("phase1", turns=2).epoch(lambda _, agent: ("trade", None, None) if agent == "merchant_01" else IDLE)
    view = run.decider.view(run.state, Viewer("anybody"))
    assert view == run.decider.view(run.state, PUBLIC)
    assert isinstance(view, RunView)
    assert (view.phase, view.world, view.turn, view.turns, view.version) == ("running", "phase1", 2, 2, len(run.log))
    assert (view.residents, view.residents_start, view.next_agent) == (12, 12, run.state.next_agent)
    assert (view.tax_rate, view.treasury, view.market_shadow, view.pool) == (10, 1, True, 25)
    assert (view.progress.done, view.progress.total, len(view.acts)) == (12, 24, 12)
    merchant = next(agent for agent in view.agents if agent.id == "merchant_01")
    assert (merchant.place, merchant.energy, merchant.rank, merchant.alive) == ("market", 100, "commoner", True)
    assert json.loads(msgspec.json.encode(view))["gameType"] == "agora"


def test_a_run_at_a_glance(runs: Any) -> None:
    run = runs(turns=1)
    card = run.decider.summary(run.state)
    assert (card.phase, card.round, card.seated, card.needed, card.over) == ("running", 1, 12, 12, False)
    run.play()
    assert run.decider.summary(run.state).over
    assert run.decider.participants(run.state)["citizen_01"] == run.state.seat("citizen_01").model
    assert run.decider.allowed_actions(run.state, "citizen_01") == ()


def test_the_operator_sees_what_pins_the_run(runs: Any) -> None:
    run = runs(turns=1, seed="31")
    pinned = run.decider.operator_view(run.state)
    assert (pinned["config"].seed, pinned["rules"].pool) == ("31", 25)
    assert pinned["world"].startswith("stage1@")


def test_a_run_that_is_not_open_takes_no_turn(runs: Any) -> None:
    run = runs(opened=False)
    run.answer().refused(Code.NOT_FOUND)
    assert run.effects == ()


def test_the_operator_ends_a_run_with_a_reason_and_its_feed_closes(runs: Any) -> None:
    run = runs(turns=1)
    run.when(EndGame(reason=" ")).refused(Code.INVALID_REQUEST, "reason")
    run.when(EndGame(reason=" Maintenance. ")).then(like(events.GameAborted))
    assert run.public(run.caused[0]) == {"type": "game_aborted", "reason": "Maintenance."}
    assert type(run.caused[0]).closes
    assert (run.state.phase, run.effects) == ("aborted", ())
    run.when(EndGame(reason="again")).refused(Code.GAME_OVER)
    run.when(commands.PauseRun(code="stopped")).refused(Code.GAME_OVER)
    run.answer().then()


def test_a_pause_is_seen_and_wants_its_end_alone_and_the_turn_under_way_is_taken(runs: Any) -> None:
    run = runs(turns=1)
    run.when(commands.PauseRun(code="model_away", detail="503 from https://example.org")).then(like(events.RunPaused))
    assert run.public(run.caused[0]) == {"type": "run_paused", "code": "model_away"}
    assert (run.effects, run.decider.view(run.state, PUBLIC).paused) == (("resume_run",), "model_away")
    assert not any(b"example.org" in told for told in public(run))
    run.when(commands.PauseRun(code="model_away")).then()
    run.answer().then(like(events.AgentActed))
    assert run.effects == ("resume_run",)
    run.when(commands.ResumeRun()).then(like(events.RunResumed))
    assert run.effects == ("agent_turn",)
    run.when(commands.ResumeRun()).then()


def test_the_pause_of_a_model_that_stays_away_doubles_until_a_turn_is_taken(runs: Any) -> None:
    run = runs(turns=1)

    def pause() -> int:
        run.when(commands.PauseRun(code="model_away", detail="503")).then(like(events.RunPaused))
        (paused,) = run.caused
        assert run.state.pause.until == run.now + timedelta(seconds=paused.seconds)
        run.when(commands.ResumeRun()).then(like(events.RunResumed))
        return int(paused.seconds)

    assert [pause() for _ in range(9)] == [5, 10, 20, 40, 80, 160, 320, 600, 600]
    run.answer().then(like(events.AgentActed))
    assert pause() == 5


def test_a_pause_that_no_time_ends_has_none(runs: Any) -> None:
    run = runs(turns=1)
    run.when(commands.PauseRun(code="stopped", detail="lunch")).then(like(events.RunPaused))
    assert run.caused[0].seconds == 0
    assert (run.state.pause.until, run.state.pause.detail) == (None, "lunch")
    assert run.decider.operator_view(run.state)["pause"] == run.state.pause
