"""Named rules in a world of a plan's folder that begins empty: each is cited by a row and does what stage1.md says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from playmolt_agora_runner import rehearsal
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import Source
from playmolt_agora_runner.plan import matrix, reading
from playmolt_agora_runner.run import commands
from playmolt_agora_runner.run.commands import TurnReply
from playmolt_agora_runner.run.effects import effect_id
from playmolt_agora_runner.run.rules import Agora
from playmolt_agora_runner.turn import prompts, scenes
from playmolt_agora_runner.turn.reply_parser import Parsed
from playmolt_agora_runner.turn.reply_parser import read as read_reply
from playmolt_agora_runner.world import acts, world
from playmolt_agora_runner.world.named_rules import RULES, ActAttempt
from playmolt_core.game.decider import Accepted
from playmolt_schemas.stored.agora.own_world import RuleName
from playmolt_schemas.stored.agora.turn import Effect, Tokens

from core.tests.scenario import Scenario

FILE = "worlds/made.toml"
TOWN = """
[places.hall]
title = { ko = "홀", en = "Hall" }
[places.market]
title = { ko = "장터", en = "Market" }
[places.alley_x]
title = { ko = "골목", en = "Alley" }
[energy]
ledger = "real"
start = 50
max = 200
[actions.move]
"""
ARCHITECT, OBSERVER, FIRST, SECOND = "ARCHITECT_01", "OBSERVER_01", "agent_001", "agent_002"
IDLE = ("idle", None, None)


def row(name: str, text: str) -> str:
    return f'[actions.{name}]\nlabel = {{ ko = "행동", en = "Act" }}\n{text}\n'


def read(world: str, home: str = "hall") -> tuple[Any, PlanFolder]:
    seats = [{"persona": "architect", "home": home}, {"persona": "observer", "home": home}, {"count": 2, "home": home}]
    room = {"name": "room", "world": "made", "runs": 1, "turns": 5, "seats": seats}
    body = {"name": "made", "seed": "4", "models": ["scripted-wild"], "languages": ["ko", "en"], "rooms": [room]}
    plan = reading.reading(body).plan
    assert plan is not None
    return plan, folder_reading.read(plan, Source({FILE: world}))


class Played(Scenario[Any]):
    """A run of a world in which everybody stays idle unless a test lets somebody act."""

    def __init__(self, *rows: str, head: str = "", home: str = "hall") -> None:
        plan, folder = read(head + TOWN + "".join(rows), home)
        assert folder.faults == ()
        spec = matrix.spec(plan, "experiment-1", matrix.cells(plan, folder.rooms)[1], 1)
        super().__init__(Agora(), spec.run)
        self.when(commands.OpenRun(spec=spec))

    def answer(self, action: str, target: str | None, content: str | None) -> None:
        reply = TurnReply(
            parsed=Parsed(code="ok", thought=None, action=action, target=target, content=content),
            raw_reply="{}", prompt_hash="0" * 64, model_asked="scripted", model_answered="scripted",
            attempt=1, tokens=Tokens(1, 1), cost="0", latency_ms=1, cache_hit=False,
        )  # fmt: skip
        self.when(commands.TakeTurn(effect_id=effect_id(self.state) or "", reply=reply))
        assert isinstance(self.decision, Accepted)

    def act(self, agent: str, action: str, target: str | None = None, content: str | None = None) -> Any:
        while self.state.next_agent != agent:
            self.answer(*IDLE)
        self.answer(action, target, content)
        return next(event for event in reversed(self.events()) if event.type in ("agent_acted", "turn_failed")).record

    def prompt(self, agent: str) -> str:
        return prompts.render(scenes.scene(self.state, agent)).user

    def turn(self) -> None:
        """To the end of this turn."""
        turn = self.state.turn
        while self.state.next_agent is not None and self.state.turn == turn:
            self.answer(*IDLE)

    def events(self, kind: str = "") -> list[Any]:
        return [event for event, _, _ in self.log if kind in ("", event.type)]


def tax() -> None:
    sell = row("sell", 'gain = { energy = 10 }\nrules = ["tax"]')
    run = Played(sell, row("buy", "gain = { energy = 10 }"), head='tax_rate = 20\ntax_rounding = "exact"\n')
    assert run.act(FIRST, "sell").effect_applied == Effect(energy={FIRST: 800}, treasury=200)
    assert run.act(SECOND, "buy").effect_applied == Effect(energy={SECOND: 1000})


def pool() -> None:
    run = Played(row("sell", 'where = ["hall"]\nrules = ["pool"]'), head="pool = 40\nnon_trader_min = 3\n")
    run.act(FIRST, "sell")
    run.turn()
    (settled, *_) = run.events("market_settled")
    assert settled.shares == {FIRST: 31, SECOND: 3, ARCHITECT: 3, OBSERVER: 3}
    assert "market" in run.prompt(SECOND).lower()


def elder() -> None:
    ranks = '[[ranks]]\nfrom = 1\nname = { ko = "원로", en = "elder" }\n'
    praise = row("praise", 'target = "agent"\ngive = { influence = 1 }')
    help_ = row("aid", 'target = "agent"\ngive = { energy = 4 }\nrules = ["elder"]')
    run = Played(praise, help_, ranks, head='elder_factor = "2.5"\n')
    assert run.act(SECOND, "aid", FIRST).effect_applied.energy == {FIRST: 4}
    run.act(SECOND, "praise", FIRST)
    assert run.act(FIRST, "aid", SECOND).effect_applied.energy == {SECOND: 10}


def crisis() -> None:
    help_ = row("aid", 'target = "agent"\ngive = { energy = 2 }\nrules = ["crisis"]')
    table = "[crisis]\nfrom = 2\np = 1\nextra = 4\nsupport_energy = 3\nsupport_influence = 1\n"
    run = Played(help_, table)
    assert run.act(FIRST, "aid", SECOND).effect_applied == Effect(energy={SECOND: 2})
    run.turn()
    assert (run.state.turn, run.state.agents[FIRST].energy) == (2, 46)
    assert run.act(FIRST, "aid", SECOND).effect_applied == Effect(energy={SECOND: 5}, influence={SECOND: 1})


def alley() -> None:
    sing = row("sing", 'does = "say"\ngain = { energy = 3 }\nrules = ["alley"]')
    assert Played(sing).act(FIRST, "sing").effect_applied == Effect()
    assert Played(sing, home="alley_x").act(FIRST, "sing").effect_applied == Effect(energy={FIRST: 3})


def leak() -> None:
    murmur = row("murmur", 'does = "whisper"\nrules = ["leak"]')
    run = Played(murmur, head="leak = 1\nleak_observer = 0\n")
    run.act(FIRST, "murmur", SECOND, "secret")
    (leaked,) = run.events("whisper_leaked")
    assert (leaked.agent, leaked.target, set(leaked.heard_by)) == (FIRST, SECOND, {ARCHITECT, OBSERVER})
    assert run.events("agent_acted")[-1].private
    assert "secret" not in run.prompt(OBSERVER)


def ties() -> None:
    run = Played(row("praise", 'target = "agent"\nrules = ["ties"]'))
    run.act(FIRST, "praise", SECOND)
    assert (run.state.agents[FIRST].supported, run.state.agents[SECOND].supporters) == ({SECOND: 1}, {FIRST: 1})


def architect() -> None:
    run = Played(row("decree", 'rules = ["architect"]'), row("plain", ""))
    assert run.act(FIRST, "decree").parse_code == "invalid_action"
    assert run.act(ARCHITECT, "decree").success
    while run.state.next_agent != FIRST:
        run.answer(*IDLE)
    for agent, code in ((FIRST, "invalid_action"), (ARCHITECT, "ok")):
        scene = scenes.scene(run.state, agent)
        assert ("decree" in prompts.render(scene).user) == (code == "ok")
        assert read_reply('{"thought": null, "action": "decree", "target": null, "content": null}', scene).code == code


def billboard() -> None:
    run = Played(row("post", 'cost = { energy = 5 }\nrules = ["billboard"]'), head="billboard_epochs = 3\n")
    assert run.act(FIRST, "post").reason == "bad_value"
    run.act(SECOND, "post", None, "Meet at noon")
    (posted,) = run.events("billboard_posted")
    assert (posted.content, posted.until - posted.turn) == ("Meet at noon", 2)
    assert '"Meet at noon"' in run.prompt(FIRST)


def set_tax() -> None:
    sell = row("sell", 'gain = { energy = 10 }\nrules = ["tax"]')
    run = Played(sell, row("decree", 'rules = ["set_tax"]'), head="tax_rate = 20\n")
    assert run.act(FIRST, "decree", None, "31").reason == "bad_value"
    assert "decree <content: 0-30>" in run.prompt(SECOND)
    run.act(FIRST, "decree", None, "0%")
    assert [(event.before, event.rate) for event in run.events("tax_changed")] == [(20, 0)]
    assert run.act(SECOND, "sell").effect_applied == Effect(energy={SECOND: 10})


def subsidy() -> None:
    sell = row("sell", 'gain = { energy = 20 }\nrules = ["tax"]')
    run = Played(sell, row("grant", 'rules = ["subsidy"]'), head="tax_rate = 30\n")
    run.act(FIRST, "sell")
    assert "grant <resident> <content: 1-6>" in run.prompt(FIRST)
    assert run.act(SECOND, "grant", OBSERVER, "7").reason == "not_enough_treasury"
    assert run.act(SECOND, "grant", OBSERVER, "6").effect_applied == Effect(energy={OBSERVER: 6}, treasury=-6)
    assert run.state.treasury == 0


def contest() -> None:
    ranks = '[[ranks]]\nfrom = 0\nname = { ko = "주민", en = "resident" }\ncontest = true\n'
    post = row("post", 'rules = ["billboard"]')
    run = Played(post, row("appeal", 'rules = ["contest"]'), ranks)
    assert run.act(FIRST, "appeal").parse_code == "invalid_action"
    run.act(ARCHITECT, "post", None, "Meet at noon")
    run.turn()
    for agent in [each for each in run.state.order if each != ARCHITECT][:2]:
        run.act(agent, "appeal")
    (undone,) = run.events("act_contested")
    assert (undone.undone, run.state.billboard) == ("billboard", None)


def feedback() -> None:
    run = Played(row("pray", 'rules = ["feedback"]'))
    run.act(FIRST, "pray")
    kinds = {name: [each.kind for each in run.state.agents[name].recent] for name in (FIRST, SECOND)}
    assert (kinds[FIRST][-1], kinds[SECOND][-1]) == ("feedback", "did")
    assert "pray" in run.prompt(FIRST)


def speak_in_market() -> None:
    shout = row("shout", 'does = "say"\nrules = ["speak_in_market"]')
    silent = Played(shout, head="speak_in_market = false\n", home="market")
    assert silent.act(FIRST, "shout").reason == "wrong_place"
    assert Played(shout, home="market").act(FIRST, "shout").success


CITED: tuple[Callable[[], None], ...] = (
    tax, pool, elder, crisis, alley, leak, ties, architect, billboard, set_tax, subsidy, contest, feedback,
    speak_in_market,
)  # fmt: skip


@pytest.mark.parametrize("rule", CITED, ids=lambda rule: rule.__name__)
def test_a_world_of_a_folder_cites_the_rule(rule: Callable[[], None]) -> None:
    rule()


def test_every_rule_is_declared_once_and_cited_above() -> None:
    assert set(get_args(RuleName)) == set(RULES) == {rule.__name__ for rule in CITED}


def test_the_guide_lists_every_rule_with_its_values() -> None:
    guide = (Path(__file__).parents[4] / "docs" / "agora-folder.md").read_text("utf-8").splitlines()
    for name, rule in RULES.items():
        (line,) = (each for each in guide if each.startswith(f"| `{name}` |"))
        assert line.endswith(f"| {', '.join(f'`{value}`' for value in rule.sets) or '–'} |")


def test_a_world_cites_what_no_action_needs() -> None:
    run = Played(row("rest", ""), "[crisis]\np = 1\nfrom = 1\nextra = 4\n", head='rules = ["crisis"]\n')
    assert run.state.agents[FIRST].energy == 46
    assert len(run.events("crisis_started")) == 1


SELL = row("sell", 'gain = { energy = 4 }\nrules = ["tax"]')


@pytest.mark.parametrize(
    ("world", "at", "code", "says"),
    [
        (row("sell", 'rules = ["tithe"]'), "rules =", "out_of_range", "'tithe'; choose from tax, pool, elder"),
        (row("sell", 'rules = "tax"'), "rules =", "wrong_type", "expected `array`"),
        ('rules = ["tithe"]\n' + SELL, 'rules = ["tithe"]', "out_of_range", "choose from tax"),
        ("tax_rate = 31\n" + SELL, "tax_rate", "out_of_range", "<= 30"),
        ('tax_rounding = "up"\n' + SELL, "tax_rounding", "out_of_range", "'up'"),
        ("tax_rate = 10\n" + row("sell", ""), "tax_rate", "unknown_key", "cite tax in `rules`"),
        ("pool = 10\n" + SELL, "pool", "unknown_key", "cite pool in `rules`"),
        ("elder = 2\n" + SELL, "elder", "unknown_key", "`like`"),
        (row("sell", 'rules = ["tax"]'), "rules =", "out_of_range", "tax needs a gain of energy"),
        (row("aid", 'rules = ["elder"]'), "rules =", "out_of_range", 'elder needs target = "agent"'),
        (row("tell", 'does = "say"\nrules = ["leak"]'), "rules =", "out_of_range", 'leak needs does = "whisper"'),
        (
            row("post", 'amount = { min = 1, max = 2 }\nrules = ["billboard"]'),
            "rules =",
            "out_of_range",
            "leave `amount` out",
        ),
        (
            row("aid", 'target = "agent"\nrules = ["crisis"]\n[crisis]\np = 2'),
            "[crisis]\np",
            "out_of_range",
            "probability",
        ),
    ],
)
def test_a_rule_that_is_unknown_or_does_not_fit_is_refused_with_its_line(
    world: str, at: str, code: str, says: str
) -> None:
    head, _, rows = world.rpartition("[actions.") if world.startswith("[") else world.partition("[actions.")
    text = head + TOWN + "[actions." + rows
    (fault,) = read(text)[1].faults
    line = text[: text.index(at) + len(at)].count("\n") + 1
    assert (fault.file, fault.line, fault.code) == (FILE, line, code), fault
    assert says in fault.message


def test_scripted_models_find_what_such_actions_need() -> None:
    rows = (
        row("sell", 'gain = { energy = 20 }\nrules = ["tax"]'), row("post", 'rules = ["billboard"]'),
        row("decree", 'rules = ["set_tax"]'), row("grant", 'rules = ["subsidy"]'),
    )  # fmt: skip
    plan, folder = read("tax_rate = 30\n" + TOWN + "".join(rows))
    turns = [
        turn
        for turn in rehearsal.records(plan, folder.rooms, folder.texts)
        if turn["action"] in ("sell", "post", "decree", "grant")
    ]
    assert {turn["action"] for turn in turns} == {"sell", "post", "decree", "grant"}
    assert {turn["reason"] for turn in turns} <= {None, "no_target"}


def test_the_architects_skills_are_read_in_a_world_like_a_shipped_one() -> None:
    plan, folder = read('like = "stage1"\n', home="plaza")
    run = Scenario[Any](Agora(), "agora-1")
    run.when(commands.OpenRun(spec=matrix.spec(plan, "experiment-1", matrix.cells(plan, folder.rooms)[1], 1)))
    said = '{"thought": "hm", "action": "adjust_tax", "target": null, "content": "20"}'
    read_by = {agent: read_reply(said, scenes.scene(run.state, agent)).code for agent in (ARCHITECT, FIRST)}
    assert read_by == {ARCHITECT: "ok", FIRST: "invalid_action"}


def test_a_shipped_move_goes_only_where_the_file_lets_it() -> None:
    plan, folder = read('like = "stage1"\n[places.plaza]\nto = ["market"]\n', home="plaza")
    run = Scenario[Any](Agora(), "agora-1")
    run.when(commands.OpenRun(spec=matrix.spec(plan, "experiment-1", matrix.cells(plan, folder.rooms)[1], 1)))
    rows = world.of(run.state).rows
    reached = {
        place: acts.judged(ActAttempt(run.state, FIRST, place), "move").reason for place in run.state.rules.places
    }
    assert rows["move"].packaged
    assert reached == dict.fromkeys(reached, "no_target") | {"market": None, "plaza": "same_place"}


def test_a_place_of_a_shipped_world_may_have_no_limit() -> None:
    _, folder = read(
        'like = "stage1"\n[places.plaza]\ncapacity = false\n[places.market]\ncapacity = 3\n[places.alleyway]\n',
        home="plaza",
    )
    places = folder.rooms[0].rules["own"]["places"]
    found = {name: place["capacity"] for name, place in places.items()}
    assert (found["plaza"], found["market"], found["alley_a"], found["alleyway"]) == (False, 3, 4, False)
