"""One parser for all models: which reply comes to which code, and what it does."""

import json
import time
from collections.abc import Callable
from typing import Any, get_args

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from playmolt_agora_runner.turn import reply_parser
from playmolt_agora_runner.turn.reply_parser import Parsed, read, reask_message, reply_schema
from playmolt_agora_runner.turn.scene import Scene
from playmolt_core.llm.openai.portable_schema import portable
from playmolt_schemas.stored.agora.turn import ACTIONS, SKILLS, VALID_CODES, ParseCode
from playmolt_schemas.text import unstorable

from tests.test_sent_schemas import unheld

Scenes = Callable[..., Scene]


def reply(**fields: Any) -> str:
    return json.dumps(fields, ensure_ascii=False)


WHOLE = {"thought": "t", "action": "whisper", "target": "merchant_02", "content": "c"}
WHISPER = ("whisper", "merchant_02", "c")

OK = [
    (reply(**WHOLE), WHISPER),
    (f"\n  {reply(**WHOLE)}\n", WHISPER),
    (reply(action="idle"), ("idle", None, None)),
    (reply(action="idle", target="", content=None, mood="calm"), ("idle", None, None)),
    (reply(**WHOLE, reason="r", message="m", to=["x"]), WHISPER),
    (reply(action="speak", target="everyone", content=" hi \n"), ("speak", "everyone", "hi")),
    (reply(action="whisper", target="citizen_99"), ("whisper", "citizen_99", None)),
    (reply(action="trade", content='{"action": "idle"}'), ("trade", None, '{"action": "idle"}')),
]
FENCED = [
    (f"```json\n{reply(**WHOLE)}\n```", WHISPER),
    (f"```\n{reply(**WHOLE)}\n```\nDone.", WHISPER),
    (f"I chose {{carefully}}: {reply(**WHOLE)} {{end}}", WHISPER),
    (f"{{{reply(**WHOLE)}}}", WHISPER),
    (f"[{reply(**WHOLE)}]", WHISPER),
    (f"{reply(**WHOLE)}\n{reply(**WHOLE)}", WHISPER),
    (f'{{"note": "a draft"}} {reply(**WHOLE)}', WHISPER),
    (reply(response=WHOLE), WHISPER),
    (f"\\ {reply(action='speak', content='a } b { c', extra={'deep': {'er': 1}})}", ("speak", None, "a } b { c")),
    ('{"action": "speak", "content": "two\nlines"}', ("speak", None, "two\nlines")),
]
CANONICALISED = [
    (reply(action="whisper|merchant_02", content="c"), WHISPER),
    (reply(action="whisper|merchant_02|c: d"), ("whisper", "merchant_02", "c: d")),
    (reply(action="whisper | merchant_02", target="merchant_02", content="c"), WHISPER),
    (reply(action="whisper(merchant_02): c"), WHISPER),
    (reply(action="whisper merchant_02 c"), WHISPER),
    (reply(action="whisper|citizen_99"), ("whisper", "citizen_99", None)),
    (reply(action=" Whisper ", target="Merchant 2", content="c"), WHISPER),
    (reply(action="귓속말", target="merchant_02에게", content="c"), WHISPER),
    (reply(action="merchant_02에게 귓속말하기", content="c"), WHISPER),
    (reply(action="말하기", content="c"), ("speak", None, "c")),
    (reply(action="speak: a: b"), ("speak", None, "a: b")),
    (reply(action="**SPEAK**."), ("speak", None, None)),
    (reply(action="ｓｐｅａｋ"), ("speak", None, None)),
    (reply(action="do nothing"), ("idle", None, None)),
    (reply(action="idle (wait and see)"), ("idle", None, None)),
    (reply(action="idle", target="없음"), ("idle", None, None)),
    (reply(action="거래하기"), ("trade", None, None)),
    (reply(action="move to market"), ("move", "market", None)),
    (reply(action="move -> plaza"), ("move", "plaza", None)),
    (reply(action="시장으로 이동"), ("move", "market", None)),
    (reply(action="이동", target="골목 A"), ("move", "alley_a", None)),
    (reply(action="move", target="Alley-B"), ("move", "alley_b", None)),
    (reply(action="support", target="<merchant_02>"), ("support", "merchant_02", None)),
    (reply(action="support", target="agent merchant_02"), ("support", "merchant_02", None)),
    (reply(action="support <merchant_02>"), ("support", "merchant_02", None)),
    (reply(action="speak", content=12), ("speak", None, "12")),
    (reply(action=["idle"]), ("idle", None, None)),
    (reply(Action="idle"), ("idle", None, None)),
    (reply(행동="발언", 내용="c"), ("speak", None, "c")),
    (f"```json\n{reply(action='SPEAK', content='c')}\n```", ("speak", None, "c")),
]
PARSE_ERRORS = [
    "",
    "  \n",
    "I think I will trade.",
    '{"action": "speak", "content": "cut of',
    "{'action': 'idle'}",
    '"idle"',
    "[]",
    "{}",
    reply(thought="no action"),
    reply(action=None),
    reply(first={"action": "idle"}, second={"action": "idle"}),
    reply(action="speak", message="a", text="b"),
    reply(action=5),
    reply(action=True),
    reply(action={"name": "idle"}),
    reply(action=["idle", "speak"]),
    reply(action="idle", thought={"a": 1}),
    reply(action="idle", content=["a", "b"]),
    '{"action": "idle", "action": "speak"}',
    '{"action": "idle", "Action": "idle"}',
    f"{reply(action='idle')} or {reply(action='speak')}",
    '{"action": NaN}',
]
INVALID = [
    reply(action="dance"),
    reply(action=""),
    reply(action="speak|trade|support|whisper|move|idle"),
    reply(action="speak or trade"),
    reply(action="trade and then move"),
    reply(action="I want to trade"),
    reply(action="do not trade"),
    reply(action="support the idea of a market"),
    reply(action="alley_a"),
    reply(action="sp\x00eak"),
    reply(action="move|plaza", target="market"),
    *(reply(action=skill) for skill in SKILLS),
    reply(action="세율 조정", content="5"),
]
REFUSALS = ["I'm sorry, but I can't help with that.", "I cannot take part in this.", "죄송합니다. 응할 수 없습니다."]


