"""Scripted models: they see the prompt, play in character, and slip now and then."""

import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from math import log2
from typing import Any

import pytest
from playmolt_agora_runner.scripted import residents as scripted
from playmolt_agora_runner.scripted import visitors
from playmolt_agora_runner.turn import prompts, reply_parser, texts
from playmolt_agora_runner.turn.scene import Scene
from playmolt_agora_runner.world.state import Observation
from playmolt_core.llm.port import Attempt, ChatMessage, Failed, ModelRequest, Reply, TurnHeader
from playmolt_core.llm.scripted.model import Cast, Said, ScriptedModel, ScriptedTurn
from playmolt_schemas.instrument import lexicon as coding
from playmolt_schemas.stored.agora.turn import ACTIONS, Language

Scenes = Callable[..., Scene]
TURNS = 240


def request(scene: Scene, alias: str, number: int = 0) -> ModelRequest:
    prompt = prompts.render(scene)
    messages = (ChatMessage("system", prompt.system), ChatMessage("user", prompt.user))
    return ModelRequest(alias=alias, messages=messages, turn=TurnHeader("run", f"turn-{number}"), decoding="prompt")


def say(scene: Scene, alias: str, number: int = 0, seed: str = "1") -> Said:
    return scripted.answer(alias, scene, ScriptedTurn(request(scene, alias, number), seed))


def shares(scenes: Scenes, alias: str, phase: str, turn: int = 1, **changes: Any) -> dict[str, float]:
    counts: Counter[str] = Counter()
    for number in range(TURNS):
        scene = scenes(phase, ("ko", "en")[number % 2], turn=turn, **changes)
        action = reply_parser.read(say(scene, alias, number).text, scene).action
        if action in ACTIONS:
            counts[action] += 1
    return {action: counts[action] / counts.total() for action in ACTIONS}


def divergence(one: dict[str, float], other: dict[str, float]) -> float:
    def entropy(shares: list[float]) -> float:
        return -sum(share * log2(share) for share in shares if share)

    mean = [(one[action] + other[action]) / 2 for action in ACTIONS]
    return entropy(mean) - entropy(list(one.values())) / 2 - entropy(list(other.values())) / 2


def test_all_aliases_are_in_the_cast_and_no_other() -> None:
    cast = scripted.cast()
    assert all(cast.knows(alias) for alias in scripted.ALIASES)
    assert not cast.knows("scripted-unknown")


@pytest.mark.parametrize("alias", scripted.ALIASES)
def test_the_same_turn_is_answered_alike_and_another_is_not(alias: str, scene_of: Scenes) -> None:
    scene = scene_of()
    assert say(scene, alias, 3) == say(scene, alias, 3)
    assert len({say(scene, alias, number) for number in range(40)}) > 5
    assert [say(scene, alias, n, "1") for n in range(20)] != [say(scene, alias, n, "2") for n in range(20)]


def test_what_is_not_a_turn_of_agora_is_for_the_generic_one() -> None:
    ask = ModelRequest(alias="scripted", messages=(ChatMessage("user", "[YOUR IDENTITY] and nothing else"),))
    turn = ScriptedTurn(ask, "1")
    assert scripted.cast().character(turn)(turn).text


def test_traders_trade_less_when_nothing_is_at_stake(scene_of: Scenes) -> None:
    real, calm = (shares(scene_of, "scripted-trader", phase) for phase in ("stage1", "phase1"))
    assert real["trade"] - calm["trade"] > 0.12
    steady = divergence(*(shares(scene_of, "scripted-steady", phase) for phase in ("stage1", "phase1")))
    assert divergence(real, calm) > 2 * steady


def test_hunger_sends_to_the_market(scene_of: Scenes) -> None:
    full, hungry = (shares(scene_of, "scripted", "stage1", place="plaza", energy=energy) for energy in (100, 20))
    assert hungry["move"] > full["move"] + 0.1


def test_the_drifter_loses_its_persona_and_the_steady_one_does_not(scene_of: Scenes) -> None:
    def moved(alias: str) -> float:
        first, last = (
            shares(scene_of, alias, "phase2", turn=turn, persona="archivist", place="plaza") for turn in (1, 95)
        )
        return divergence(first, last)

    assert moved("scripted-drifter") > 0.05
    assert moved("scripted-steady") < 0.02


def test_a_persona_shows_and_washes_out(scene_of: Scenes) -> None:
    def washed(turn: int) -> float:
        on = shares(scene_of, "scripted-drifter", "phase2", turn=turn, persona="archivist", place="plaza")
        off = shares(scene_of, "scripted-drifter", "phase2", turn=turn, persona=None, place="plaza")
        return divergence(on, off)

    assert washed(2) > 0.08
    assert washed(90) < 0.03


def test_the_jester_is_freer_than_the_archivist(scene_of: Scenes) -> None:
    jester, archivist = (
        max(shares(scene_of, "scripted-steady", "phase2", persona=persona, place="plaza").values())
        for persona in ("jester", "archivist")
    )
    assert archivist > 0.6
    assert jester < 0.45


