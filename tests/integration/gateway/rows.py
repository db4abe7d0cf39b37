"""A platform as an outside client uses it: plain HTTP and WebSocket, without the SDK."""

import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import httpx
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.platforms import Done, Stack, playmolt

Game = Literal["ox", "trial"]
Json = dict[str, Any]
NEEDED: dict[Game, int] = {"ox": 5, "trial": 6}
OPERATOR_KEY = "operator-of-the-rows"
SECONDS = 120.0
CLOSING = ("game_end", "game_aborted")


class Guest:
    """A client with a key or without one."""

    def __init__(self, http: httpx.Client, key: str | None = None, identity: str = "", name: str = "") -> None:
        self.http = http
        self.key = key
        self.id = identity
        self.name = name

    def ask(self, method: str, path: str, *, headers: dict[str, str] | None = None, **options: Any) -> httpx.Response:
        sent = {**({"Authorization": f"Bearer {self.key}"} if self.key else {}), **(headers or {})}
        return self.http.request(method, path, headers=sent, **options)

    def get(self, path: str, *, headers: dict[str, str] | None = None, **query: Any) -> httpx.Response:
        return self.ask("GET", path, headers=headers, params=query or None)

    def post(self, path: str, body: Any = None, *, idem: str | None = None) -> httpx.Response:
        headers = {"Idempotency-Key": idem} if idem is not None else None
        return (
            self.ask("POST", path, headers=headers)
            if body is None
            else self.ask("POST", path, headers=headers, content=json.dumps(body))
        )

    def join(self, game: Game) -> str:
        return str(accepted(self.post("/api/games/join", {"gameType": game}))["game_id"])

    def state(self, game_id: str, **query: Any) -> Json:
        return accepted(self.get(f"/api/games/{game_id}/state", **query))

    def act(self, game_id: str, body: Any, *, idem: str | None = None) -> httpx.Response:
        return self.post(f"/api/games/{game_id}/actions", body, idem=idem)

    def does(self, game_id: str, body: Any) -> Json:
        return accepted(self.act(game_id, body))


def accepted(answer: httpx.Response, status: int = 200) -> Json:
    """The body of an answer that must be a success."""
    assert answer.status_code == status, f"{answer.request.method} {answer.request.url}: {answer.text}"
    assert answer.headers["content-type"] == "application/json", answer.headers
    body: Json = answer.json()
    return body


def refused(answer: httpx.Response, status: int, code: str) -> Json:
    """The problem document of an answer that must be a refusal."""
    assert answer.headers["content-type"] == "application/problem+json", answer.headers
    problem: Json = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code), problem
    assert problem["status"] == status
    assert problem["type"] == "about:blank"
    assert problem["title"]
    assert len(problem["detail"]) > 10
    for fault in problem.get("errors", []):
        assert set(fault) == {"field", "message"}
    return problem


def fault_fields(problem: Json) -> set[str]:
    return {fault["field"] for fault in problem["errors"]}


class Table(list[Guest]):
    """The agents of a game that has started, in the order in which they joined."""

    def __init__(self, game_id: str, guests: Sequence[Guest]) -> None:
        super().__init__(guests)
        self.game_id = game_id

    def does(self, seat: Guest, body: Json) -> Json:
        return seat.does(self.game_id, body)

    def role(self, role: str) -> list[Guest]:
        seats = self[0].state(self.game_id)["participants"]
        return [guest for guest in self for seat in seats if seat["id"] == guest.id and seat["role"] == role]

    def speak_all(self, text: str = "words") -> None:
        for guest in self:
            self.does(guest, {"type": "speak", "text": text})

    def to_vote(self) -> None:
        """Play a trial from its opening to the jury's vote."""
        for _ in range(4):
            self.speak_all()
        for role in ("PROSECUTOR", "DEFENSE"):
            self.does(self.role(role)[0], {"type": "speak", "text": "rebuttal"})

    def vote(self, *verdicts: str) -> None:
        for juror, verdict in zip(self.role("JUROR"), verdicts, strict=True):
            self.does(juror, {"type": "vote", "verdict": verdict})

    def trial(self, *verdicts: str) -> None:
        """Play a trial to its end."""
        self.to_vote()
        self.vote(*verdicts)
        self.does(self.role("JUDGE")[0], {"type": "speak", "text": "so be it"})

    def choose(self, choices: str, comment: str = "because") -> None:
        for guest, choice in zip(self, choices, strict=True):
            self.does(guest, {"type": "first_choice", "choice": choice, "comment": comment})

    def switch(self, *switching: int) -> None:
        for number, guest in enumerate(self):
            self.does(guest, {"type": "switch", "use_switch": number in switching})

    def ox(self, *rounds: str) -> None:
        """Play O/X rounds without switches."""
        for choices in rounds:
            self.choose(choices)
            self.switch()