def act(parsed: Parsed) -> tuple[str | None, str | None, str | None]:
    return parsed.action, parsed.target, parsed.content


@pytest.mark.parametrize(
    ("code", "text", "expected"),
    [
        *(("ok", *pair) for pair in OK),
        *(("ok_fenced", *pair) for pair in FENCED),
        *(("ok_canonicalised", *pair) for pair in CANONICALISED),
    ],
)
def test_a_reply_that_acts(code: ParseCode, text: str, expected: tuple[str, Any, Any], scene_of: Scenes) -> None:
    parsed = read(text, scene_of())
    assert (parsed.code, act(parsed)) == (code, expected)
    assert parsed.valid
    assert not parsed.fault


@pytest.mark.parametrize(
    ("code", "text"),
    [
        *(("parse_error", text) for text in PARSE_ERRORS),
        *(("invalid_action", text) for text in INVALID),
        *(("refusal", text) for text in REFUSALS),
    ],
)
def test_a_reply_that_does_nothing(code: ParseCode, text: str, scene_of: Scenes) -> None:
    for language in ("ko", "en"):
        parsed = read(text, scene_of(language=language))
        assert (parsed.code, parsed.valid) == (code, False)
        assert (parsed.thought, *act(parsed)) == (None,) * 4
        assert parsed.fault
        assert parsed.fault in reask_message(parsed, language)  # type: ignore[arg-type]


def test_what_the_runtime_saw_comes_first(scene_of: Scenes) -> None:
    good = reply(**WHOLE)
    assert read(good, scene_of(), failed="timeout").code == "timeout"
    assert read(good, scene_of(), failed="refusal").code == "refusal"
    assert read(None, scene_of()).code == "parse_error"
    assert read(None, scene_of(), failed="timeout", reask=True).code == "timeout"


@pytest.mark.parametrize("text", [OK[0][0], FENCED[0][0], CANONICALISED[0][0]])
def test_what_is_good_after_a_second_question_is_reasked(text: str, scene_of: Scenes) -> None:
    parsed = read(text, scene_of(), reask=True)
    assert (parsed.code, act(parsed)) == ("reasked", WHISPER)


def test_what_is_bad_after_a_second_question_keeps_its_own_code(scene_of: Scenes) -> None:
    for code, text in (("parse_error", ""), ("invalid_action", reply(action="dance")), ("refusal", REFUSALS[0])):
        assert read(text, scene_of(), reask=True).code == code


