"""What must stay equal however the code is cut: events and prompts of worlds of a plan's folder.

The actors know every action and hit on much that cannot be done. For a wanted change copy the value from the failed
assertion.
"""

import hashlib
import random
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import Source
from playmolt_agora_runner.plan import matrix, reading
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import effect_id
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.scripted import visitors
from playmolt_agora_runner.turn import prompts, reply_parser, scenes
from playmolt_agora_runner.turn.reply_parser import Parsed
from playmolt_core.game.decider import Accepted
from playmolt_core.llm.port import ModelRequest
from playmolt_core.llm.scripted.model import ScriptedTurn
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.run import AgentActed
from playmolt_schemas.stored.agora.turn import Tokens

from core.tests.scenario import Scenario

RULES = Agora()
RANKED = """
like = "stage1"
leak = 1
leak_observer = 0
tax_rounding = "exact"
tax_rate = 30
energy = { start = 200, decay = 1 }
[actions.dig]
label = { ko = "파기", en = "Dig" }
where = ["plaza", "alley_a"]
amount = { min = 0, max = 9 }
class = "A"
cost = { energy = 2 }
gain = { energy = "amount" }
[actions.trade]
gain = { energy = 3, influence = 1 }
[actions.gift]
label = { ko = "선물", en = "Gift" }
target = "agent"
cost = { influence = 1 }
give = { energy = 3, influence = 2 }
[[ranks]]
from = 0
name = { ko = "신참", en = "newcomer" }
[[ranks]]
from = 2
name = { ko = "고참", en = "senior" }
speaking_weight = 3
contest = true
"""
SHADOWED = """
like = "phase1"
ranks_act = true
ranks = { notable = 1, elder = 2 }
leak = 1
leak_observer = 0
[hearing]
who = "ring"
reach = 2
events = 7
[places.market]
capacity = 3
"""
EMPTY = """
[places.hall]
title = { ko = "홀", en = "Hall" }
capacity = 5
[places.yard]
title = { ko = "마당", en = "Yard" }
hears = ["hall"]
[energy]
ledger = "real"
start = 20
max = 30
decay = 1
death = true
[resources.corn]
start = 30
max = 40
place = "yard"
regrowth = { kind = "constant", amount = 2 }
[actions.reap]
label = { ko = "거두기", en = "Reap" }
amount = { min = 1, max = 4 }
cost = { energy = 1 }
take = { corn = "amount" }
gain = { energy = "amount" }
[actions.tell]
label = { ko = "알리기", en = "Announce" }
does = "say"
counts_as = "speak"
[actions.whisper]
heard = false
[actions.move]
[actions.support]
target = "agent"
cost = { energy = 1 }
give = { energy = 2, influence = 1 }
"""
WORLDS = {"ranked": RANKED, "shadowed": SHADOWED, "empty": EMPTY, "bare": 'like = "phase2"\n'}
SEATS = ("architect", "observer", "merchant", None, None)
ACTIONS = ("speak", "trade", "support", "whisper", "move", "idle", "dig", "gift", "reap", "tell", "harvest", "share")
SKILLS = ("build_billboard", "adjust_tax", "grant_subsidy", "contest", "fly")
GOLDEN = {
    "commons": [
        "94fe26998d56b5863624ff136f309aaa1e3a4e68209acb1caaba59e2e27718d2",
        "a4bcdbf148b11c254d848552fc2007c1d4b7efb60a5eb3835e3c01ed5e38f37a",
        "47 of 96",
    ],
    "ranked": [
        "2e4ae31e155c0d654499a23222af7370dc1539ed4138c1a2667ced3b7bca3f8d",
        "25f72b553c66e9deefd47564739ab9841ce85fead6bfaec4c1c636348d4c0afc",
        "104 of 200",
    ],
    "shadowed": [
        "0382e38d777928b8de70f3c0e3d6efe050c7b901b28fb0a00d2528dc67876e1d",
        "b20fba581962d674e9fc5648a6680bf83a99a1dc0ef2c46ff104fc4f29aeaf04",
        "78 of 200",
    ],
    "empty": [
        "5ba619fc5a932dcaadfa7f9adc1ee56c26731e4e87f3b375379f905fdcbbf406",
        "d49cd9f59ff9a296345bc09848d20287488138c4696fa8cb7254e6616ef29c0d",
        "59 of 116",
    ],
    "bare": [
        "88200ea2636f2118bb2b535583d353bba5c7d4504fd051a5fe56d68b314c6716",
        "e783c937269870cbf53029b39d6896a7d2bf114986409712ca3c18bc90746a64",
        "81 of 200",
    ],
}


