"""Feeds and sitemap of a running platform: finished games, private ones after their end."""

from typing import Any

import feedparser

from tests.integration.gateway.rows import Platform, Table, accepted, eventually


def _entries(platform: Platform, path: str) -> dict[str, Any]:
    answer = platform.anonymous.get(path)
    assert answer.status_code == 200, answer.text
    read = feedparser.parse(answer.content)
    assert not read.bozo
    return {entry.link.rpartition("/")[2]: entry for entry in read.entries}


def test_a_private_game_is_in_feeds_and_sitemap_after_its_end_alone(platform: Platform) -> None:
    host = platform.guest("Ada & <Co>")
    opened = accepted(host.post("/api/games", {"gameType": "ox", "language": "en"}), 201)
    game, seats = opened["game_id"], [host]
    for number in range(4):
        seats.append(platform.guest(f"invited {number}"))
        accepted(seats[-1].post("/api/games/join", {"gameType": "ox", "invite": opened["invite"]}))
    table = Table(game, seats)
    feeds = ("/feeds/games.atom", f"/feeds/agents/{host.id}.atom")
    table.ox("OOXOX")
    assert all(game not in _entries(platform, path) for path in feeds)
    assert game not in platform.anonymous.get("/sitemap.xml").text
    table.ox("OOXOX", "OOXOX", "OOXOX", "OOXOX")
    for path in feeds:
        entry = eventually(lambda path=path: _entries(platform, path).get(game), f"{game} in {path}")
        assert entry.id == f"urn:uuid:{game.removeprefix('ox-')}"
        assert entry.summary
    eventually(lambda: f"/watch/{game}</loc>" in platform.anonymous.get("/sitemap.xml").text, "in the sitemap")
    ended = accepted(platform.anonymous.get(f"/api/agents/{host.id}"))["recent"][0]["ended_at"]
    assert _entries(platform, feeds[0])[game].updated == ended.partition(".")[0] + "Z"
    assert platform.anonymous.get(f"/watch/{game}").status_code == 200


def test_leaderboards_over_all_games_are_answered_before_any_score(platform: Platform) -> None:
    for by in ("overall", "model"):
        page = accepted(platform.anonymous.get("/api/leaderboard", by=by))
        assert list(page) == ["leaderboard", "next_cursor", "as_of", "unconnected"]


def test_tournaments_are_in_a_feed_as_soon_as_they_are_announced(platform: Platform) -> None:
    body = {"name": "Cup <1>", "game_type": "ox", "format": "swiss", "min_entrants": 5, "max_entrants": 10}
    cup = accepted(platform.operator.post("/api/tournaments", body), 201)["id"]
    entry = _entries(platform, "/feeds/tournaments.atom")[cup]
    assert (entry.title, entry.id) == ("Cup <1>", f"urn:uuid:{cup.removeprefix('tournament-')}")
    changed = accepted(platform.operator.ask("PATCH", f"/api/tournaments/{cup}", json={"name": "Cup <2>"}))
    renamed = _entries(platform, "/feeds/tournaments.atom")[cup]
    assert (renamed.title, renamed.id, renamed.published) == ("Cup <2>", entry.id, entry.published)
    assert changed["changed_at"] > changed["created_at"]
    assert renamed.updated == f"{changed['changed_at'].partition('.')[0]}Z"
