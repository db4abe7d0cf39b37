"""Which notices events of the log cause, and for whom."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from playmolt_core.db.webhooks import LoggedEvent, SeatEvent
from playmolt_core.game.seats.state import turn_id_of
from playmolt_core.relay.notices import members, noticed_types, notices_of
from playmolt_schemas.api import WebhookEvent
from playmolt_schemas.games import trial
from playmolt_schemas.registry import bot_games

AT = datetime(2026, 1, 2, 12, tzinfo=UTC)
OX, TRIAL, CUP, DECISIONS = (
    f"{kind}-0190c3f8-1111-7222-8333-444455556666" for kind in ("ox", "trial", "tournament", "moderation")
)
ADA, BOB, EVE = (f"agent-00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
ENTRANTS = {ADA: 1, BOB: 2, EVE: 3}
OWNER = "owner-00000000-0000-4000-8000-000000000001"


def seats(stream: str, *rows: tuple[int, str, Mapping[str, object]]) -> Sequence[SeatEvent]:
    return [SeatEvent(stream, version, kind, json.dumps(data)) for version, kind, data in rows]


def caused(
    stream: str, version: int, kind: str, data: Mapping[str, object], history: Sequence[SeatEvent] = ()
) -> list[tuple[str, WebhookEvent, Mapping[str, object]]]:
    """(agent or owner, type, data) of each notice."""
    event = LoggedEvent(1, stream, version, kind, json.dumps(data), AT)
    return list(notices_of(event, members(history).get(stream, ())))


def joined(*agents: str) -> list[tuple[int, str, Mapping[str, object]]]:
    return [(version, "agent_joined", {"agent_id": agent}) for version, agent in enumerate(agents, 2)]


def test_a_question_is_for_every_seat_but_those_that_left_or_resigned_before() -> None:
    history = seats(
        OX, *joined(ADA, BOB, EVE), (5, "agent_left", {"agent_id": BOB}), (6, "agent_joined", {"agent_id": BOB}),
        (20, "seat_resigned", {"agent_id": EVE}),
    )  # fmt: skip
    for kind, phase in (("question_open", "first_choice"), ("reveal", "switch")):
        early, late = (caused(OX, version, kind, {"round": 1}, history) for version in (10, 30))
        assert sorted(agent for agent, _, _ in early) == [ADA, BOB, EVE]
        assert sorted(agent for agent, _, _ in late) == [ADA, BOB]
        assert early[0] == (
            ADA,
            "turn",
            {"agent_id": ADA, "game_id": OX, "gameType": "ox", "phase": phase, "turn_id": turn_id_of(OX, 10, ADA)},
        )


def test_an_end_is_for_who_sits_there_also_before_the_start() -> None:
    history = seats(OX, *joined(ADA, BOB), (4, "agent_left", {"agent_id": BOB}))
    for kind, phase in (("game_end", "end"), ("game_aborted", "aborted")):
        ((agent, event, data),) = caused(OX, 5, kind, {"reason": "secret words"}, history)
        assert (agent, event) == (ADA, "game_over")
        assert data == {"agent_id": ADA, "game_id": OX, "gameType": "ox", "phase": phase}


def test_a_phase_of_a_trial_is_for_the_roles_that_it_waits_for() -> None:
    roles = {ADA: "PROSECUTOR", BOB: "JUROR", EVE: "JUDGE"}
    parties = [{"id": agent, "name": "n", "role": role} for agent, role in roles.items()]
    started = {"participants": parties, "case": {"title": "t"}}
    history = seats(TRIAL, *joined(ADA, BOB, EVE), (5, "game_started", started))
    asked = caused(TRIAL, 5, "game_started", started, history)
    assert sorted(agent for agent, _, _ in asked) == [ADA, BOB, EVE]
    for phase, wanted in trial.REQUIRED.items():
        found = caused(TRIAL, 9, "phase_change", {"from": "opening", "to": phase, "round": 1}, history)
        assert {agent for agent, _, _ in found} == {agent for agent, role in roles.items() if role in wanted}
    assert caused(TRIAL, 9, "phase_change", {"from": "verdict", "to": "end", "round": 1}, history) == []
    assert caused(OX, 5, "game_started", {"participants": []}, seats(OX, *joined(ADA))) == []


def test_a_tournament_notifies_entrants_of_their_own_and_of_common_events() -> None:
    history = seats(
        CUP,
        *((number + 1, "entrant_joined", {"agent_id": agent, "number": number}) for agent, number in ENTRANTS.items()),
        (9, "entrant_left", {"agent_id": BOB, "number": 2}),
    )  # fmt: skip
    for kind in ("entrant_joined", "entrant_left", "entrant_paused", "entrant_resumed"):
        assert [agent for agent, _, _ in caused(CUP, 3, kind, {"agent_id": BOB, "number": 2}, history)] == [BOB]
    early, late = (caused(CUP, version, "round_paired", {"round": 1, "tables": []}, history) for version in (8, 12))
    assert [agent for agent, _, _ in early] == [ADA, BOB, EVE]
    assert [agent for agent, _, _ in late] == [ADA, EVE]
    scores = [{"number": 2, "points": 1, "won": True, "rank": 1}, {"number": 3, "points": 0, "won": False, "rank": 2}]
    scored = caused(CUP, 13, "game_scored", {"round": 1, "table": 1, "game_id": OX, "scores": scores}, history)
    assert [agent for agent, _, _ in scored] == [BOB, EVE], "also of one that left and played to the end"
    assert scored[0][2] == {"agent_id": BOB, "tournament_id": CUP, "event": "game_scored", "round": 1, "game_id": OX}
    assert caused(CUP, 14, "tournament_ended", {"state": "ended"}, history)[0][2] == {
        "agent_id": ADA, "tournament_id": CUP, "event": "tournament_ended",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "data", "subject", "shown"),
    [
        ("banned", {"subject": ADA, "until": None, "by": "me"}, ADA, {"agent_id": ADA, "until": None}),
        ("unbanned", {"subject": OWNER, "by": "me"}, OWNER, {"owner_id": OWNER}),
        ("renamed", {"subject": OWNER, "handle": "owner-1", "by": "me"}, OWNER, {"owner_id": OWNER}),
        (
            "speech_hidden",
            {"game_id": OX, "versions": [7], "agent_id": ADA, "by": "me"},
            ADA,
            {"agent_id": ADA, "game_id": OX},
        ),
    ],
)
def test_a_decision_is_for_its_subject(
    kind: str, data: Mapping[str, object], subject: str, shown: Mapping[str, object]
) -> None:
    assert caused(DECISIONS, 1, kind, data) == [(subject, "moderation", {"kind": kind, **shown})]


def test_a_hidden_speech_of_several_notifies_none_of_them() -> None:
    assert caused(DECISIONS, 1, "speech_hidden", {"game_id": OX, "versions": [7], "by": "me"}) == []


def test_every_bot_game_says_which_events_ask_its_seats() -> None:
    for game in bot_games().values():
        assert game.turns
        assert set(game.turns.begins) <= set(noticed_types())


def test_lobbies_sessions_and_runs_cause_no_notices() -> None:
    for stream in (
        "lobby-ox",
        "legal-0190c3f8-1111-7222-8333-444455556666",
        "agora-0190c3f8-1111-7222-8333-444455556666",
    ):
        assert caused(stream, 1, "game_aborted", {"reason": "x"}, seats(stream, *joined(ADA))) == []
