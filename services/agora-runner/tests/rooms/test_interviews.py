"""Questions asked aside in a world of one's own: its scene, its template, its personas."""

from datetime import UTC, datetime
from typing import Any

import msgspec
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.plan import costs, matrix
from playmolt_agora_runner.run import commands, effects
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import AgentTurn
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.turn import interview, prompts, scenes
from playmolt_agora_runner.turn.interview import Answer
from playmolt_agora_runner.turn.reply_parser import Parsed
from playmolt_agora_runner.workers.model_worker import scene_aside
from playmolt_core.game.decider import Accepted, Command
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.run import Interviewed
from playmolt_schemas.stored.agora.turn import Interview, InterviewAsk, InterviewScale, Tokens

AT = datetime(2026, 1, 2, tzinfo=UTC)
TRUST = Interview(
    id="trust", at=(0, 2), ask=InterviewAsk(ko="믿습니까?", en="Do you trust?"), scale=InterviewScale(from_=1, to=7),
    who="steward",
)  # fmt: skip
ACTED = TurnReply(
    parsed=Parsed(code="ok", action="idle"), raw_reply="{}", prompt_hash="0" * 64, model_asked="m", model_answered="m",
    attempt=1, tokens=Tokens(), cost="0", latency_ms=0, cache_hit=False,
)  # fmt: skip
ANSWERED = msgspec.structs.replace(ACTED, parsed=Answer(code="ok", value=4))


def test_herders_are_asked_with_the_scene_of_their_pasture(plan: Plan, folder: PlanFolder) -> None:
    asked = msgspec.structs.replace(plan, interviews=(TRUST,))
    spec = msgspec.structs.replace(matrix.specs(asked, "experiment-1", folder.rooms)[0], turns=2)
    rules, events, shown = Agora(), list[Any](), list[str]()
    state = rules.initial(spec.run)
    following: Command | None = commands.OpenRun(spec=spec)
    while following is not None:
        decision = rules.decide(state, following, AT)
        assert isinstance(decision, Accepted), decision
        for event in decision.events:
            state = rules.evolve(state, event, AT)
            events.append(event)
        due = effects.effect(state)
        payload, name = (due.payload, due.id) if due else (None, "")
        following = None
        if isinstance(payload, AgentTurn) and payload.interview:
            scene = scene_aside(state, payload.agent, folder.texts)
            question = interview.render(scene, TRUST).user
            above = question.partition("\n---\n")[0]
            assert prompts.render(scene).user.startswith(f"{above}\n---\n")
            assert '"action"' not in question
            shown.append(above)
            following = commands.TakeTurn(effect_id=name, reply=ANSWERED)
        elif isinstance(payload, AgentTurn):
            first = state.acted == 0 and state.turn == 1
            if first and payload.agent in ("STEWARD_01", "STEWARD_02"):
                plain = prompts.render(scenes.scene(state, payload.agent, folder.texts)).user
                assert plain.partition("\n---\n")[0] in shown
            following = commands.TakeTurn(effect_id=name, reply=ACTED)
    answers = [event for event in events if isinstance(event, Interviewed)]
    assert [(event.turn, event.agent) for event in answers] == [
        (turn, agent) for turn in (0, 2) for agent in ("STEWARD_01", "STEWARD_02")
    ]


def test_they_are_in_the_dry_run(plan: Plan, folder: PlanFolder) -> None:
    asked = msgspec.structs.replace(plan, interviews=(TRUST,))
    runs = len(matrix.specs(asked, "experiment-1", folder.rooms))
    assert costs.project(asked, Catalogue({}), folder.rooms).interviews == runs * 2 * 2
