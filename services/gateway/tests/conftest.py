"""In-memory twins of everything that the gateway needs, and a client that uses them."""

import asyncio
import hashlib
import json
import os
import secrets
import signal
from asyncio import Future
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import httpx
import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from playmolt_core.bus.port import BusUnavailable
from playmolt_core.db.accounts import Agent, ListedAgent, NewAgent, Owner, Profile, VersionLimit
from playmolt_core.db.cursors import BadCursor
from playmolt_core.db.limits import SessionLimit
from playmolt_core.db.projections import AgentRecord, Board, FinishedPage, Points, Ranked, Rating, RecentGame
from playmolt_core.db.ratings import RatingRow, RoleRate
from playmolt_core.db.scores import ScorePage
from playmolt_core.db.shares import FileLink, Share
from playmolt_core.effects.callbacks.seats import Callback, CalledSeat, SeatKey
from playmolt_core.ops import tracing
from playmolt_core.ops.connections import Bounds
from playmolt_core.ops.metrics import Sample
from playmolt_core.ops.service import stop_signals
from playmolt_gateway.access.auth import hash_of, new_key
from playmolt_gateway.server.app import Gateway, build
from playmolt_gateway.server.serving import listening, serve
from playmolt_gateway.settings import GatewaySettings
from playmolt_schemas import subjects
from playmolt_schemas.canonical import Files
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.identifiers import ENGINES
from playmolt_schemas.identity import slug
from playmolt_schemas.limits import VERSION_CHANGES_A_DAY

from core.tests.waiting import wait_until
from services.gateway.tests.signin.twin_sign_ins import TwinSignIns
from services.gateway.tests.twin_moderation import TwinModeration
from services.gateway.tests.twin_owners import TwinOwners, TwinOwnership
from services.gateway.tests.twin_reports import TwinReports
from services.gateway.tests.twin_webhooks import TwinWebhooks

OPERATOR_KEY = "the-operators-own-key"
Reply = tuple[int, Any] | Answer | Exception | None


class TwinWatch:
    def __init__(self, bus: "TwinBus", target: str) -> None:
        self.bus, self.target = bus, target
        self.queue: asyncio.Queue[bytes] = asyncio.Queue(100)
        self.waiting = False

    async def next(self, timeout: float) -> bytes | None:
        self.waiting = True
        try:
            async with asyncio.timeout(timeout):
                return await self.queue.get()
        except TimeoutError:
            return None
        finally:
            self.waiting = False

    async def close(self) -> None:
        self.bus.watches[self.target].remove(self)