def room(world: str, commons: PlanFolder, plan: Plan) -> tuple[Any, PlanFolder]:
    """The spec of a run, and its folder."""
    if world == "commons":
        return replace(matrix.spec(plan, "experiment-1", matrix.cells(plan, commons.rooms)[0], 1), turns=12), commons
    seats = [{"count": 1} | ({"persona": name} if name else {}) for name in SEATS]
    made = {"name": "room", "world": "made", "runs": 1, "turns": 40, "seats": seats}
    body = {"name": "made", "seed": "4", "models": ["scripted-wild"], "languages": ["en"], "rooms": [made]}
    found = reading.reading(body).plan
    assert found is not None
    folder = folder_reading.read(found, Source({"worlds/made.toml": WORLDS[world]}))
    assert folder.faults == (), folder.faults
    return matrix.spec(found, "experiment-1", matrix.cells(found, folder.rooms)[0], 1), folder


def chosen(draw: random.Random, scenario: Scenario[Any], texts: Any) -> tuple[Parsed, str]:
    state, agent = scenario.state, str(scenario.state.next_agent)
    scene = scenes.scene(state, agent, texts)
    prompt = prompts.render(scene)
    text = prompt.text
    if draw.random() < 0.4:
        request = ModelRequest(alias="scripted-wild", messages=(), schema_name="turn")
        said = visitors.answer("scripted-wild", scene, ScriptedTurn(request, f"{state.turn}/{agent}")).text
        schema = canonical_json(reply_parser.reply_schema(scene)).decode()
        return reply_parser.read(said, scene), text + schema
    architect = state.seat(agent).persona == "architect"
    action = draw.choice(SKILLS if architect or draw.random() < 0.3 else ("trade", *ACTIONS))
    target = draw.choice([*scene.here, *state.agents, *state.rules.places, "nobody", None])
    content = draw.choice([None, "1", "1", "2", "3", "0", "-1", "25%", "all", "말"])
    return Parsed(code="ok", thought="hm", action=action, target=target, content=content), text


def digest(world: str, commons: PlanFolder, plan: Plan) -> list[str]:
    """Of all events and of all prompts; and how many acts succeeded."""
    spec, folder = room(world, commons, plan)
    scenario, draw = Scenario[Any](RULES, spec.run), random.Random(world)
    scenario.when(commands.OpenRun(spec=spec))
    shown, good = hashlib.sha256(), 0
    while scenario.state.next_agent is not None:
        parsed, text = chosen(draw, scenario, folder.texts)
        shown.update(text.encode())
        reply = TurnReply(
            parsed=parsed, raw_reply="{}", prompt_hash="0" * 64, model_asked="scripted", model_answered="scripted",
            attempt=1, tokens=Tokens(1, 1), cost="0", latency_ms=1, cache_hit=False,
        )  # fmt: skip
        scenario.when(commands.TakeTurn(effect_id=effect_id(scenario.state) or "", reply=reply))
        assert isinstance(scenario.decision, Accepted)
        good += sum(isinstance(event, AgentActed) and event.record.success for event in scenario.decision.events)
    events = hashlib.sha256(b"\n".join(canonical_json(event) for event, _, _ in scenario.log))
    return [events.hexdigest(), shown.hexdigest(), f"{good} of {scenario.state.taken}"]


@pytest.mark.parametrize("world", ["commons", *WORLDS])
def test_events_and_prompts_are_the_same_to_the_character(world: str, folder: PlanFolder, plan: Plan) -> None:
    assert digest(world, folder, plan) == GOLDEN[world]
