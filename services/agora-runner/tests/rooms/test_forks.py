"""Forks in a world of one's own: personas of its folder, and what any of its actions says."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.plan import matrix
from playmolt_agora_runner.run import commands, effects, forks
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.turn.reply_parser import Parsed
from playmolt_core.game.decider import Accepted, Decision, Refused
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.run import AgentActed
from playmolt_schemas.stored.agora.turn import RunSpec, Tokens

AT = datetime(2026, 1, 2, tzinfo=UTC)
ACTED = TurnReply(
    parsed=Parsed(code="ok", action="idle"), raw_reply="{}", prompt_hash="0" * 64, model_asked="m", model_answered="m",
    attempt=1, tokens=Tokens(), cost="0", latency_ms=0, cache_hit=False,
)  # fmt: skip
ANNOUNCE = """[actions.announce]
label = { ko = "알리기", en = "announce" }
does = "say"

[actions.speak]"""
Changed = Callable[[str, str, str], PlanFolder]


def spec_of(plan: Plan, folder: PlanFolder) -> RunSpec:
    return matrix.specs(plan, "experiment-1", folder.rooms)[0]


def decided(rules: Agora, commanded: Any, state: Any, events: list[Any]) -> Any:
    decision = rules.decide(state, commanded, AT)
    assert isinstance(decision, Accepted), decision
    for event in decision.events:
        state = rules.evolve(state, event, AT)
        events.append(event)
    return state


def test_an_agent_can_be_given_another_persona_of_the_folder(plan: Plan, folder: PlanFolder) -> None:
    parent = spec_of(plan, folder)
    fork = forks.forked(parent, "agora-fork", 1, "persona=STEWARD_01:grabber")
    assert [seat.persona for seat in fork.seats[:3]] == ["grabber", "steward", "grabber"]
    rules, events, taken = Agora(), list[Any](), list[Any]()
    decided(rules, commands.OpenRun(spec=parent), rules.initial(parent.run), taken)
    decided(rules, commands.OpenRun(spec=fork, events=tuple(taken[:1])), rules.initial("agora-fork"), events)
    assert events[0].seats[0].persona == "grabber"
    assert forks.forked(parent, "agora-fork", 3, "persona=STEWARD_01:none").seats[0].persona is None
    with pytest.raises(forks.InvalidChange, match=r"merchant, .*, elder, follower, grabber, steward, none"):
        forks.forked(parent, "agora-fork", 3, "persona=STEWARD_01:stewart")


@pytest.mark.parametrize(("action", "refused"), [("announce", False), ("speak", False), ("idle", True)])
def test_what_any_action_says_can_be_replaced(plan: Plan, changed: Changed, action: str, *, refused: bool) -> None:
    folder = changed("worlds/pasture.toml", "[actions.speak]", ANNOUNCE)
    assert folder.faults == ()
    parent, rules, events = spec_of(plan, folder), Agora(), list[Any]()
    state = decided(rules, commands.OpenRun(spec=parent), rules.initial(parent.run), events)
    reply = replace(ACTED, parsed=Parsed(code="ok", action=action, content="rain"))
    decided(rules, commands.TakeTurn(effect_id=str(effects.effect_id(state)), reply=reply), state, events)
    fork = forks.forked(parent, "agora-fork", len(events), "content=sun")
    found: Decision = rules.decide(rules.initial(fork.run), commands.OpenRun(spec=fork, events=tuple(events)), AT)
    if refused:
        assert isinstance(found, Refused)
        assert "last act is one of announce, " in found.detail
        return
    assert isinstance(found, Accepted), found
    assert [event.record.content for event in found.events if isinstance(event, AgentActed)] == ["sun"]
