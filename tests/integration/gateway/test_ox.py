"""The O/X arena, row by row, over plain HTTP: phases, actions, points, states, events, and what nobody learns early."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import ClientConnection

from tests.integration.gateway.rows import Json, Platform, Sse, Table, accepted, fault_fields, refused

KEEP = {"type": "switch", "use_switch": False}
STATE = [
    "game_id", "gameType", "version", "round", "maxRounds", "phase", "question", "self", "participants", "reveal",
    "decisions", "scoreboard", "history", "allowed_actions", "phase_submissions", "results", "faults",
    "deadline", "seconds_left", "language", "pace", "turn_id",
]  # fmt: skip
SELF = ["id", "name", "first_choice", "final_choice", "switch_available", "total_points", "submitted"]
SCORE = ["id", "name", "points", "monopolies", "switch_available", "away", "resigned"]
IDENTITY = {"handle", "kind", "version", "model", "owner"}
FIELDS = {
    "game_created": ["needed"],
    "agent_joined": ["agent_id", "name", "agent_version"],
    "game_started": ["participants", "rated"],
    "question_open": ["round", "question"],
    "first_choice_submitted": ["agent_id", "name"],
    "reveal": ["round", "choices", "distribution"],
    "switch_submitted": ["agent_id", "name", "switched", "comment"],
    "round_result": ["round", "final_distribution", "minority", "points_awarded", "winners", "scoreboard"],
    "game_end": ["winner_id", "winner_ids", "final_scoreboard", "results", "faults"],
}


def choice(letter: object = "O", comment: object = "because") -> Json:
    return {"type": "first_choice", "choice": letter, "comment": comment}


def test_five_agents_start_a_game(platform: Platform) -> None:
    guest = platform.guest("early")
    game = guest.join("ox")
    state = guest.state(game)
    assert list(state) == STATE
    assert list(state["self"]) == SELF
    assert state == {
        "game_id": game, "gameType": "ox", "version": 2, "round": 0, "maxRounds": 5, "phase": "waiting",
        "question": None,
        "self": {
            "id": guest.id, "name": "early", "first_choice": None, "final_choice": None, "switch_available": True,
            "total_points": 0, "submitted": False,
        },
        "participants": state["participants"],
        "reveal": [], "decisions": [], "scoreboard": [],
        "history": [], "allowed_actions": [], "phase_submissions": {"submitted": 0, "total": 0}, "results": None,
        "faults": None, "deadline": None, "seconds_left": None, "language": "ko", "pace": "quick",
        "turn_id": None,
    }  # fmt: skip
    (seat,) = state["participants"]
    assert seat.items() >= {"id": guest.id, "name": "early", "away": False, "resigned": False}.items()
    assert seat.keys() == {"id", "name", "submitted", "away", "resigned"} | IDENTITY
    refused(guest.act(game, choice()), 400, "not_started")
    for _ in range(4):
        platform.guest().join("ox")
    state = guest.state(game)
    assert (state["phase"], state["round"], state["allowed_actions"]) == ("first_choice", 1, ["first_choice"])
    assert state["question"]
    assert all(line.keys() - IDENTITY == set(SCORE) for line in state["scoreboard"])
    spectator = platform.anonymous.state(game)
    assert list(spectator) == [name for name in STATE if name != "self"]


def test_a_round_from_first_choice_to_result(platform: Platform) -> None:
    table = platform.table("ox")
    for number, (guest, letter) in enumerate(zip(table, "OOXOX", strict=True)):
        state = guest.state(table.game_id)
        assert state["phase_submissions"] == {"submitted": number, "total": 5}
        answer = table.does(guest, choice(letter, f"  comment {number}\n"))
        assert list(answer) == ["status", "version", "phase", "hash"]
        assert answer["status"] == "accepted"
        if number < 4:
            own = guest.state(table.game_id)
            assert (own["self"]["first_choice"], own["self"]["submitted"], own["allowed_actions"]) == (letter, True, [])
            assert (own["reveal"], own["decisions"], own["self"]["final_choice"]) == ([], [], None)
            refused(guest.act(table.game_id, choice()), 409, "already_submitted")
            refused(guest.act(table.game_id, KEEP), 400, "wrong_phase")
    assert answer["phase"] == "switch"
    state = table[0].state(table.game_id)
    assert (state["phase"], state["round"], state["allowed_actions"]) == ("switch", 1, ["switch"])
    assert state["reveal"] == [
        {"id": guest.id, "name": guest.name, "choice": letter, "comment": f"comment {number}"}
        for number, (guest, letter) in enumerate(zip(table, "OOXOX", strict=True))
    ]
    refused(table[0].act(table.game_id, choice()), 400, "wrong_phase")

    table.does(table[0], {"type": "switch", "use_switch": True, "comment": " flip "})
    table.does(table[1], KEEP)
    state = table[0].state(table.game_id)
    assert state["decisions"] == [
        {"id": table[0].id, "switched": True, "comment": "flip"}, {"id": table[1].id, "switched": False, "comment": ""},
    ]  # fmt: skip
    assert (state["self"]["final_choice"], state["self"]["switch_available"]) == ("X", False)
    assert next(line for line in state["scoreboard"] if line["id"] == table[0].id)["switch_available"] is False
    assert table[2].state(table.game_id)["self"]["final_choice"] is None
    refused(table[0].act(table.game_id, KEEP), 409, "already_submitted")
    for guest in table[2:]:
        answer = table.does(guest, {**KEEP, "comment": ""})
    assert answer["phase"] == "first_choice"

    state = table[0].state(table.game_id)  # final: X O X O X
    assert (state["round"], state["phase"], state["reveal"], state["decisions"]) == (2, "first_choice", [], [])
    round_one = state["history"][0]
    assert list(round_one) == [
        "round", "question", "distribution", "minority", "points_awarded", "winners", "choices",
    ]  # fmt: skip
    assert round_one["distribution"] == {"O": 2, "X": 3}
    assert (round_one["minority"], round_one["points_awarded"]) == ("O", 6)
    assert round_one["winners"] == [table[1].id, table[3].id]
    assert round_one["choices"][0] == {
        "id": table[0].id, "first_choice": "O", "final_choice": "X", "switched": True, "comment": "comment 0",
        "switch_comment": "flip",
    }  # fmt: skip
    assert state["self"] == {
        "id": table[0].id, "name": table[0].name, "first_choice": None, "final_choice": None,
        "switch_available": False, "total_points": 0, "submitted": False,
    }  # fmt: skip
    assert [(line["id"], line["points"]) for line in state["scoreboard"][:2]] == [(table[1].id, 6), (table[3].id, 6)]
    table.choose("OXXOX")
    refused(table[0].act(table.game_id, {"type": "switch", "use_switch": True}), 400, "switch_unavailable")
    table.switch(1)


def test_a_whole_game_its_points_and_its_end(platform: Platform) -> None:
    table = platform.table("ox")
    table.ox("OOOOX", "OOOXX", "XXXXX", "XOOOO", "OOOOO")
    state = table[4].state(table.game_id)
    assert list(state) == STATE
    assert (state["phase"], state["round"], state["allowed_actions"]) == ("end", 5, [])
    assert (state["question"], len(state["reveal"])) == (state["history"][4]["question"], 5)
    assert state["phase_submissions"] == {"submitted": 0, "total": 0}
    told_rounds = [(r["distribution"], r["minority"], r["points_awarded"], len(r["winners"])) for r in state["history"]]
    assert told_rounds == [
        ({"O": 4, "X": 1}, "X", 12, 1), ({"O": 3, "X": 2}, "X", 6, 2), ({"O": 0, "X": 5}, None, 0, 0),
        ({"O": 4, "X": 1}, "X", 12, 1), ({"O": 5, "X": 0}, None, 0, 0),
    ]  # fmt: skip
    results = state["results"]
    assert all(
        r.keys() - IDENTITY == {"agent_id", "name", "rank", "points", "game_points", "monopolies"} for r in results
    )
    assert [(r["rank"], r["points"]) for r in results] == [(1, 200), (2, 100), (3, 60), (4, 30), (4, 30)]
    assert [(r["agent_id"], r["game_points"], r["monopolies"]) for r in results[:3]] == [
        (table[4].id, 18, 1), (table[0].id, 12, 1), (table[3].id, 6, 0),
    ]  # fmt: skip
    assert [line["id"] for line in state["scoreboard"]] == [r["agent_id"] for r in results]
    refused(table[0].act(table.game_id, {"type": "nonsense"}), 409, "game_over")
    started = next(r for r in platform.records(table.game_id) if r["type"] == "game_started")
    lots = started["data"]["lots"]
    assert sorted(lots) == sorted(guest.id for guest in table)
    tied = [r["agent_id"] for r in results[3:]]
    assert tied == sorted(tied, key=lots.index)
    questions = [r["question"] for r in state["history"]]
    listed = json.loads(
        (Path(__file__).parents[3] / "services/ox-engine/playmolt_ox/data/questions.json").read_text()
    )  # the file's order is the promise
    texts = [one if isinstance(one, str) else one["question"] for one in listed]
    offset = started["data"]["offset"]
    assert questions == [texts[(offset + number) % len(texts)] for number in range(5)]


def test_the_events_of_a_game(platform: Platform) -> None:
    table = platform.table("ox")
    table.choose("OOOOX")
    table.switch(0)
    table.ox(*["OOXXX"] * 4)
    events = platform.events(table.game_id)
    for event in events:
        assert event.keys() - IDENTITY == {"type", *FIELDS[event["type"]], "game_id", "at"}
        assert event["game_id"] == table.game_id
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", event["at"])
    kinds = [event["type"] for event in events]
    one_round = [
        "question_open", *["first_choice_submitted"] * 5, "reveal", *["switch_submitted"] * 5, "round_result",
    ]  # fmt: skip
    assert kinds == ["game_created", *["agent_joined"] * 5, "game_started", *one_round * 5, "game_end"]
    by_kind: dict[str, Json] = {}
    for event in events:
        by_kind.setdefault(event["type"], event)
    assert by_kind["game_created"]["needed"] == 5
    started = [(seat["id"], seat["name"]) for seat in by_kind["game_started"]["participants"]]
    assert started == [(guest.id, guest.name) for guest in table]
    assert by_kind["reveal"]["distribution"] == {"O": 4, "X": 1}
    assert [list(line) for line in by_kind["reveal"]["choices"]] == [["agent_id", "name", "choice", "comment"]] * 5
    assert by_kind["switch_submitted"]["switched"] is True
    assert by_kind["round_result"]["final_distribution"] == {"O": 3, "X": 2}
    state = platform.anonymous.state(table.game_id)
    assert [line | {"owner": None} for line in by_kind["game_end"]["results"]] == state["results"]
    present = {"away": False, "resigned": False}
    assert [line | present for line in by_kind["game_end"]["final_scoreboard"]] == state["scoreboard"]
    winners = [row["agent_id"] for row in state["results"] if row["rank"] == 1]
    assert by_kind["game_end"]["winner_ids"] == winners
    assert by_kind["game_end"]["winner_id"] == (winners[0] if len(winners) == 1 else None)
    created = platform.records(table.game_id)[0]
    assert set(created["data"]) == {"needed", "seed", "rules_version", "content_version", "config"}
    assert isinstance(created["data"]["seed"], str)


def test_equals_of_a_running_game_stand_by_name(platform: Platform) -> None:
    guests = [platform.guest(name) for name in ("eve", "bob", "dan", "ann", "cem")]
    table = Table({guest.join("ox") for guest in guests}.pop(), guests)
    names = [line["name"] for line in guests[0].state(table.game_id)["scoreboard"]]
    assert names == ["ann", "bob", "cem", "dan", "eve"]
    table.ox("XOOOO", "OXXXX", "OOXXX")
    lines = [
        (line["name"], line["points"], line["monopolies"]) for line in guests[0].state(table.game_id)["scoreboard"]
    ]
    assert lines == [("eve", 30, 2), ("bob", 6, 0), ("ann", 0, 0), ("cem", 0, 0), ("dan", 0, 0)]


@pytest.fixture(scope="module")
def choosing(shared_platform: Platform) -> Table:
    """A game without deadlines in which no one has chosen."""
    return shared_platform.private_table(deadline_seconds=0)[0]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (choice("o"), "choice"), (choice(""), "choice"), (choice(None), "choice"), (choice(True), "choice"),
        ({"type": "first_choice", "comment": "a"}, "choice"), ({"type": "first_choice", "choice": "O"}, "comment"),
        (choice("O", ""), "comment"), (choice("O", " \u3000"), "comment"), (choice("O", "x" * 101), "comment"),
        (choice("O", None), "comment"), (choice("O", 5), "comment"), (choice("O", "\x00a"), "comment"),
        (choice("O", "\udfff"), "comment"), ({**choice(), "why": 1}, "why"), ({**choice(), "type": "choose"}, "type"),
        ({**choice(), "type": None}, "type"), ([choice()], ""), ("O", ""), (5, ""),
    ],
)  # fmt: skip
def test_a_bad_first_choice_names_its_field(platform: Platform, choosing: Table, body: Any, field: str) -> None:
    answer = choosing[0].ask("POST", f"/api/games/{choosing.game_id}/actions", content=json.dumps(body))
    assert fault_fields(refused(answer, 400, "invalid_action")) == {field}


@pytest.fixture(scope="module")
def switching(shared_platform: Platform) -> Table:
    """A game without deadlines in which all have chosen."""
    table, _ = shared_platform.private_table(deadline_seconds=0)
    table.choose("OXOXO")
    return table


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"type": "switch"}, "use_switch"), ({"type": "switch", "use_switch": "true"}, "use_switch"),
        ({"type": "switch", "use_switch": 1}, "use_switch"), ({"type": "switch", "use_switch": None}, "use_switch"),
        ({**KEEP, "comment": "x" * 101}, "comment"), ({**KEEP, "comment": None}, "comment"),
        ({**KEEP, "comment": ["a"]}, "comment"), ({**KEEP, "choice": "O"}, "choice"),
    ],
)  # fmt: skip
def test_a_bad_decision_names_its_field(platform: Platform, switching: Table, body: Any, field: str) -> None:
    problem = refused(switching[0].act(switching.game_id, body), 400, "invalid_action")
    assert fault_fields(problem) == {field}


def test_comments_of_the_full_length_are_taken(platform: Platform) -> None:
    table = platform.table("ox")
    table.choose("OXOXO", "\U0001f600" * 100)
    for guest in table:
        table.does(guest, {**KEEP, "comment": "\u3000" + "語" * 100 + " "})
    state = platform.anonymous.state(table.game_id)
    assert {line["comment"] for line in state["history"][0]["choices"]} == {"\U0001f600" * 100}
    assert {line["switch_comment"] for line in state["history"][0]["choices"]} == {"語" * 100}


def test_the_operator_s_page_has_the_source_s_shape(platform: Platform) -> None:
    table = platform.table("ox")
    table.choose("OXOXO")
    table.switch(0)
    table.does(table[0], choice("X", "mine"))
    config = accepted(platform.operator.get(f"/api/admin/games/{table.game_id}"))["config"]
    assert (config["max_agents"], config["max_rounds"]) == (5, 5)
    ox = config["ox_state"]
    assert set(ox) == {"round", "phase", "question", "agents", "pending_actions", "round_log", "history"}
    assert (ox["round"], ox["phase"]) == (2, "first_choice")
    assert ox["agents"][table[0].id] == {
        "first_choice": "X", "final_choice": None, "switch_used": True, "switch_available": False, "total_points": 0,
        "comment": "mine",
    }  # fmt: skip
    assert ox["agents"][table[1].id]["first_choice"] is None


# What nobody may learn early: two games that differ in one secret, byte for byte the same for everybody else

SECRETS = [("O", "one comment"), ("X", "two comment"), ("X", "a comment of quite another length " * 2)]


class Onlooker:
    """Everybody but the owner of the secret, on every route, until the reveal."""

    def __init__(self, platform: Platform, secret: tuple[str, str]) -> None:
        self.platform = platform
        self.secret = secret
        self.seen: list[tuple[str, object]] = []

    def play(self) -> list[tuple[str, object]]:
        platform = self.platform
        platform.clear()
        guests = [platform.guest(f"twin {number}") for number in range(5)]
        table = Table({guest.join("ox") for guest in guests}.pop(), guests)
        question = platform.anonymous.state(table.game_id)["question"]
        self.names = {table.game_id: "GAME", question: "QUESTION"} | {
            guest.id: f"AGENT{number}" for number, guest in enumerate(guests)
        }
        feeds = self.open_feeds(table)
        table.does(table[1], choice("O", "public soon"))
        for step in range(3):
            if step == 1:
                answer = guests[0].act(table.game_id, choice(*self.secret), idem="secret")
                self.note("answer", answer)
                self.note("repeat", guests[0].act(table.game_id, choice(*self.secret), idem="secret"))
                self.note("again", guests[0].act(table.game_id, choice("O", "again")))
                self.note("own turn", guests[0].get("/api/agents/me/turn"))
            if step == 2:
                self.note("other's answer", table[2].act(table.game_id, choice("X", "another")))
            self.look(table, step)
        self.read_feeds(feeds, platform.anonymous.state(table.game_id)["version"])
        return self.seen

    def open_feeds(self, table: Table) -> list[tuple[str, "ClientConnection | Sse"]]:
        platform = self.platform
        path = f"/api/games/{table.game_id}/stream"
        return [
            ("socket", platform.socket(f"/ws/games/{table.game_id}")),
            ("sse", Sse(platform.http, f"{platform.spectator}/sse/games/{table.game_id}")),
            ("stream", Sse(platform.http, path)),
            ("other's stream", Sse(platform.http, path, Authorization=f"Bearer {table[2].key}")),
        ]

    def read_feeds(self, feeds: list[tuple[str, "ClientConnection | Sse"]], head: int) -> None:
        for name, feed in feeds:
            with feed:
                source = iter(lambda feed=feed: feed.recv(timeout=60), None) if name == "socket" else iter(feed)
                told = (str(message) for message in source if '"type":"heartbeat"' not in str(message))
                self.seen.append((name, [self.plain(next(told)) for _ in range(head)]))

    def look(self, table: Table, step: int) -> None:
        game = f"/api/games/{table.game_id}"
        for guest, who in ((self.platform.anonymous, "anonymous"), (table[2], "other"), (table[1], "chooser")):
            for path in (
                f"{game}/state", f"{game}/state?after=1&wait=1", f"{game}/state?at=9", f"{game}/events",
                f"{game}/log", f"{game}/state?at=9&seat={table[0].id}", "/api/games?limit=1&gameType=ox",
            ):  # fmt: skip
                self.note(f"{step} {who} {path.partition('?')[2]} {path[-8:]}", guest.get(path))
            if guest is not self.platform.anonymous:
                self.note(f"{step} {who} turn", guest.get("/api/agents/me/turn"))

    def note(self, what: str, answer: Any) -> None:
        headers = sorted(answer.headers)
        assert int(answer.headers.get("content-length", 0)) == len(answer.content)
        self.seen.append((self.plain(what), (answer.status_code, headers, self.plain(answer.text))))

    def plain(self, text: str) -> str:
        """Without ids, times and hashes, and with the question's length aside: it is drawn, not secret."""
        for found, name in self.names.items():
            text = text.replace(found, name).replace(json.dumps(found)[1:-1], name)
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", "TIME", text)
        text = re.sub(r'"seconds_left":[0-9.]+', '"seconds_left":0', text)
        text = re.sub(r"(twin-\d)-[0-9a-f]{6,}", r"\1", text)
        text = re.sub(r'"turn_id":"[0-9a-f]{32}"', '"turn_id":"TURN"', text)
        text = re.sub(r'"next_cursor":"[^"]+"', '"next_cursor":"CURSOR"', text)
        return re.sub(r'"hash":"[0-9a-f]{64}"', '"hash":"HASH"', text)


def test_twins_look_the_same_until_the_reveal(platform: Platform) -> None:
    platform.table("ox")  # so that the list of games goes on behind the first twin's, too
    first, *others = (Onlooker(platform, secret).play() for secret in SECRETS)
    assert len(first) > 60
    for other in others:
        for (what, here), (_, there) in zip(first, other, strict=True):
            assert here == there, what
    assert not [what for what, shown in first if "one comment" in str(shown)]


def test_an_answer_s_length_tells_nothing(platform: Platform) -> None:
    lengths = set()
    for secret in SECRETS:
        platform.clear()
        table = platform.table("ox")
        answer = table[0].act(table.game_id, choice(*secret))
        lengths.add((answer.headers["content-length"], tuple(sorted(answer.headers))))
    assert len(lengths) == 1
