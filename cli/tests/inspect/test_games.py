"""Games as samples of Inspect: equal for twins while they run, whole when they are over."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from playmolt_cli.inspect.games import Message, game_log
from playmolt_core.engine.messages import message
from playmolt_core.game.decider import PUBLIC, Decider
from playmolt_schemas.identifiers import rfc3339

from schemas.tests.conftest import DECIDERS, played

Log = list[tuple[Any, datetime]]
OWNER = "agent-1"
SECRET = "a comment before the reveal"


def shown(decider: Decider, log: Log) -> list[Message]:
    """What spectators get of it."""
    game_id, state, found = f"{decider.game}-1", decider.initial(f"{decider.game}-1"), []
    for version, (event, at) in enumerate(log, 1):
        state = decider.evolve(state, event, at)
        found.append(msgspec.json.decode(message(decider, game_id, version, rfc3339(at), event, PUBLIC, state)))
    return found


def until(log: Log, kind: str = "") -> Log:
    place = next((number for number, (event, _) in enumerate(log) if event.type == kind), len(log))
    return log[:place]


def choice(event: Any) -> Any:
    return replace(event, comment=SECRET) if event.type == "first_choice_submitted" else event


def vote(event: Any) -> Any:
    other = {"GUILTY": "NOT_GUILTY", "NOT_GUILTY": "GUILTY"}
    return replace(event, verdict=other[event.verdict]) if event.type == "vote_submitted" else event


def seed(event: Any) -> Any:
    return replace(event, seed="1" + event.seed) if event.type == "game_created" else event


@pytest.mark.parametrize(
    ("game", "last", "change"),
    [
        ("ox", "reveal", choice), ("trial", "jury_tally", vote), ("ox", "game_end", seed), ("trial", "game_end", seed),
    ],
)  # fmt: skip
def test_twins_give_one_document_while_they_run(game: str, last: str, change: Callable[[Any], Any]) -> None:
    log = [(event, at) for event, at, _ in played(game).to_the_end().log]
    running = until(log, last)
    twin = [(change(event), at) for event, at in running]
    assert twin != running
    documents = [game_log(shown(DECIDERS[game], each), "en").document() for each in (running, twin)]
    assert documents[0] == documents[1]
    assert documents[0]["status"] == "started"
    assert SECRET not in str(documents)


def test_what_was_secret_is_said_when_it_is_revealed() -> None:
    log = [(event, at) for event, at, _ in played("ox").to_the_end().log]
    [sample] = game_log(shown(DECIDERS["ox"], log), "en").samples
    revealed = [one for one in sample.said if one.about["type"] == "reveal"]
    choices = [one for event, _ in log if event.type == "reveal" for one in event.choices]
    assert [one.text for one in revealed] == [f"choice: {one.choice}\ncomment: {one.comment}" for one in choices]
    assert [(one.about["agent_id"], one.by_seat) for one in revealed] == [(one.agent_id, True) for one in choices]


def test_a_finished_game_has_its_results() -> None:
    log = [(event, at) for event, at, _ in played("ox").to_the_end().log]
    messages = shown(DECIDERS["ox"], log)
    found = game_log(messages, "en")
    [sample] = found.samples
    assert (found.status, found.ended, sample.ended) == ("success", log[-1][1], log[-1][1])
    results = messages[-1]["results"]
    assert sample.scores["points"] == {each["name"]: each["points"] for each in results}
    assert len({each.file_name() for each in (found, replace(found, id="ox-2"))}) == 2
    assert found.file_name().startswith("2026-03-01T00-")


def test_two_seats_of_one_name_have_scores_of_their_own() -> None:
    log = [(event, at) for event, at, _ in played("ox").to_the_end().log]
    messages = shown(DECIDERS["ox"], log)
    results = [dict(each, name="Ada") for each in messages[-1]["results"]]
    [sample] = game_log([*messages[:-1], {**messages[-1], "results": results}], "en").samples
    assert sample.scores["points"] == {each["agent_id"]: each["points"] for each in results}


def test_a_missed_deadline_is_said_as_such() -> None:
    spoken = {
        "type": "speak", "agent_id": OWNER, "name": "Ada", "role": "JUDGE", "text": "", "phase": "opening", "round": 0,
        "forfeit": True, "game_id": "trial-1", "version": 1, "at": "2026-03-01T00:00:00.000000Z",
    }  # fmt: skip
    [sample] = game_log([spoken], "en").samples
    assert [(one.speaker, one.text) for one in sample.said] == [("Ada", "(no submission)")]