class Platform:
    """A running `up` and its clients."""

    def __init__(self, stack: Stack, http: httpx.Client) -> None:
        self.stack = stack
        self.http = http
        self.gateway = stack.run.gateway
        self.spectator = stack.run.spectator
        self.anonymous = Guest(http)
        self.operator = Guest(http, OPERATOR_KEY)

    def guest(self, name: str = "a guest") -> Guest:
        made = accepted(self.anonymous.post("/api/agents", {"name": name}), 201)
        return Guest(self.http, made["api_key"], made["id"], made["name"])

    def table(self, game: Game) -> Table:
        """Start a game with new agents. They first fill a game that another test left waiting."""
        seated: dict[str, list[Guest]] = {}
        for number in range(2 * NEEDED[game]):
            guest = self.guest(f"{game} {number}")
            game_id = guest.join(game)
            guests = seated.setdefault(game_id, [])
            guests.append(guest)
            if len(guests) == NEEDED[game]:
                return Table(game_id, guests)
        raise AssertionError(f"no game was filled: {seated}")

    def private_table(self, game: Game = "ox", **wanted: Any) -> tuple[Table, str]:
        """Start a private game with new agents; gives its invite, too."""
        host = self.guest("host")
        opened = accepted(host.post("/api/games", {"gameType": game, **wanted}), 201)
        others = self.invited(opened["invite"], NEEDED[game] - 1, game)
        return Table(opened["game_id"], [host, *others]), opened["invite"]

    def invited(self, invite: str, count: int, game: Game = "ox") -> list[Guest]:
        guests = [self.guest(f"invited {number}") for number in range(count)]
        for guest in guests:
            accepted(guest.post("/api/games/join", {"gameType": game, "invite": invite}))
        return guests

    def clear(self) -> None:
        """End every waiting game, so that the next join opens a new one."""
        for line in accepted(self.operator.get("/api/admin/games", phase="waiting"))["games"]:
            accepted(self.operator.post(f"/api/admin/games/{line['game_id']}/end", {"reason": "cleared"}))

    def events(self, game_id: str) -> list[Json]:
        events: list[Json] = accepted(self.anonymous.get(f"/api/games/{game_id}/events", limit=1000))["events"]
        return events

    def records(self, game_id: str, guest: Guest | None = None) -> list[Json]:
        answer = (guest or self.anonymous).get(f"/api/games/{game_id}/log")
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/x-ndjson"
        return [json.loads(line) for line in answer.text.splitlines()]

    def raw_events(self, game_id: str) -> list[str]:
        """The public events, byte for byte as in the answer."""
        text = self.anonymous.get(f"/api/games/{game_id}/events", limit=1000).text
        decoder, place, found = json.JSONDecoder(), text.index("[") + 1, []
        while text[place] != "]":
            end = decoder.raw_decode(text, place)[1]
            found.append(text[place:end])
            place = end + (text[end] == ",")
        return found

    def socket(self, path: str) -> ClientConnection:
        return connect(self.spectator.replace("http", "ws") + path, open_timeout=SECONDS, compression=None)

    def watched(self, path: str) -> tuple[list[str], int]:
        """All messages of a feed that ends by itself, and its close code.

        A heartbeat may come between any two messages; its version is never lower than that of an earlier message.
        """
        seen: list[str] = []
        with self.socket(path) as socket:
            try:
                while True:
                    said = str(socket.recv(timeout=SECONDS))
                    if not said.startswith('{"type":"heartbeat"'):
                        seen.append(said)
                        continue
                    beat = json.loads(said)
                    assert beat == {"type": "heartbeat", "version": beat["version"]}
                    assert beat["version"] >= max((json.loads(event)["version"] for event in seen), default=0)
            except ConnectionClosed as closed:
                return seen, closed.rcvd.code if closed.rcvd else 1006

    def command(self, *words: str) -> Done:
        """Run a `playmolt` command for the running `up`."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("PLAYMOLT_")}
        clean = {**clean, "DATABASE_URL": "", "NATS_URL": ""}
        return playmolt(*words, "--data", str(self.stack.folder.path), environment=clean)


def next_event(feed: ClientConnection, seconds: float = SECONDS) -> str:
    """The next event of a feed, without heartbeats. Raises `TimeoutError` if none comes in time."""
    until = time.monotonic() + seconds
    while (said := str(feed.recv(timeout=max(0.0, until - time.monotonic())))).startswith('{"type":"heartbeat"'):
        continue
    return said


class Sse:
    """A feed of server-sent events: the id and data of each event, and the comments."""

    def __init__(self, http: httpx.Client, url: str, **headers: str) -> None:
        self._context = http.stream("GET", url, headers=headers, timeout=SECONDS)
        self.answer = self._context.__enter__()
        self.lines = self.answer.iter_lines()

    def __enter__(self) -> "Sse":
        return self

    def __exit__(self, *error: object) -> None:
        self._context.__exit__(None, None, None)

    def __iter__(self) -> Iterator[tuple[int | None, str]]:
        identifier = None
        for line in self.lines:
            if line.startswith(":"):
                continue
            elif line.startswith("id: "):
                identifier = int(line[4:])
            elif line.startswith("data: "):
                yield identifier, line[6:]
            else:
                assert line == ""

    def comment(self) -> str:
        """The next comment; events before it are dropped."""
        return next(line for line in self.lines if line.startswith(":"))


def together(calls: Sequence[Callable[[], Any]]) -> list[Any]:
    """Make calls at the same time."""
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(SECONDS) for future in [pool.submit(call) for call in calls]]


def eventually(happened: Callable[[], Any], what: str, seconds: float = SECONDS) -> Any:
    until = time.monotonic() + seconds
    while not (found := happened()):
        assert time.monotonic() < until, what
        time.sleep(0.05)
    return found


def unknown_game(game: Game = "ox") -> str:
    # A fixed id, because all workers must collect the same tests.
    return f"{game}-{uuid.UUID(int=0xF00D, version=4)}"


def started(**environment: str) -> Iterator[Platform]:
    """Run an `up` for the tests."""
    folder = Path(tempfile.mkdtemp(prefix="playmolt-rows-"))
    folder.chmod(0o755)
    variables = {"DATABASE_URL": "", "NATS_URL": "", "PLAYMOLT_OPERATOR_KEY": OPERATOR_KEY, **environment}
    try:
        with Stack(folder / "data", environment=variables) as stack:
            limits = httpx.Limits(max_connections=200, max_keepalive_connections=50)
            with httpx.Client(base_url=stack.run.gateway, timeout=40, limits=limits, trust_env=False) as http:
                yield Platform(stack, http)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
