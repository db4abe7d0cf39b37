"""One action followed from HTTP to the watchers, and the figures that every service shows."""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import httpx
import pytest
from playmolt_core.ops.metrics import METRICS
from websockets.sync.client import connect

from tests.integration.conftest import OWN_SERVERS
from tests.integration.platform.otlp_collector import Collector, Seen
from tests.integration.platform.replica import Replica
from tests.integration.platform.twin import secret_sessions
from tests.platforms import Stack

TRACE, CALLER = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
ACT = {"type": "first_choice", "choice": "O", "comment": "a word that no span may hold"}


class Traced:
    """A platform whose spans go to a collector."""

    def __init__(self, stack: Stack, collector: Collector) -> None:
        self.stack = stack
        self.collector = collector
        self.games = 0

    def game(self, gateway: str = "") -> "Game":
        self.games += 1
        return Game(self.stack, gateway or self.stack.run.gateway)


@pytest.fixture(scope="module")
def traced(session_folder: Path) -> Iterator[Traced]:
    collector = Collector()
    with collector.listening():
        bounds = {"OTEL_BSP_SCHEDULE_DELAY": "200", "OTEL_EXPORTER_OTLP_TIMEOUT": "1"}
        # Without deadlines the games of all tests stay in one phase, in which they are counted.
        bounds |= {"PLAYMOLT_PHASE_DEADLINE_SECONDS": "0"}
        sent = {**OWN_SERVERS, **bounds, "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url}
        stack = Stack(session_folder / "traced", (), sent).start()
    yield Traced(stack, collector)
    assert stack.stop(), "stops in time although the last spans could not be sent"


@pytest.fixture
def collector(traced: Traced) -> Iterator[Collector]:
    """The collector while it listens; to who does not ask for it, it is away."""
    with traced.collector.listening():
        yield traced.collector


class Game:
    """An O/X game whose five seats are taken."""

    def __init__(self, stack: Stack, gateway: str) -> None:
        self.run = stack.run
        self.http = httpx.Client(base_url=gateway, timeout=60)
        self.keys = [self._post("/api/agents", {"name": f"seat {n}"}).json()["api_key"] for n in range(5)]
        joined = [self._post("/api/games/join", {"gameType": "ox"}, key) for key in self.keys]
        self.id = joined[0].json()["game_id"]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def _post(self, path: str, body: Any, key: str = "", **headers: str) -> httpx.Response:
        sent = headers | ({"Authorization": f"Bearer {key}"} if key else {})
        answer = self.http.post(path, json=body, headers=sent)
        assert answer.is_success, answer.text
        return answer

    def act(self, seat: int, **headers: str) -> int:
        """Act in a new second: a process traces some requests of each, and those of the seats may have been as many."""
        time.sleep(1 - time.monotonic() % 1)
        answer = self._post(f"/api/games/{self.id}/actions", ACT, self.keys[seat], **headers)
        return int(answer.json()["version"])

    def act_and_watch(self, seat: int, **headers: str) -> None:
        """Act while somebody watches, until the watcher has seen it."""
        with connect(f"{self.run.spectator.replace('http', 'ws')}/ws/games/{self.id}") as feed:
            feed.recv(60)
            version = self.act(seat, **headers)
            while json.loads(feed.recv(60))["version"] < version:
                continue


def test_an_action_is_followed_from_http_to_the_watchers(traced: Traced, collector: Collector) -> None:
    with traced.game() as game:
        game.act_and_watch(0, traceparent=f"00-{TRACE}-{CALLER}-01")
    wanted = {
        ("gateway", "act"), ("ox-engine", "decide ox"), ("ox-engine", "commit"), ("ox-engine", "publish"),
        ("spectator", "fan out"),
    }  # fmt: skip
    collector.until(lambda: {(span.service, span.name) for span in collector.of(TRACE)} == wanted)
    by_name = {span.name: span for span in collector.of(TRACE)}
    request = by_name.pop("act")
    assert (request.parent, request.attributes["http.response.status_code"]) == (CALLER, 200)
    assert {span.parent for span in by_name.values()} == {request.span}
    starts = [by_name[name].started for name in ("decide ox", "commit", "publish", "fan out")]
    assert starts == sorted(starts), "each step begins after the one before"
    assert by_name["commit"].ended <= request.ended, "an answer means committed"
    assert by_name["publish"].attributes["playmolt.target"] == game.id
    _no_payload(collector.spans, game)
    _other_requests_have_traces_of_their_own(collector)


def _no_payload(spans: list[Seen], game: Game) -> None:
    told = repr([span.attributes for span in spans])
    assert "comment" not in told
    assert "a word" not in told
    assert not any(key in told for key in game.keys)


def _other_requests_have_traces_of_their_own(collector: Collector) -> None:
    roots = [span for span in collector.spans if span.service == "gateway" and not span.parent]
    assert {"register_agent", "join_game"} <= {span.name for span in roots}
    assert len({span.trace for span in roots}) == len(roots)


def test_what_is_told_in_a_session_is_in_no_span(traced: Traced, collector: Collector) -> None:
    secrets = asyncio.run(secret_sessions(traced.stack, ACT["comment"]))
    asked = {("legal-orchestrator", "chat scripted"), ("trial-engine", "chat scripted")}
    collector.until(lambda: asked <= {(span.service, span.name) for span in collector.spans})
    sent = b"".join(collector.sent)
    assert ACT["comment"].encode() not in sent
    assert [secret for secret in secrets if secret.encode() in sent] == []


def test_who_asks_not_to_be_traced_is_not(traced: Traced, collector: Collector) -> None:
    sampled = TRACE[::-1]
    began = time.time_ns()
    quiet = Replica(traced.stack, "gateway-1", "playmolt_gateway", "PLAYMOLT_PORT", OTEL_TRACES_SAMPLER_ARG="0")
    with quiet, traced.game(quiet.url) as game:
        game.act(0, traceparent=f"00-{TRACE}-{CALLER}-00")
        game.act(1)
        game.act(2, traceparent=f"00-{sampled}-{CALLER}-01")
        collector.until(lambda: len(collector.of(sampled)) >= 4)
    # The polls of the house at the other gateway, which samples, are in no trace either.
    assert {span.trace for span in collector.spans if span.started > began} == {sampled}


CAUGHT_UP = 'playmolt_relay_lag_events{copy="spectate"} 0\n'


def _figures(text: str) -> set[str]:
    return set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))


