"""What the operator hides or renames is withheld everywhere from then on, and restored everywhere."""

import json
import re
import time
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from playmolt_schemas.text import WITHHELD
from pyarrow import parquet
from websockets.sync.client import ClientConnection

from tests.integration.gateway.rows import SECONDS, Guest, Json, Platform, Sse, Table, accepted, eventually

MARKER = "zugzwangmarker"
BESIDE = "endspielmarker"
"""What is said in the games of other tests on the same platform, which are not hidden."""
PAGES = ("/watch/{id}", "/embed/{id}", "/watch/{id}?v=9", "/api/games/{id}/replay.html?lang=en")
PICTURES = ("/watch/{id}/picture.svg", "/watch/{id}/picture.svg?v={v}", "/watch/{id}/picture.svg?v={v}&lang=ko")
LISTS = (
    "/games/rows?limit=100",
    "/feeds/games.atom",
    "/feeds/agents/{agent}.atom",
    "/agents/{agent}",
)


def decide(platform: Platform, decision: str, kind: str = "speech", **target: Any) -> str:
    """A report and the operator's decision about it; returns the report."""
    report = str(
        accepted(platform.anonymous.post("/api/reports", {"kind": kind, "reason": "rude", **target}), 202)["id"]
    )
    accepted(platform.operator.post(f"/api/admin/reports/{report}", {"decision": decision, "note": "house rule"}))
    return report


def restore(platform: Platform, report: str) -> None:
    accepted(platform.operator.post(f"/api/admin/reports/{report}", {"decision": "restore", "note": "it was fine"}))


