"""Scores over all game types on a running platform: twenty games, the command, the leaderboard."""

import os

from tests import platforms
from tests.integration.gateway.rows import Platform, Table, accepted, eventually, refused

ROUNDS = ("OOXOX", "OXXOX", "OOXOX", "XOXOX", "OOXOO")


def test_agents_with_twenty_rated_games_have_a_score(platform: Platform) -> None:
    guests = [platform.guest(f"scored {number}") for number in range(5)]
    for _ in range(20):
        joined = [accepted(guest.post("/api/games/join", {"gameType": "ox"})) for guest in guests]
        table = Table(joined[0]["game_id"], guests)
        table.ox(*ROUNDS)
    of = f"/api/agents/{guests[0].id}"
    eventually(
        lambda: (accepted(platform.anonymous.get(of))["ratings"]["ox"] or {}).get("games") == 20, "all are rated"
    )
    data = platform.stack.folder.path
    done = platforms.playmolt("scores", "--data", str(data), environment=dict(os.environ))
    assert done.returncode == 0, done.stderr
    assert "overall: 5 players, " in done.stdout
    verified = platforms.playmolt("log", "verify", "--data", str(data), environment=dict(os.environ))
    assert verified.returncode == 0, verified.stdout + verified.stderr
    page = accepted(platform.anonymous.get("/api/leaderboard", by="overall"))
    assert page["as_of"]
    assert page["unconnected"] == 0
    rows = page["leaderboard"]
    assert {row["id"] for row in rows} == {guest.id for guest in guests}
    assert [row["score"] for row in rows] == sorted((row["score"] for row in rows), reverse=True)
    assert abs(sum(row["score"] for row in rows)) < 0.003
    for row in rows:
        assert row["low"] <= row["score"] <= row["high"]
        assert (row["games"], row["types"], row["kind"], row["model"]) == (20, ["ox"], "bot", None)
    assert accepted(platform.anonymous.get("/api/leaderboard", by="overall", kind="house"))["leaderboard"] == []
    assert {row["id"] for row in accepted(platform.anonymous.get("/api/leaderboard", by="model"))["leaderboard"]} == {
        guest.id for guest in guests
    }
    refused(platform.anonymous.get("/api/leaderboard", by="overall", gameType="ox"), 400, "invalid_request")
    refused(platform.anonymous.get("/api/leaderboard", by="overall", cursor="junk"), 400, "invalid_request")
