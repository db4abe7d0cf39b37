"""The bot guides: filled in from the code, and their examples play."""

import json
import re
from typing import Any

import msgspec
import pytest
from playmolt_core.game.decider import Act, Decider, Viewer
from playmolt_schemas import limits, skill
from playmolt_schemas.codes import Code
from playmolt_schemas.registry import games
from playmolt_schemas.skill import PAGE_LANGUAGES, Addresses, render


@pytest.fixture(params=PAGE_LANGUAGES)
def guide(game: str, request: pytest.FixtureRequest) -> str:
    text = skill.guide(games()[game], request.param, Addresses())
    assert text is not None
    return text


def test_nothing_is_left_to_fill_in(guide: str) -> None:
    assert "{{" not in guide


def test_the_front_matter_says_what_it_is(game: str, guide: str) -> None:
    front = dict(line.split(": ", 1) for line in guide.split("---\n")[1].splitlines())
    assert front.keys() == {"name", "version", "description", "api_base", "calls"}
    assert front["name"] == f"playmolt-{game}"


def test_limits_and_codes_are_those_of_the_code() -> None:
    assert render("a {{limit SPEAK_CHARS}} b") == f"a {limits.SPEAK_CHARS} b"
    table = render("{{codes GAME_OVER WRONG_PHASE}}")
    assert "| 409 | `game_over` |\n| 400 | `wrong_phase` |" in table


@pytest.mark.parametrize(
    "text", ["{{limit NO_SUCH}}", "{{limit}}", "{{codes NO_SUCH}}", "{{codes}}", "{{hint X}}", "{{hint}}"]
)
def test_a_placeholder_that_names_nothing_is_an_error(text: str) -> None:
    with pytest.raises(LookupError):
        render(text)


def test_every_code_in_a_guide_exists(guide: str) -> None:
    named = re.findall(r"^\| \d+ \| `(\w+)` \|$", guide, re.MULTILINE)
    assert len(named) >= 14
    assert set(named) <= {code.wire for code in Code}


def test_the_times_are_those_of_the_rules(guide: str, decider: Any) -> None:
    line = next(line for line in guide.splitlines() if "`deadline`" in line and "`seconds_left`" in line)
    said = map(int, re.findall(r"\d+", re.split(r"[.。]", line)[0]))
    assert list(said) == list(dict.fromkeys(decider.deadlines.values()))
    minutes = re.findall(r"(\d+) ?(?:minutes|분|分钟)", guide)
    assert minutes == [str(limits.SLOW_PHASE_SECONDS // 60)]


def test_every_example_action_is_of_a_known_type(guide: str, decider: Any) -> None:
    block, tools = re.findall(r"```json\n(.*?)```", guide, re.DOTALL)
    examples = [json.loads(line) for line in block.splitlines()]
    assert {example["type"] for example in examples} == decider.messages.actions.keys()
    for example in examples:
        assert msgspec.convert(example, decider.messages.actions[example["type"]])
    assert examples[0] in [json.loads(line)["arguments"].get("action") for line in tools.splitlines()]


def test_the_example_bot_plays_a_game_to_its_end(guide: str, game: str, decider: Decider, plays: Any) -> None:
    (source,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)
    play, posted, calls = plays(game), [], []
    me = "agent-0"

    def call(method: str, path: str, body: Any = None) -> Any:
        """Stand in for the HTTP call of the guide: the game itself answers, the other seats play in between."""
        calls.append(path)
        if path == "/agents":
            return {"id": me, "api_key": "key"}
        if path == "/games":
            assert body == {"gameType": game, "fill": "house"}
            return {"game_id": f"{game}-1"}
        if path.endswith("/actions"):
            assert path == f"/games/{game}-1/actions"
            assert play.when(Act(agent_id=me, action=body))
            posted.append(body)
            return {"status": "accepted", "version": len(play.log)}
        assert path == "/agents/me/turn?wait=25"
        while (wanted := play.waiting_for(me)) and wanted[0] != me:
            play.answer(*wanted)
        state = _view(play, me)
        offers = [{"type": kind} for kind in state["allowed_actions"]]
        return {"game_id": f"{game}-1", "turn_id": None, "over": wanted is None, "state": state, "actions": offers}

    before, _, after = source.partition("def decide(")
    scope: dict[str, Any] = {}
    exec(before, scope)  # noqa: S102 -- the guide's own example is what is tested
    scope["call"] = call
    exec("def decide(" + after, scope)  # noqa: S102
    assert play.decider.summary(play.state).phase == "end"
    assert len(posted) >= 4
    told = next(line for line in guide.splitlines() if line.startswith("calls: "))
    assert len(calls) <= int(told.removeprefix("calls: "))


def _view(play: Any, agent: str) -> Any:
    return msgspec.json.decode(msgspec.json.encode(play.decider.view(play.state, Viewer(agent))))