def test_every_service_shows_its_figures_and_a_collector_that_is_away_harms_nobody(traced: Traced) -> None:
    running = traced.stack
    with traced.game() as game:
        game.act_and_watch(0)
        phase = _phase(game)
    games = f'playmolt_games{{game="ox",phase="{phase}"}} {traced.games}\n'
    pages = _pages(running, (games, CAUGHT_UP))
    shown = {name for page in pages.values() for name in _figures(page)}
    sometimes = {"playmolt_effects_pending", "playmolt_budget_spent_ratio"}
    quiet = {name for name in METRICS if name.startswith("playmolt_llm_")} | sometimes
    assert shown | quiet == set(METRICS), "each declared figure is shown by some service, and no other"
    for service, page in pages.items():
        assert len(_figures(page)) == page.count("# TYPE "), f"{service} names a figure twice"
    assert re.search(r'playmolt_commit_commands_count\{game="ox"\} [1-9]', pages["ox-engine"])
    assert re.search(r"playmolt_spectator_feed_lag_seconds_count [1-9]", pages["spectator"])


def _phase(game: Game) -> str:
    return str(game.http.get(f"/api/games/{game.id}/state").json()["phase"])


def _pages(running: Stack, relayed: tuple[str, ...]) -> dict[str, str]:
    """The figures of every service, those of the relay with these lines."""
    bases = {name.removesuffix("-1"): url.removesuffix("/readyz") for name, url in running.run.health.items()}
    del bases["evm"]
    relay = bases.pop("relay")
    end = time.monotonic() + 60
    # It counts games every five seconds, and how far the feeds lag as it looks at them.
    while not all(line in (page := httpx.get(f"{relay}/metrics", timeout=60).text) for line in relayed):
        assert time.monotonic() < end, page
        time.sleep(0.1)
    return {"relay": page, **{name: httpx.get(f"{base}/metrics", timeout=60).text for name, base in bases.items()}}