def test_skills_are_the_architect_s_alone(scene_of: Scenes) -> None:
    text = reply(action="adjust_tax", content=15)
    architect = {"agent": "architect_01", "persona": "architect"}
    assert act(read(text, scene_of("phase1", **architect))) == ("adjust_tax", None, "15")
    assert read(text, scene_of("stage1", **architect)).valid
    assert read(text, scene_of("phase2", **architect)).code == "invalid_action"
    assert read(text, scene_of("phase1")).code == "invalid_action"
    granted = read(reply(action="grant_subsidy merchant_02 20"), scene_of("phase1", **architect))
    assert act(granted) == ("grant_subsidy", "merchant_02", "20")


def test_only_the_living_are_known_by_other_spellings(scene_of: Scenes) -> None:
    text = reply(action="support", target="Jester 2")
    assert read(text, scene_of()).target == "jester_02"
    assert read(text, scene_of(agents=("merchant_01",))).target == "Jester 2"


def test_what_is_kept_is_trimmed_storable_and_bounded(scene_of: Scenes) -> None:
    text = '{"thought": " a\\ud800b ", "action": "speak", "content": "\\u0000 x \\u3000", "target": "\\ud800"}'
    parsed = read(text, scene_of())
    assert (parsed.thought, parsed.content, parsed.target) == ("a\ufffdb", "\ufffd x", "\ufffd")
    long = read(reply(thought="t" * 9000, action="speak", content="c" * 9000, target="x" * 900), scene_of())
    assert long.code == "ok_canonicalised"
    assert [len(part or "") for part in (long.thought, long.content, long.target)] == [
        reply_parser.THOUGHT_CHARS,
        reply_parser.CONTENT_CHARS,
        reply_parser.TARGET_CHARS,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{" * 65_000,
        '{"a":' * 13_000,
        '{"a":[' * 11_000,
        "[" * 65_000,
        '{"action":"idle","n":' + "9" * 60_000 + "}",
        '{"action":"idle","content":"' + "x" * 200_000,
        reply(action="whisper " * 8000),
        reply(action="move|" * 12_000),
        reply(action="-" * 60_000),
        reply(action="speak" + " " * 60_000 + "x"),
        reply(action="idle", target="\u200b(" * 20_000),
    ],
)
def test_no_reply_takes_long(text: str, scene_of: Scenes) -> None:
    start = time.process_time()
    assert read(text, scene_of()).code in get_args(ParseCode)
    assert time.process_time() - start < 2


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(
    st.sampled_from(("thought", "action", "target", "content", "Action", "행동")),
    VALUES | st.sampled_from((*ACTIONS, *SKILLS, "whisper|merchant_02", "market", "idle|", "|", ":move:")),
    max_size=5,
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    text=st.text(max_size=80) | FIELDS.map(json.dumps) | FIELDS.map(lambda fields: f"so: {json.dumps(fields)}"),
    persona=st.sampled_from(("merchant", "architect")),
    reask=st.booleans(),
)
def test_whatever_is_said_comes_to_one_code(text: str, persona: str, reask: bool, scene_of: Scenes) -> None:
    parsed = read(text, scene_of(persona=persona), reask=reask)
    assert parsed.code in get_args(ParseCode)
    assert parsed.valid == (parsed.code in VALID_CODES)
    assert parsed.action in (None, *ACTIONS, *(SKILLS if persona == "architect" else ()))
    for kept in (parsed.thought, parsed.target, parsed.content):
        assert kept is None or (type(kept) is str and kept == kept.strip() and kept and not unstorable(kept))


def test_the_schema_takes_what_the_parser_takes(scene_of: Scenes) -> None:
    schema = reply_schema(scene_of())
    assert list(unheld(portable(schema))) == [], "servers hold a model to all of it"
    jsonschema.Draft202012Validator.check_schema(schema)
    for action in ACTIONS:
        whole = {**WHOLE, "action": action, "target": None}
        jsonschema.validate(whole, schema)
        assert read(reply(**whole), scene_of()).code == "ok"
    for wrong in ({**WHOLE, "action": "build_billboard"}, {"action": "idle"}, {**WHOLE, "more": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


def test_the_schema_offers_the_architect_its_skills(scene_of: Scenes) -> None:
    def offered(phase: str, persona: str) -> list[str]:
        actions: list[str] = reply_schema(scene_of(phase, persona=persona))["properties"]["action"]["enum"]
        return actions

    assert offered("stage1", "architect") == [*ACTIONS, *SKILLS]
    assert offered("phase2", "architect") == offered("stage1", "merchant") == list(ACTIONS)
