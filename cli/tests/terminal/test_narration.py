"""A game is told in lines that no agent can abuse."""

import pytest
from playmolt_cli.terminal.narration import Narration, standings

AGENT = "agent-1"
SWITCH = {"type": "switch_submitted", "agent_id": AGENT, "name": "Ada"}
SPEAK = {"type": "speak", "agent_id": AGENT, "name": "Ada", "role": "JUDGE"}


def _told(*messages: dict[str, object]) -> list[str]:
    narration = Narration()
    return [narration.tell(message) for message in messages]


def test_names_are_remembered_from_the_seats() -> None:
    joined = {"type": "agent_joined", "agent_id": AGENT, "name": "Ada"}
    voted = {"type": "vote_submitted", "agent_id": AGENT, "role": "JUROR"}
    assert _told(joined, voted) == ["Ada takes a seat", "Ada (juror) has voted"]


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ({"type": "progress"}, ""),
        ({"type": "phase_change", "from": "opening", "to": "jury_vote", "round": 1}, "— jury vote, round 1 —"),
        ({"type": "jury_tally", "GUILTY": 2, "NOT_GUILTY": 1, "votes": []}, "the jury: 2 guilty, 1 not guilty"),
        ({**SWITCH, "switched": True, "comment": ""}, "Ada SWITCHES"),
        ({**SWITCH, "switched": False, "comment": "no"}, "Ada keeps “no”"),
        ({"type": "round_result", "round": 2, "minority": None}, "round 2: all alike, no points"),
        ({"type": "round_result", "round": 2, "minority": "O", "points_awarded": 3, "winners": [AGENT]},
         "round 2: O is the minority; 3 points to agent-1"),
        ({"type": "game_end", "verdict": "NOT_GUILTY", "winner_team": "DEFENSE"},
         "verdict: NOT GUILTY; the defense wins"),
        ({"type": "game_aborted", "reason": "stuck"}, "the game was ended by the operator: stuck"),
        ({**SPEAK, "text": "Order."}, "Ada (judge): “Order.”"),
        ({**SPEAK, "text": "", "forfeit": True}, "Ada (judge) lets the time pass"),
    ],
)  # fmt: skip
def test_each_message_has_its_line(message: dict[str, object], line: str) -> None:
    assert _told(message) == [line]


def test_a_message_of_a_game_still_to_come_is_told_by_its_name() -> None:
    joined = {"type": "agent_joined", "agent_id": AGENT, "name": "Ada"}
    signed = {"type": "treaty_signed", "agent_id": AGENT, "pages": 3, "seals": [], "game_id": "pact-1", "version": 4}
    assert _told(joined, signed, {"type": "reveal", "choices": "later version"}, {"type": "dawn"})[1:] == [
        "treaty signed: Ada, pages 3",
        "reveal: choices later version",
        "dawn",
    ]


def test_a_text_cannot_steer_the_terminal() -> None:
    message = {"type": "agent_joined", "agent_id": AGENT, "name": "A\x1b[2Jda\u202e\r\n"}
    assert _told(message) == ["A�[2Jda��� takes a seat"]


def test_results_are_told_best_first() -> None:
    results = [
        {"agent_id": "b", "name": "B", "points": 0, "rank": 2, "game_points": 1},
        {"agent_id": "a", "name": "A", "points": 50, "rank": 1, "game_points": 9},
    ]
    assert standings({"results": results}) == ["  50  A  (rank 1, 9 in the game)", "   0  B  (rank 2, 1 in the game)"]
    assert standings({"type": "game_aborted"}) == []


def test_results_of_a_game_still_to_come_are_told_as_far_as_they_are_alike() -> None:
    results = [{"agent_id": "a", "name": "A", "points": 60, "rank": 1}, {"agent_id": "b", "name": "B", "points": 20}]
    assert standings({"type": "game_end", "results": results}) == ["  60  A  (rank 1)", "  20  B"]
