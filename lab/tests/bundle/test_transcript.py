"""A transcript holds every turn in its order, whatever agents say, and nothing that they say steers a page."""

import msgspec
import pytest
from playmolt_agora.report.assembly import turns_of
from playmolt_agora.report.transcript import transcript
from playmolt_schemas.stored.agora.turn import TurnRecord

from .conftest import Played


@pytest.fixture(scope="module")
def turns(played: Played) -> tuple[TurnRecord, ...]:
    run = next(iter(played.runs))
    return turns_of({run: played.runs[run]})


def changed(turn: TurnRecord, /, **values: object) -> TurnRecord:
    return msgspec.structs.replace(turn, **values)


def test_text_has_a_block_a_turn(turns: tuple[TurnRecord, ...]) -> None:
    text = transcript(reversed(turns), "text", title="t")
    blocks = text.removesuffix("\n\n").split("\n\n")
    assert len(blocks) == len(turns)
    first = min(turns, key=lambda turn: (turn.turn, turn.order))
    assert blocks[0].splitlines()[0] == f"[1.1] {first.agent} · {first.model} · {first.place_before}"


def test_what_a_turn_says_appears_in_its_lines(turns: tuple[TurnRecord, ...]) -> None:
    made = {"agent": "a", "model": "m", "place_before": "plaza", "turn": 2, "order": 3}
    said = changed(turns[0], **made, thought="one\ntwo", action="whisper", target="b", content="psst", success=False,
                   reason="not_here", parse_code="ok")  # fmt: skip
    assert transcript([said], "text", title="t") == (
        "[2.3] a · m · plaza\nthought: one\n  two\nact: whisper → b\nsays: psst\nresult: not_here\n\n"
    )
    failed = changed(turns[0], **made, thought=None, action=None, target=None, content=None, success=False,
                     parse_code="parse_error", raw_reply="what?")  # fmt: skip
    assert transcript([failed], "text", title="t") == "[2.3] a · m · plaza\nresult: parse_error\nraw: what?\n\n"


def test_texts_of_agents_are_no_markup(turns: tuple[TurnRecord, ...]) -> None:
    bad = changed(turns[0], agent="a", content="<script>*x*</script>", action="speak", success=True)
    page = transcript([bad], "html", title="<t>")
    assert "<script" not in page
    assert f'<dt>says</dt><dd lang="{bad.language}">' in page
    assert "<dt>act</dt><dd>" in page
    assert f'<article data-turn="{bad.turn}" data-order="{bad.order}" data-agent="a">' in page
    assert r"- says: \<script\>\*x\*\</script\>" in transcript([bad], "md", title="t")


def test_only_texts_of_agents_are_escaped(turns: tuple[TurnRecord, ...]) -> None:
    turn = changed(turns[0], agent="echo_01", model="model-1.5_x", place_before="town_hall", turn=1, order=1,
                   thought=None, action="speak_to", target="echo_02", content="1. *so*", success=False,
                   reason="not_here", parse_code="ok")  # fmt: skip
    assert transcript([turn], "md", title="trial-1.0 · A_b · 1") == (
        "# trial-1.0 · A_b · 1\n\n### 1.1 · echo_01 · model-1.5_x · town_hall\n\n- act: speak_to → echo_02\n"
        "- says: 1\\. \\*so\\*\n- result: not_here\n\n"
    )
    lost = changed(turn, target="<b>*who*</b>")
    assert r"- act: speak\_to → \<b\>\*who\*\</b\>" in transcript([lost], "md", title="t")


def test_prompts_stand_before_what_they_led_to(turns: tuple[TurnRecord, ...], played: Played) -> None:
    shown = transcript(turns[:1], "text", title="t", prompts=played.prompts)
    assert shown.index("system: ") < shown.index("user: ") < shown.index("result: ")