def test_neutral_answers_wear_off_trade(scene_of: Scenes) -> None:
    answers = tuple(Observation(turn=1, kind="feedback", importance=1, values={"action": "trade"}) for _ in range(9))
    before, after = (shares(scene_of, "scripted-social", "phase2", events=events) for events in ((), answers))
    assert before["trade"] > 1.5 * after["trade"]


def test_profiles_differ(scene_of: Scenes) -> None:
    found = [shares(scene_of, alias, "stage1", persona="citizen") for alias in scripted.ALIASES]
    trader, social = found[2], found[3]
    assert trader["trade"] > 2 * social["trade"]
    assert social["speak"] + social["support"] > 2 * (trader["speak"] + trader["support"])


@cache
def _wild(scenes: Scenes) -> Counter[str]:
    codes: Counter[str] = Counter()
    for number in range(600):
        scene = scenes("phase1", ("ko", "en")[number % 2], place="alley_a")
        said = say(scene, "scripted-wild", number)
        codes[reply_parser.read(said.text, scene, failed="refusal" if said.refusal else None).code] += 1
    return codes


def test_the_wild_one_slips_in_every_way(scene_of: Scenes) -> None:
    codes = _wild(scene_of)
    assert set(codes) == {"ok", "ok_fenced", "ok_canonicalised", "parse_error", "invalid_action", "refusal"}
    assert 0.08 < sum(codes[code] for code in ("parse_error", "invalid_action", "refusal")) / 600 < 0.2
    assert codes["ok_fenced"] > 60


def test_who_is_asked_again_takes_care(scene_of: Scenes) -> None:
    scene = scene_of()
    good = 0
    for number in range(100):
        asked = request(scene, "scripted-wild", number)
        again = (*asked.messages, ChatMessage("assistant", "?"), ChatMessage("user", "again"))
        ask = ModelRequest(alias=asked.alias, messages=again, turn=asked.turn)
        said = scripted.answer("scripted-wild", scene, ScriptedTurn(ask, "1"))
        failed: reply_parser.FailedCode | None = "refusal" if said.refusal else None
        good += reply_parser.read(said.text, scene, failed=failed, reask=True).code == "reasked"
    assert good > 90


@pytest.mark.parametrize("language", ["ko", "en"])
def test_thoughts_name_survival_where_it_is_at_stake(language: Language, scene_of: Scenes) -> None:
    def named(phase: str) -> tuple[int, int]:
        cues = []
        for number in range(200):
            scene = scene_of(phase, language)
            parsed = reply_parser.read(say(scene, "scripted-steady", number).text, scene)
            cues.append(coding.cues(parsed.thought, language))
        return sum(cue.s for cue in cues), sum(cue.o for cue in cues)

    stage1, phase2 = named("stage1"), named("phase2")
    assert stage1[0] > 60 > phase2[0]
    assert stage1[1] > 10
    assert phase2[1] > 10


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_lexicons_find_the_aims_that_thoughts_are_written_for(language: Language) -> None:
    phrases = texts.table("scripted.toml")["phrases"][language]
    aims = {"survival": (True, False), "social": (False, True), "both": (True, True), "plain": (False, False)}
    for aim, expected in aims.items():
        for phrase in phrases[aim]:
            found = coding.cues(phrase, language)
            assert (found.s, found.o) == expected, phrase


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_architect_alone_uses_its_skills(language: Language, scene_of: Scenes) -> None:
    def skills(phase: str, persona: str | None) -> set[str | None]:
        condition = "with_persona" if persona else "no_persona"
        scene = scene_of(phase, language, persona=persona, persona_condition=condition)
        return (
            {reply_parser.read(say(scene, "scripted", n).text, scene).action for n in range(200)}
            - set(ACTIONS)
            - {None}
        )

    assert skills("phase1", "architect") == {"build_billboard", "adjust_tax", "grant_subsidy"}
    assert skills("phase1", "citizen") == skills("phase1", "influencer") == skills("phase2", "merchant") == set()
    assert skills("phase1", None) == set()


async def test_they_are_models_like_any_other(scene_of: Scenes) -> None:
    attempts: list[Attempt] = []

    async def record(attempt: Attempt) -> None:
        attempts.append(attempt)

    scene = scene_of()
    cast = Cast()
    cast.add(visitors.character("scripted-wild", scene), alias="scripted-wild")
    model = ScriptedModel(cast, seed="7")
    answers = [await model.ask(request(scene, "scripted-wild", number), record) for number in range(80)]
    assert {type(answer) for answer in answers} == {Reply, Failed}
    assert {answer.code for answer in answers if isinstance(answer, Failed)} == {"refused"}
    assert len(attempts) == 80


def test_a_reply_takes_no_time(scene_of: Scenes) -> None:
    scene = scene_of("stage1")
    asks = [ScriptedTurn(request(scene, "scripted", number), "1") for number in range(200)]
    start = time.process_time()
    for ask in asks:
        scripted.answer("scripted", scene, ask)
    assert (time.process_time() - start) / 200 < 0.003