def differing(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    """What was not shown the same, apart from lists of all games and the times of changes."""
    return {path for path in before if after[path] != before[path] and "atom" not in path and "rows" not in path}


def version_of(platform: Platform, game: str, text: str) -> int:
    return next(int(event["version"]) for event in platform.events(game) if text in json.dumps(event))


def shown(platform: Platform, table: Table, version: int) -> dict[str, bytes]:
    """Everything that anybody can read about a finished game, by its address."""
    game, agent = table.game_id, table[0].id
    found: dict[str, bytes] = {}

    def take(path: str, caller: Guest = platform.anonymous) -> None:
        answer = caller.get(path)
        assert answer.status_code == 200, (path, answer.text)
        found[f"{path} {caller.id}"] = answer.content

    for path in (*PAGES, *PICTURES, *LISTS):
        take(path.format(id=game, agent=agent, v=version))
    # Games of other tests on the same platform go on meanwhile.
    rows = accepted(platform.anonymous.get("/api/games?limit=100"))["games"]
    [found["/api/games"]] = [json.dumps(row).encode() for row in rows if row["game_id"] == game]
    for path in ("state", "events?limit=1000", "log", f"state?at={version}", f"state?at={version}&seat={agent}"):
        take(f"/api/games/{game}/{path}")
    for guest in table[:2]:
        take(f"/api/games/{game}/state", guest)
    found["ws"] = "\n".join(platform.watched(f"/ws/games/{game}?after=0")[0]).encode()
    for base in (f"{platform.spectator}/sse/games/{game}", f"{platform.gateway}/api/games/{game}/stream"):
        with Sse(platform.http, f"{base}?after=0") as feed:
            found[base] = "\n".join(said for _, said in feed).encode()
    done = platform.command("log", "export", "--public")
    assert done.returncode == 0, done.stderr
    found["public export"] = b"\n".join(line for line in done.stdout.encode().splitlines() if game.encode() in line)
    return found


def played(platform: Platform, text: str) -> tuple[Table, Guest]:
    """A trial in which the defence said something, and its seat."""
    table = platform.table("trial")
    for number in range(4):
        for guest in table:
            speaker = table.role("DEFENSE")[0]
            said = text if guest is speaker and number == 1 else "words"
            table.does(guest, {"type": "speak", "text": said})
    for role in ("PROSECUTOR", "DEFENSE"):
        table.does(table.role(role)[0], {"type": "speak", "text": "rebuttal"})
    speaker = table.role("DEFENSE")[0]
    table.vote("GUILTY", "GUILTY", "NOT_GUILTY")
    table.does(table.role("JUDGE")[0], {"type": "speak", "text": "so be it"})
    return table, speaker


def newest(feed: bytes) -> str:
    """When anything in a feed changed."""
    return re.findall(r"<updated>([^<]+)Z</updated>", feed.decode())[0]


def ended(platform: Platform, game: str) -> str:
    return str(platform.events(game)[-1]["at"])


def holding(found: dict[str, bytes], text: str) -> list[str]:
    return sorted(path for path, body in found.items() if text.encode() in body)


def test_a_hidden_speech_is_nowhere_any_more_and_restored_everywhere(platform: Platform, tmp_path: Path) -> None:
    table, _ = played(platform, MARKER)
    game = table.game_id
    version = version_of(platform, game, MARKER)
    before = shown(platform, table, version)
    assert holding(before, MARKER), "the test finds what was said"
    # Times in feeds are of whole seconds.
    eventually(lambda: datetime.now(UTC).isoformat()[:19] > ended(platform, game)[:19], "the next second")
    report = decide(platform, "hide", game_id=game, version=version)
    after = shown(platform, table, version)
    assert holding(after, MARKER) == []
    assert {path for path in before if MARKER.encode() in before[path]} <= {
        path for path in after if after[path] != before[path]
    }
    atom = "/feeds/games.atom " + platform.anonymous.id
    assert newest(after[atom]) >= newest(before[atom]), "the newest change is the decision"
    assert newest(after[atom]) > ended(platform, game)[:19]
    event = platform.events(game)[version - 1]
    assert event["text"] == WITHHELD
    record = platform.records(game)[version - 1]
    assert (record["data"]["text"], record["withheld"]) == (None, ["data.text"])
    mine = platform.records(game, platform.operator)[version - 1]
    assert (mine["data"]["text"], mine["hash"]) == (MARKER, record["hash"])
    own, public = tmp_path / "own.jsonl", tmp_path / "public.jsonl"
    assert platform.command("log", "export", "--out", str(own)).returncode == 0
    assert platform.command("log", "export", "--public", "--out", str(public)).returncode == 0
    assert MARKER in own.read_text(encoding="utf-8")
    assert MARKER not in public.read_text(encoding="utf-8")
    verified = platform.command("log", "verify", "--json", str(public))
    assert verified.returncode == 0, verified.stdout
    withheld = [json.loads(line) for line in public.read_text(encoding="utf-8").splitlines() if '"withheld"' in line]
    assert [record["version"] for record in withheld if record["stream"] == game] == [version]
    assert json.loads(verified.stdout)["withheld"] == len(withheld)
    (tmp_path / "log.jsonl").write_bytes(platform.anonymous.get(f"/api/games/{game}/log").content)
    assert platform.command("log", "verify", str(tmp_path / "log.jsonl")).returncode == 0
    assert platform.command("log", "check", str(public)).returncode == 0
    assert WITHHELD in platform.command("replay", game, "--log", str(public)).stdout
    whole = platform.command("log", "verify")
    assert whole.returncode == 0, whole.stdout
    restore(platform, report)
    assert differing(before, shown(platform, table, version)) == set()


def in_dataset(platform: Platform, folder: Path) -> str:
    """All rows of a dataset of yesterday to tomorrow."""
    day = datetime.now(UTC).date()
    since, until = (str(day + timedelta(days=days)) for days in (-1, 2))
    done = platform.command("dataset", "build", "--from", since, "--to", until, "--out", str(folder))
    assert done.returncode == 0, done.stderr
    return repr([parquet.read_table(path).to_pylist() for path in sorted(folder.rglob("*.parquet"))])


def test_a_hidden_comment_is_withheld_where_it_was_made_and_where_it_was_revealed(
    platform: Platform, tmp_path: Path
) -> None:
    table = platform.table("ox")
    game, author = table.game_id, table[0]
    for guest, choice in zip(table, "OOXXX", strict=True):
        comment = BESIDE if guest is author else "because"
        table.does(guest, {"type": "first_choice", "choice": choice, "comment": comment})
    table.switch()
    table.ox("OOXXX", "OOXXX", "OOXXX", "OOXXX")
    version = version_of(platform, game, BESIDE)
    assert platform.events(game)[version - 1]["type"] == "reveal"
    assert BESIDE in in_dataset(platform, tmp_path / "before")
    report = decide(platform, "hide", game_id=game, version=version, agent_id=author.id)
    after = shown(platform, table, version)
    assert holding(after, BESIDE) == []
    assert BESIDE not in in_dataset(platform, tmp_path / "after")
    comments = {choice["agent_id"]: choice["comment"] for choice in platform.events(game)[version - 1]["choices"]}
    assert comments == {guest.id: WITHHELD if guest is author else "because" for guest in table}
    withheld = {record["type"]: record["withheld"] for record in platform.records(game) if "withheld" in record}
    assert withheld == {
        "first_choice_submitted": ["data.comment"],
        "reveal": [f"data.choices.{list(comments).index(author.id)}.comment"],
    }
    assert WITHHELD in json.dumps(author.state(game)), "the author, too"
    assert platform.command("log", "verify").returncode == 0
    restore(platform, report)
    assert BESIDE in json.dumps(platform.anonymous.state(game))
    assert not [record for record in platform.records(game) if "withheld" in record]


class Watching(ExitStack):
    """Watchers that were there before: each has read everything up to a version and waits."""

    def __init__(self, platform: Platform, game: str, version: int) -> None:
        super().__init__()
        paths = (f"/ws/games/{game}?after={version}", "/ws/lobby")
        self.sockets = [self.enter_context(platform.socket(path)) for path in paths]
        self.feeds = [
            self.enter_context(Sse(platform.http, url))
            for url in (
                f"{platform.spectator}/sse/games/{game}?after={version}",
                f"{platform.gateway}/api/games/{game}/stream?after={version}",
                f"{platform.spectator}/sse/lobby?only=moderated",
            )
        ]

    def notices(self) -> list[Json]:
        """The next notice that each of them gets."""
        return [_notice(socket) for socket in self.sockets] + [_named(feed) for feed in self.feeds]


def _notice(socket: ClientConnection) -> Json:
    while (message := json.loads(str(socket.recv(timeout=SECONDS)))).get("type") != "moderated":
        pass
    found: Json = message
    return found


def _named(feed: Sse) -> Json:
    """The notice of a feed of server-sent events, which has its own name there and no id. Nothing comes before it: the
    game rests, and of the lobby the notices alone are read."""
    for line in feed.lines:
        assert not line.startswith("data: ")
        if line == "event: moderated":
            found: Json = json.loads(next(feed.lines).removeprefix("data: "))
            return found
    raise AssertionError("the feed ended")


def test_every_open_watcher_of_a_running_game_is_notified(platform: Platform, record_property: Any) -> None:
    table = platform.table("trial")
    table.does(table[0], {"type": "speak", "text": BESIDE})
    version = version_of(platform, table.game_id, BESIDE)
    with Watching(platform, table.game_id, version) as watching:
        began = time.monotonic()
        decide(platform, "hide", game_id=table.game_id, version=version)
        expected = {"type": "moderated", "game_id": table.game_id, "versions": [version]}
        assert watching.notices() == [expected] * 5
        record_property("seconds", round(time.monotonic() - began, 3))
        print("notified after", round(time.monotonic() - began, 3), "s")
    with platform.socket(f"/ws/games/{table.game_id}?after={version - 1}") as socket:
        assert json.loads(socket.recv(timeout=SECONDS))["text"] == WITHHELD, "who resumes gets the withheld form"
    for guest in table:
        assert BESIDE not in json.dumps(guest.state(table.game_id))
    table.does(table[1], {"type": "speak", "text": "the game goes on"})


def test_a_renamed_agent_has_its_name_nowhere(platform: Platform, tmp_path: Path) -> None:
    table, speaker = played(platform, "words")
    game, name = table.game_id, speaker.name
    before = shown(platform, table, 9)
    handle = next(seat["handle"] for seat in platform.anonymous.state(game)["participants"] if seat["id"] == speaker.id)
    decide(platform, "rename", kind="name", agent_id=speaker.id)
    seat = next(seat for seat in platform.anonymous.state(game)["participants"] if seat["id"] == speaker.id)
    assert re.fullmatch(r"agent-[0-9a-f]{6,}", seat["name"])
    assert seat["handle"] == seat["name"]
    after = shown(platform, table, 9)
    assert holding(after, handle) == []
    assert name not in json.dumps(platform.records(game))
    assert name in json.dumps(platform.records(game, platform.operator))
    public = tmp_path / "public.jsonl"
    assert platform.command("log", "export", "--public", "--out", str(public)).returncode == 0
    assert platform.command("log", "verify", str(public)).returncode == 0
    assert platform.command("log", "verify").returncode == 0
    report = decide(platform, "hide", kind="name", agent_id=speaker.id)
    seat = next(seat for seat in platform.anonymous.state(game)["participants"] if seat["id"] == speaker.id)
    assert seat["name"] == WITHHELD
    restore(platform, report)
    assert differing(before, shown(platform, table, 9)) == set()


def test_the_message_is_deleted_and_later_ones_stay(platform: Platform) -> None:
    table, _ = played(platform, BESIDE)
    version = version_of(platform, table.game_id, BESIDE)
    decide(platform, "hide", game_id=table.game_id, version=version)

    def lags() -> Json:
        return accepted(platform.operator.get("/api/admin/lag"))

    eventually(lambda: (lag := lags())["spectate"] == lag["log"], "the relay goes on")
    said, code = platform.watched(f"/ws/games/{table.game_id}?after=0")
    assert code == 1000
    assert [json.loads(one)["version"] for one in said] == list(range(1, len(said) + 1))
    assert BESIDE not in "".join(said)


TIMES = re.compile(rb"\d{4}-\d{2}-\d{2}T[0-9:.]+Z?")
HASHES = re.compile(rb"\b[0-9a-f]{64}\b|\"salt\":\"[0-9a-f]{32}\"|\"command_id\":\"[0-9a-f]{32}\"")


def told_apart(table: Table, body: bytes) -> bytes:
    """A body without what differs between any two games."""
    body = body.replace(table.game_id.encode(), b"GAME")
    for number, guest in enumerate(table):
        body = body.replace(guest.id.encode(), b"AGENT%d" % number)
        body = body.replace(guest.id[-6:].encode(), b"TAIL%d" % number)
    return HASHES.sub(b"HASH", TIMES.sub(b"TIME", body))
