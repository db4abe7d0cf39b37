"""Twins: two games that differ in one secret look the same, byte for byte, to whoever may not know it.

A twin is made by changing the secret inside the stored events, so that nothing else differs; then everything that
anybody but the owner gets (every message, every view after every event, what is offered) is compared.
"""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from playmolt_core.game.decider import PUBLIC, Decider, Viewer
from playmolt_schemas.stored.event import Event

Change = Callable[[Any], Event]


def _seen(decider: Decider, log: list[tuple[Any, Any]], viewer: Viewer) -> list[bytes]:
    """What a viewer gets while a log unfolds: of each event the message, view, allowed actions and summary."""
    state, seen = decider.initial(f"{decider.game}-1"), []
    for event, at in log:
        state = decider.evolve(state, event, at)
        seen += [
            msgspec.json.encode(decider.public(event, viewer, state)),
            msgspec.json.encode(decider.view(state, viewer)),
            msgspec.json.encode([offer.type for offer in decider.allowed_actions(state, viewer.agent_id or "")]),
            msgspec.json.encode(decider.summary(state)),
        ]
    return seen


def _until(play: Any, kind: str) -> list[tuple[Any, Any]]:
    """The log of a game up to, but without, the first event of a type."""
    log: list[tuple[Any, Any]] = []
    for event, at, _ in play.log:
        if event.type == kind:
            return log
        log.append((event, at))
    raise AssertionError(f"there was no {kind}")


def _twin(log: list[tuple[Any, Any]], change: Change) -> list[tuple[Any, Any]]:
    twin = [(change(event), at) for event, at in log]
    assert twin != log
    return twin


def _viewers(play: Any, *but: str) -> list[Viewer]:
    seats = play.decider.participants(play.state)
    return [PUBLIC, Viewer("stranger"), *(Viewer(seat) for seat in seats if seat not in but)]


def _other_seed(event: Any) -> Any:
    return replace(event, seed="1" + event.seed) if event.type == "game_created" else event


def _other_draws(event: Any) -> Any:
    if event.type != "game_started":
        return event
    return replace(event, offset=event.offset + 1, lots=event.lots[::-1])


def _later_questions(event: Any) -> Any:
    if event.type != "game_started":
        return event
    return replace(event, questions=(event.questions[0], *event.questions[:0:-1]))


@pytest.mark.parametrize("field", ["choice", "comment"])
def test_a_first_choice_is_its_owners_until_the_reveal(plays: Any, field: str) -> None:
    play = plays("ox").to_the_end()
    owner = "agent-1"

    def change(event: Any) -> Any:
        if event.type != "first_choice_submitted" or event.agent_id != owner:
            return event
        return replace(event, **{field: "O" if getattr(event, field) == "X" else "X"})

    log = _until(play, "reveal")
    twin = _twin(log, change)
    for viewer in _viewers(play, owner):
        assert _seen(play.decider, log, viewer) == _seen(play.decider, twin, viewer)
    assert _seen(play.decider, log, Viewer(owner)) != _seen(play.decider, twin, Viewer(owner))


def test_a_vote_is_its_jurors_until_the_tally(plays: Any) -> None:
    play = plays("trial").to_the_end()
    log = _until(play, "jury_tally")
    juror = next(event.agent_id for event, _ in log if event.type == "vote_submitted")

    def change(event: Any) -> Any:
        if event.type != "vote_submitted" or event.agent_id != juror:
            return event
        return replace(event, verdict="NOT_GUILTY" if event.verdict == "GUILTY" else "GUILTY")

    twin = _twin(log, change)
    for viewer in _viewers(play, juror):
        assert _seen(play.decider, log, viewer) == _seen(play.decider, twin, viewer)
    assert _seen(play.decider, log, Viewer(juror)) != _seen(play.decider, twin, Viewer(juror))


def test_the_seed_is_nobodys(plays: Any, game: str) -> None:
    play = plays(game).to_the_end()
    log = [(event, at) for event, at, _ in play.log]
    twin = _twin(log, _other_seed)
    for viewer in _viewers(play):
        assert _seen(play.decider, log, viewer) == _seen(play.decider, twin, viewer)


def test_offset_and_lots_are_nobodys_while_the_game_runs(plays: Any) -> None:
    play = plays("ox").to_the_end()
    log = _until(play, "game_end")
    twin = _twin(log, _other_draws)
    for viewer in _viewers(play):
        assert _seen(play.decider, log, viewer) == _seen(play.decider, twin, viewer)


def test_a_question_is_nobodys_before_its_round(plays: Any) -> None:
    play = plays("ox").to_the_end()
    second = next(n for n, (event, _, _) in enumerate(play.log) if event.type == "question_open" and event.round == 2)
    log = [(event, at) for event, at, _ in play.log[:second]]
    twin = _twin(log, _later_questions)
    for viewer in _viewers(play):
        assert _seen(play.decider, log, viewer) == _seen(play.decider, twin, viewer)


def test_a_twin_that_leaks_is_found(plays: Any) -> None:
    play = plays("ox").to_the_end()
    log = [(event, at) for event, at, _ in play.log]

    def change(event: Any) -> Any:
        return replace(event, comment="seen") if event.type == "switch_submitted" else event

    assert _seen(play.decider, log, PUBLIC) != _seen(play.decider, _twin(log, change), PUBLIC)