class TwinBus:
    """`engine(game, call)` answers every call: (status, JSON), a whole answer, an exception, or None for no answer."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Call]] = []
        self.watches: defaultdict[str, list[TwinWatch]] = defaultdict(list)
        self.engine: Callable[[str, Call], Reply] = lambda _game, _call: (200, {"game_id": "ox-1"})
        self.is_connected = True
        self.published: list[tuple[str, bytes]] = []
        self.hints: list[str] = []
        self.answers: dict[str, bytes | Exception] = {}
        self.asked: dict[str, bytes] = {}
        self.listeners: dict[str, list[Callable[[bytes], None]]] = defaultdict(list)
        self.changes: list[Callable[[], None]] = []
        self.games = frozenset(game for games in ENGINES.values() for game in games)
        self.names = frozenset({*ENGINES, "relay", "spectator", "gateway"})
        self.moving = True

    def submit(self, game: str, op: Any, target: str, body: bytes = b"{}", **options: Any) -> "Future[Answer]":
        options.pop("deadline", None)
        call = Call(len(self.calls), op, target, body, **options)
        self.calls.append((game, call))
        future: Future[Answer] = asyncio.get_running_loop().create_future()
        reply = self.engine(game, call)
        if isinstance(reply, Exception):
            future.set_exception(reply)
        elif isinstance(reply, Answer):
            future.set_result(reply)
        elif reply is not None:
            status, value = reply
            data = value if isinstance(value, bytes) else msgspec.json.encode(value)
            future.set_result(Answer(call.id, status, data))
        return future

    def notify(self, target: str, message: Any) -> None:
        for watch in self.watches[target]:
            watch.queue.put_nowait(message if isinstance(message, bytes) else msgspec.json.encode(message))

    async def watched(self, target: str) -> None:
        """Return once a watch of the target has read everything and waits for the next message."""
        await wait_until(lambda: any(watch.waiting and watch.queue.empty() for watch in self.watches[target]))

    def samples(self) -> tuple[Sample, ...]:
        return ()

    def present(self) -> frozenset[str]:
        return self.games

    def services(self) -> frozenset[str]:
        return self.names

    def feeds_move(self) -> bool:
        return self.moving

    def connected(self) -> bool:
        return self.is_connected

    async def fault(self) -> str:
        return "" if self.is_connected else "not connected"

    def on_change(self, callback: Callable[[], None]) -> None:
        self.changes.append(callback)

    async def watch(self, game: str, identifier: str) -> TwinWatch:
        watch = TwinWatch(self, identifier)
        self.watches[identifier].append(watch)
        return watch

    async def watch_speech(self, game: str, identifier: str) -> TwinWatch:
        return await self.watch("speaking", f"speaking {identifier}")

    async def hint(self, stream: str) -> None:
        self.hints.append(stream)

    async def watch_moderation(self) -> TwinWatch:
        return await self.watch("moderation", "*")

    async def watch_lobby(self) -> TwinWatch:
        return await self.watch("lobby", "lobby")

    async def publish(self, subject: str, data: bytes = b"") -> None:
        if not self.is_connected:
            raise BusUnavailable("NATS is away")
        self.published.append((subject, data))
        for callback in self.listeners[subject]:
            callback(data)

    async def on(self, subject: str, callback: Callable[[bytes], None]) -> None:
        self.listeners[subject].append(callback)

    async def request(self, subject: str, data: bytes = b"", timeout: float = 2.0) -> bytes:
        self.asked[subject] = data
        answer = self.answers.get(subject, BusUnavailable(f"nobody answered on {subject}"))
        if isinstance(answer, Exception):
            raise answer
        return answer


class TwinStore:
    """Database, accounts, projections, limits and shares in one twin."""

    def __init__(self) -> None:
        self.rows: dict[str, Profile] = {}
        self.keys: dict[str, str] = {}
        self.visitors: dict[str, str] = {}
        self.invites: list[tuple[str, str, int, datetime]] = []
        self.joins: dict[tuple[str, str], str] = {}
        self.seat_rows: dict[str, dict[str, None]] = {}
        self.standings: list[Ranked] = []
        self.points: dict[str, Points] = {}
        self.lines: dict[str, RatingRow] = {}
        self.rates: dict[str, list[RoleRate]] = {}
        self.version_changes: Counter[str] = Counter()
        self.finished: dict[str, list[RecentGame]] = {}
        self.board = Board()
        self.score_page = ScorePage([], None, None, 0)
        self.finished_pages: list[FinishedPage] = []
        self.listings: list[int] = []
        self.score_board: tuple[str, str, int, str | None] | None = None
        self.buckets: dict[str, int] = {}
        self.sessions: dict[str, str] = {}
        self.callbacks: dict[str, Callback] = {}
        self.secrets: dict[str, str] = {}
        self.called_seats: dict[SeatKey, CalledSeat] = {}
        self.room = True
        self.tries = 0
        self.takes = 0
        self.shares: dict[str, tuple[str, Share]] = {}
        self.share_keys: dict[tuple[str, str], str] = {}
        self.file_links: dict[str, FileLink] = {}
        self.packs: dict[str, Files] = {}
        self.missing_packs: list[str] = []
        self.away = False
        self.read_only = False
        self.lookups = 0
        self.void: list[str] = []
        self.owners = TwinOwners(self)
        self.slow: asyncio.Event | None = None
        self.cancelled = 0

    def check(self) -> None:
        if self.away:
            raise ConnectionError("Postgres did not answer")

    def exists(self, subject: str) -> bool:
        return subject in self.rows or subject in self.owners.accounts

    @property
    def reason(self) -> str:
        return "read_only" if self.read_only else ""

    async def answers(self) -> bool:
        return not self.away

    async def create_agent(self, agent_id: str, new: NewAgent, key_hash: str, invite_hash: str = "") -> str | None:
        self.check()
        if invite_hash and not self.admitted(invite_hash):
            return None
        row = Profile(
            agent_id, new.name, f"{slug(new.name)}-{agent_id[-6:]}", new.kind, new.version, new.model,
            about=new.about, created_at=datetime(2026, 1, 1, tzinfo=UTC),
        )  # fmt: skip
        self.rows[agent_id] = row
        self.keys[key_hash] = agent_id
        return row.handle

    def admitted(self, invite_hash: str) -> bool:
        for place, (identifier, known, people, until) in enumerate(self.invites):
            if known == invite_hash and people and until > datetime.now(UTC):
                self.invites[place] = identifier, known, people - 1, until
                return True
        return False

    async def create_visitor(self, visitor_id: str, key_hash: str, invite_hash: str = "") -> bool:
        self.check()
        if invite_hash and not self.admitted(invite_hash):
            return False
        self.visitors[key_hash] = visitor_id
        return True

    async def delete_visitor(self, visitor_id: str) -> None:
        self.check()
        self.visitors = {key: one for key, one in self.visitors.items() if one != visitor_id}

    async def create_invite(self, invite_id: str, invite_hash: str, people: int, until: datetime) -> None:
        self.check()
        self.invites.append((invite_id, invite_hash, people, until))

    async def delete_invite(self, invite_id: str) -> bool:
        self.check()
        assert "\x00" not in invite_id, "Postgres stores no NUL"
        left = [one for one in self.invites if one[0] != invite_id]
        self.invites, found = left, len(left) < len(self.invites)
        return found

    async def update_agent(self, agent_id: str, version: Any, about: Any) -> Profile | VersionLimit | None:
        self.check()
        if version is not UNSET and version != self.rows[agent_id].version:
            self.version_changes[agent_id] += 1
            if self.version_changes[agent_id] > VERSION_CHANGES_A_DAY:
                return VersionLimit(3600.5)
        changed = {key: value for key, value in (("version", version), ("about", about)) if value is not UNSET}
        self.rows[agent_id] = replace(self.rows[agent_id], **changed)
        return self.rows[agent_id]

    async def profile(self, agent_id: str) -> Profile | None:
        self.check()
        return self.rows.get(agent_id)

    async def rotate_key(self, agent_id: str, old_hash: str, new_hash: str) -> bool:
        self.check()
        if self.keys.pop(old_hash, None) is None:
            return False
        self.keys[new_hash] = agent_id
        return True

    async def claim_join(self, agent_id: str, command_id: str, fingerprint: str) -> bool:
        self.check()
        return self.joins.setdefault((agent_id, command_id), fingerprint) == fingerprint

    async def keep_seat(self, agent_id: str, game_id: str) -> None:
        self.check()
        self.seat_rows.setdefault(agent_id, {})[game_id] = None

    async def seats(self, agent_id: str) -> list[str]:
        self.check()
        return list(self.seat_rows.get(agent_id, {}))

    async def forget_seat(self, agent_id: str, game_id: str) -> None:
        self.check()
        self.seat_rows.get(agent_id, {}).pop(game_id, None)

    async def put(self, agent_id: str, url: str, secret: str) -> None:
        self.check()
        self.callbacks[agent_id] = Callback(url, datetime(2026, 1, 1, tzinfo=UTC))
        self.secrets[agent_id] = secret

    async def callback(self, agent_id: str) -> Callback | None:
        self.check()
        return self.callbacks.get(agent_id)

    async def end(self, agent_id: str) -> None:
        self.check()
        self.callbacks.pop(agent_id, None)

    async def claim(self, most: int) -> list[SeatKey]:
        self.check()
        seats = [(agent, game) for agent in self.callbacks for game in self.seat_rows.get(agent, {})]
        free = [key for key in seats if key not in self.called_seats][:most]
        self.called_seats |= {key: self._called(key[0]) for key in free}
        return free

    def _called(self, agent_id: str) -> CalledSeat:
        return CalledSeat(self.callbacks[agent_id].url, self.secrets[agent_id])

    async def hold(self) -> frozenset[SeatKey]:
        self.check()
        return frozenset(key for key in self.called_seats if key[0] in self.callbacks)

    async def give_back(self, agent_id: str, game_id: str) -> None:
        self.check()
        self.called_seats.pop((agent_id, game_id), None)

    async def called(self, agent_id: str, game_id: str) -> CalledSeat | None:
        self.check()
        return self.called_seats.get((agent_id, game_id)) if agent_id in self.callbacks else None

    async def begin(self, agent_id: str, game_id: str, seconds: float) -> bool:
        self.check()
        self.tries += 1
        return self.room

    async def answered(self, agent_id: str, game_id: str, seat: CalledSeat) -> None:
        self.check()
        self.called_seats[agent_id, game_id] = seat

    async def secret(self, name: str) -> bytes:
        self.check()
        return hashlib.sha256(name.encode()).digest()

    async def callers(self, key_hashes: Sequence[str]) -> dict[str, Agent | Owner]:
        self.check()
        self.lookups += 1
        found: dict[str, Agent | Owner] = {key: self.rows[self.keys[key]] for key in key_hashes if key in self.keys}
        found |= {key: Agent(self.visitors[key], "Visitor") for key in key_hashes if key in self.visitors}
        owners = {key: self.owners.accounts[self.owners.keys[key]] for key in key_hashes if key in self.owners.keys}
        found |= {key: Owner(owner.id, owner.name) for key, owner in owners.items()}
        if self.slow:
            try:
                await self.slow.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
        return found

    async def void_keys(self, seconds: float) -> list[str]:
        self.check()
        return self.void

    async def agents(
        self, limit: int, cursor: str | None, beginning: str = ""
    ) -> tuple[Sequence[ListedAgent], str | None]:
        rows = [
            ListedAgent(**msgspec.structs.asdict(row), points=self.points.get(row.id, Points(0, {}, {})).points)
            for row in sorted(self.rows.values(), key=lambda row: row.id)
            if row.name.startswith(beginning)
        ]
        start = 0 if cursor is None else self._index(cursor)
        return rows[start : start + limit], str(start + limit) if len(rows) > start + limit else None

    @staticmethod
    def _index(cursor: str) -> int:
        if not cursor.isdigit():
            raise BadCursor(cursor)
        return int(cursor)

    async def leaderboard(self, board: Board, limit: int, cursor: str | None) -> tuple[Sequence[Ranked], str | None]:
        self.board = board
        start = 0 if cursor is None else self._index(cursor)
        rows = self.standings
        return rows[start : start + limit], str(start + limit) if len(rows) > start + limit else None

    async def scores(self, board: str, kind: str, limit: int, cursor: str | None) -> ScorePage:
        self.check()
        self.score_board = board, kind, limit, cursor
        return self.score_page

    async def points_of(self, agent_id: str) -> Points:
        self.check()
        return self.points.get(agent_id, Points(0, {}, {}))

    async def of_agents(self, versions: Mapping[str, str | None]) -> dict[str, AgentRecord]:
        found = {agent: (await self.points_of(agent)).games for agent in versions}
        return {
            agent: AgentRecord(found[agent], await self.ratings_of(agent, version))
            for agent, version in versions.items()
        }

    async def ratings_of(self, agent_id: str, version: str | None) -> dict[str, Rating]:
        self.check()
        return {} if agent_id not in self.lines else {"ox": Rating(self.lines[agent_id], version)}

    async def role_rates(self, game_type: str) -> list[RoleRate]:
        self.check()
        return self.rates.get(game_type, [])

    async def newest_finished(self, limit: int) -> list[FinishedPage]:
        self.check()
        self.listings.append(limit)
        return self.finished_pages[:limit]

    async def recent(self, agent_id: str) -> list[RecentGame]:
        self.check()
        return self.finished.get(agent_id, [])

    async def share(self, share: Share, command_id: str, fingerprint: str) -> str | None:
        self.check()
        known = bool(fingerprint) and (share.stream, command_id) in self.share_keys
        if fingerprint and self.share_keys.setdefault((share.stream, command_id), fingerprint) != fingerprint:
            return None
        token, standing = self.shares.get(share.stream, (secrets.token_urlsafe(16), share))
        self.shares[share.stream] = token, standing if known else share
        return token

    async def unshare(self, stream: str) -> None:
        self.check()
        self.shares.pop(stream, None)

    async def is_shared(self, stream: str) -> bool:
        return stream in self.shares

    async def shared(self, token: str) -> Share | None:
        self.check()
        return next((share for known, share in self.shares.values() if known == token), None)

    async def link_file(self, link: FileLink) -> str:
        self.check()
        token = secrets.token_urlsafe(16)
        self.file_links[token] = link
        return token

    async def linked_file(self, token: str) -> FileLink | None:
        self.check()
        return self.file_links.get(token)

    async def take(self, key: str, capacity: int, seconds: float, cost: int) -> float:
        self.check()
        self.takes += 1
        used = self.buckets.get(key, 0) + cost
        if used > capacity:
            return 1.5
        self.buckets[key] = used
        return 0.0

    async def wait(self, key: str, capacity: int, seconds: float) -> float:
        self.check()
        return 1.5 if self.buckets.get(key, 0) >= capacity else 0.0

    async def guess(self, key: str, most: int, seconds: float) -> float:
        self.check()
        used = self.buckets.get(key, 0)
        self.buckets[key] = used + 1
        return seconds if used >= most else 0.0

    async def forgive(self, key: str) -> None:
        self.check()
        self.buckets.pop(key, None)

    async def bring(self, digest: str, files: Files) -> None:
        self.check()
        self.packs[digest] = files

    async def missing(self) -> list[str]:
        self.check()
        return self.missing_packs

    async def open_session(self, owner: str, game: str, session: str, most: int, day_most: int) -> SessionLimit | None:
        self.check()
        held = [name for name, holder in self.sessions.items() if holder == f"{owner} {game}"]
        if session not in held and len(held) >= most:
            return "running"
        today = [name for name, holder in self.sessions.items() if holder.startswith(f"{owner} ")]
        if session not in held and 0 < day_most <= len(today):
            return "day"
        self.sessions[session] = f"{owner} {game}"
        return None

    async def give_session_up(self, session: str) -> None:
        self.check()
        self.sessions.pop(session, None)


class Platform:
    """A gateway with twins, a client and two agents."""

    def __init__(self, **settings: Any) -> None:
        self.bus = TwinBus()
        self.store = TwinStore()
        self.owners = self.store.owners, TwinOwnership(self.store, self.store.owners)
        self.sign_ins = TwinSignIns()
        self.reports = TwinReports(self.store)
        self.moderation = TwinModeration(self.store)
        values: dict[str, Any] = {"operator_key": OPERATOR_KEY, "stuck_seconds": 600} | settings
        self.webhooks = TwinWebhooks(self.store)
        twins = (*self.owners, self.sign_ins, self.reports, self.moderation, self.webhooks)
        self.gateway: Gateway = build(GatewaySettings(**values), self.bus, *[self.store] * 7, *twins)
        transport = httpx.ASGITransport(app=self.gateway, raise_app_exceptions=True)
        self.client = httpx.AsyncClient(transport=transport, base_url="http://gateway")
        self.operator = {"Authorization": f"Bearer {OPERATOR_KEY}"}

    def agent(self, name: str = "Ada") -> tuple[str, dict[str, str]]:
        key = new_key()
        agent_id = f"agent-{len(self.store.rows):08d}-0000-4000-8000-000000000000"
        handle = f"{slug(name)}-{agent_id[9:14]}"
        self.store.rows[agent_id] = Profile(
            agent_id, name, handle, about=None, created_at=datetime(2026, 1, 1, tzinfo=UTC)
        )
        self.store.keys[hash_of(key)] = agent_id
        return agent_id, {"Authorization": f"Bearer {key}"}

    async def send(self, method: str, path: str, **options: Any) -> httpx.Response:
        return await self.client.request(method, path, **options)

    def last(self) -> Call:
        return self.bus.calls[-1][1]


@pytest.fixture
def game() -> str:
    return "ox-0190c3f8-1111-7222-8333-444455556666"


@pytest.fixture
def make_platform() -> Callable[..., Platform]:
    return Platform


@pytest.fixture
async def platform(make_platform: Callable[..., Platform]) -> AsyncIterator[Platform]:
    built = make_platform()
    await built.gateway.listen()
    async with built.client:
        yield built


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """The spans of this process, from the start of the test."""
    exporter = InMemorySpanExporter()
    tracing.install("gateway", SimpleSpanProcessor(exporter))
    yield exporter
    tracing.close()


@pytest.fixture
def within() -> Bounds:
    return Bounds()


@pytest.fixture
async def port(platform: Platform, within: Bounds) -> AsyncIterator[int]:
    """The port of a gateway on a real socket."""
    settings = GatewaySettings(port=0, deadline_seconds=1)
    sock = listening(settings, None)
    with stop_signals() as stopping:
        task = asyncio.create_task(serve(platform.gateway, settings, sock, within, stopping))
        yield sock.getsockname()[1]
        os.kill(os.getpid(), signal.SIGTERM)
        async with asyncio.timeout(60):
            await task
    sock.close()


@pytest.fixture
def problem() -> Callable[[httpx.Response], tuple[int, str]]:
    """Checks that an answer is a complete problem document, and returns its status and code."""

    def read(response: httpx.Response) -> tuple[int, str]:
        assert response.headers["content-type"] == "application/problem+json"
        document = json.loads(response.content)
        assert document["status"] == response.status_code
        assert document["type"] == "about:blank"
        assert document["title"]
        assert len(document["detail"]) > 10
        return response.status_code, document["code"]

    return read


@pytest.fixture
def revoked_subject() -> str:
    return subjects.KEYS_REVOKED
