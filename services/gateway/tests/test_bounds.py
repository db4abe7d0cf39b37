"""What callers without a key may ask for is bounded: slots, one drawing for equal requests, a limit per address."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from playmolt_gateway.pages.game_pictures import GamePictures
from playmolt_gateway.pictures.picture_store import PictureStore, name_of
from playmolt_gateway.pictures.png import PngProcess
from playmolt_gateway.request.fair_slots import Capacity, FairSlots, SlotsBusy
from playmolt_schemas.routes.platform import ROUTES
from playmolt_schemas.routes.route import Auth, Load

from core.tests.waiting import loop_turns, wait_until

GAME = "ox-0190c3f8-1111-7222-8333-444455556666"
LAST = 20
OUTSIDE = {"x-forwarded-for": "203.0.113.7"}
OTHER = {"x-forwarded-for": "203.0.113.8"}
JSON = {"host": "localhost", "content-type": "application/json"}
FOR_EVER = "public, max-age=31536000, immutable"

LOADS = {
    Load.PROBE: {"healthz", "readyz", "metrics"},
    Load.FILE: {"page_icon", "page_asset", "page_folder_asset", "page_game_asset"},
    Load.MEMORY: {
        "openapi", "docs", "llms", "skill", "page_lobby", "page_games", "page_game", "page_legal", "page_agora",
        "page_play", "page_privacy", "page_avatar", "page_operator", "page_tournaments", "robots", "security_txt",
    },
    Load.BUCKET: {
        "register_agent", "open_visitor", "open_owner", "recover_owner", "report", "sign_in", "sign_in_callback",
    },
    Load.READ: {
        "list_agents", "read_agent", "read_game_type", "read_events", "list_games_to_fill",
        "list_runs", "read_run_events", "page_agent", "page_watch", "page_embed", "oembed", "page_shared", "page_check",
        "dataset_file", "dataset_games", "list_house_tables", "list_tournaments", "open_file", "page_datasets",
        "page_me", "page_tournament", "read_signed_in", "read_tournament", "sign_out", "take_house_seats",
    },
    Load.SEARCH: {
        "list_games", "read_leaderboard", "page_rows", "sitemap", "games_feed", "agent_feed", "tournaments_feed",
    },
    Load.DRAWING: {"page_picture", "shared_file"},
    Load.REPLAY: {"read_replay"},
    Load.WAIT: {"read_state", "stream_events", "read_log", "stream_tournament"},
}  # fmt: skip


def test_every_route_that_needs_no_key_says_what_bounds_it() -> None:
    found = {route.name: route.load for route in ROUTES if route.auth in (Auth.NONE, Auth.OPTIONAL)}
    assert found == {name: load for load, names in LOADS.items() for name in names}


def test_only_files_probes_and_writes_with_their_own_limit_are_not_counted() -> None:
    assert {load for load in Load if not load.counted} == {Load.PROBE, Load.FILE, Load.BUCKET}


def state(version: int, *, over: bool = True) -> dict[str, Any]:
    seats = [
        {"id": f"agent-{n}", "name": f"Seat {n}", "handle": f"seat-{n}", "kind": "bot", "version": None, "model": None,
         "submitted": n < version % 6, "away": False, "resigned": False}
        for n in range(5)
    ]  # fmt: skip
    lines = [{**seat, "points": version, "monopolies": 0, "switch_available": True} for seat in seats]
    return {
        "game_id": GAME, "gameType": "ox", "version": version, "round": 1, "maxRounds": 5,
        "phase": "end" if over and version == LAST else "first_choice",
        "question": "Is it so?", "participants": seats, "reveal": [], "decisions": [], "scoreboard": lines,
        "history": [], "allowed_actions": [], "phase_submissions": {"submitted": 2, "total": 5}, "deadline": None,
        "seconds_left": None, "turn_id": None, "results": None,
    }  # fmt: skip


def engine_of(*, over: bool = True) -> Callable[[str, Any], tuple[int, Any]]:
    def engine(_game: str, call: Any) -> tuple[int, Any]:
        if call.op != "state":
            return 200, {"games": []}
        asked = json.loads(call.body)
        if call.target != GAME or not 1 <= asked.get("at", LAST) <= LAST:
            return 404, {"code": "not_found", "detail": "", "status": 404, "title": ""}
        return 200, state(asked.get("at", LAST), over=over)

    return engine


@pytest.fixture
def finished(platform: Any) -> Any:
    platform.bus.engine = engine_of()
    return platform


async def pictures(platform: Any, queries: list[str], kind: str = "picture.png") -> list[Any]:
    got = await asyncio.gather(*(platform.send("GET", f"/watch/{GAME}/{kind}?{query}") for query in queries))
    assert {one.status_code for one in got} == {200}
    return got


def drawings(platform: Any) -> int:
    return int(platform.gateway.services.png_process.drawn)


async def test_equal_requests_share_one_drawing(finished: Any) -> None:
    services = finished.gateway.services
    services.game_pictures = GamePictures(finished.bus, services.drawer, seconds=600)
    queries = [f"v=7&lang=en&theme={theme}&x={n}" for n in range(20) for theme in ("light", "none", "t" * 50)]
    got = await pictures(finished, queries)
    assert len({one.content for one in got}) == 1
    assert drawings(finished) == 1
    assert len(finished.bus.calls) == 2  # the last state, and the one of the moment
    await pictures(finished, ["v=7&lang=en&theme=dark", "v=7&lang=ko", "v=8&lang=en"])
    assert drawings(finished) == 4


@pytest.mark.parametrize("over", [True, False])
async def test_unknown_moments_are_one_moment(platform: Any, over: bool) -> None:
    platform.bus.engine = engine_of(over=over)
    await pictures(platform, [f"v={v}&lang=en" for v in (*range(21, 60), 0, -1, "x", "9" * 40, "")])
    assert drawings(platform) == 1


async def test_only_moments_of_finished_games_are_cached_for_ever(platform: Any) -> None:
    platform.bus.engine = engine_of(over=False)
    (running,) = await pictures(platform, ["v=7&lang=en"])
    assert running.headers["cache-control"] == "private, max-age=60"
    platform.bus.engine = engine_of()
    for kind in ("picture.png", "picture.svg"):
        settled, last, unknown, latest = await pictures(platform, [f"v={v}&lang=ko" for v in (7, 20, 21, "")], kind)
        assert (
            settled.headers["cache-control"] == last.headers["cache-control"] == "public, max-age=31536000, immutable"
        )
        assert unknown.headers["cache-control"] == latest.headers["cache-control"] == "public, max-age=60"
        assert "Accept-Language" not in settled.headers.get("vary", "")
    (chosen,) = await pictures(platform, ["v=7"])
    assert chosen.headers["vary"] == "Accept-Language"


async def test_drawings_of_finished_games_outlive_the_process(make_platform: Any, tmp_path: Path) -> None:
    for restart, over, expected in ((0, True, 1), (1, True, 0), (2, False, 1), (3, False, 1)):
        platform = make_platform(pictures=str(tmp_path / "pictures"))
        platform.bus.engine = engine_of(over=over)
        await pictures(platform, [f"v={7 if over else 8}&lang=en"])
        assert drawings(platform) == expected, restart
        platform.gateway.close()


async def test_a_replay_is_made_once(make_platform: Any, tmp_path: Path) -> None:
    platform = make_platform(pictures=str(tmp_path))
    platform.bus.engine = engine_of()
    got = await asyncio.gather(*(platform.send("GET", f"/api/games/{GAME}/replay.html?lang=en") for _ in range(5)))
    assert {one.status_code for one in got} == {200}
    assert len(platform.bus.calls) == LAST + 5


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


async def test_the_folder_is_bounded_and_keeps_what_was_used_last(tmp_path: Path) -> None:
    store = PictureStore(str(tmp_path), most_bytes=1000, memory_bytes=0)
    made: list[str] = []

    async def get(name: str) -> None:
        async def make() -> bytes:
            made.append(name)
            return name.encode() * 100

        assert await store.get(name_of(name), make, "disk") == name.encode() * 100

    for name in "abcdefghij":
        await get(name)
    assert size_of(tmp_path) <= 1000
    await get("a")
    await get("k")
    await get("a")
    assert made == list("abcdefghijk")
    assert size_of(tmp_path) <= 1000
    blocked = PictureStore(str(tmp_path / name_of("a") / "no folder"), 1000)
    assert await blocked.get("x", lambda: asyncio.sleep(0, b"drawn"), "disk") == b"drawn"


async def test_what_may_be_erased_is_stored_nowhere(tmp_path: Path) -> None:
    store, made = PictureStore(str(tmp_path), 1000), 0

    async def make() -> bytes:
        nonlocal made
        made += 1
        await loop_turns()
        return b"drawn"

    await asyncio.gather(*(store.get("x", make, "nowhere") for _ in range(3)))
    assert (made, size_of(tmp_path)) == (1, 0)
    await store.get("x", make, "nowhere")
    assert made == 2


async def test_a_process_that_fails_is_replaced() -> None:
    svg = '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"/>'
    process = PngProcess(seconds=30, idle_seconds=0.01)
    with pytest.raises(ValueError, match="invalid"):
        await process.draw("<not svg", 8, 8)
    assert (await process.draw(svg, 8, 8))[:4] == b"\x89PNG"
    await wait_until(lambda: process._child is None)
    assert (await process.draw(svg, 8, 8))[:4] == b"\x89PNG"
    process.close()
    slow = PngProcess(seconds=0)
    with pytest.raises(ConnectionError):
        await slow.draw(svg, 8, 8)
    slow.close()


class TestSlots:
    async def test_callers_take_turns(self) -> None:
        slots, order = FairSlots(Capacity(total=2, each=1)), list[str]()
        release = asyncio.Event()

        async def work(caller: str) -> None:
            async with slots.slot(caller, 10):
                order.append(caller)
                await release.wait()

        tasks = [asyncio.create_task(work("flood")) for _ in range(20)]
        await loop_turns()
        tasks += [asyncio.create_task(work("other")), asyncio.create_task(work("third"))]
        await loop_turns()
        assert order == ["flood", "other"]
        release.set()
        await asyncio.gather(*tasks)
        assert order[2:4] in (["flood", "third"], ["third", "flood"])
        assert len(slots) == 0

    async def test_a_slot_that_comes_too_late_is_refused(self) -> None:
        slots = FairSlots(Capacity(1, 1), waiting=3, waiting_each=2)
        async with slots.slot("a", 1):
            with pytest.raises(SlotsBusy):
                async with slots.slot("a", 0.01):
                    pass
            waiting = [asyncio.ensure_future(slots._take(name, 5)) for name in "aab"]
            await loop_turns()
            for name in "ac":  # its own queue is full; all queues are full
                with pytest.raises(SlotsBusy):
                    await slots._take(name, 5)
            for one in waiting:
                one.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        async with slots.slot("c", 1):
            assert len(slots) == 1

    async def test_a_slot_given_to_one_who_left_goes_to_the_next(self) -> None:
        slots = FairSlots(Capacity(1, 1))
        async with slots.slot("a", 1):
            gone, stays = (asyncio.ensure_future(slots._take(name, 5)) for name in "bc")
            await loop_turns()
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await asyncio.wait_for(stays, 5)
        assert len(slots) == 1


async def test_a_flood_of_costly_requests_delays_itself(make_platform: Any) -> None:
    """Of fifty pictures and searches of one address, few are under way when another address gets its list."""
    platform = make_platform(trusted_proxies="127.0.0.1")
    pending: list[asyncio.Future[Any]] = []
    answer = platform.bus.submit

    def submit(game: str, op: Any, target: str, body: bytes = b"{}", **options: Any) -> Any:
        if op == "state" or b"100" in body or b"101" in body:
            pending.append(asyncio.get_running_loop().create_future())
            return pending[-1]
        return answer(game, op, target, body, **options)

    platform.bus.engine = engine_of()
    platform.bus.submit = submit
    paths = [
        *(f"/watch/{GAME}/picture.png?v={n}" for n in range(1, 50)),
        *(f"/games/rows?q=zz{n}&over=true" for n in range(50)),
        *(f"/api/games?q=zz{n}" for n in range(50)),
        *(f"/api/games/{GAME}/replay.html" for _ in range(50)),
        *(f"/api/games/{GAME}/state?at={n}" for n in range(1, 50)),
        *(f"/watch/{GAME}?v={n}" for n in range(1, 50)),
    ]
    flood = [asyncio.create_task(platform.send("GET", path, headers=OUTSIDE)) for path in paths]
    await wait_until(lambda: pending)
    await loop_turns()
    victim = await asyncio.wait_for(platform.send("GET", "/api/games?limit=7", headers=OTHER), 60)
    assert victim.status_code == 200
    assert len(pending) <= 16
    for task in flood:
        task.cancel()
    await asyncio.gather(*flood, return_exceptions=True)


async def list_seconds(platform: Any) -> float:
    began = time.monotonic()
    answer = await platform.send("GET", "/api/games?limit=7", headers=OTHER)
    assert answer.status_code == 200
    return time.monotonic() - began


async def test_a_list_beside_two_hundred_pictures_takes_little_longer_than_alone(make_platform: Any) -> None:
    """In the loop of the gateway a picture would take as long as many lists."""
    platform = make_platform(trusted_proxies="127.0.0.1")
    platform.bus.engine = engine_of()
    callers = asyncio.Semaphore(50)

    async def picture(number: int) -> None:
        path = f"/watch/{GAME}/picture.png?v={number % LAST + 1}&lang=en&theme={('light', 'dark')[number % 2]}"
        async with callers:
            drawn = await platform.send("GET", path, headers=OUTSIDE)
            assert drawn.status_code in (200, 503), "the flood itself may wait too long"

    await list_seconds(platform)
    alone = [await list_seconds(platform) for _ in range(20)]
    flood = asyncio.gather(*(picture(number) for number in range(200)))
    beside = []
    while not flood.done() and drawings(platform) < LAST:
        beside.append(await list_seconds(platform))
        await asyncio.sleep(10 * median(alone))
    await flood
    assert 0 < drawings(platform) <= LAST
    assert median(beside) < 10 * median(alone)
    platform.gateway.close()


class TestAnonymousLimit:
    @pytest.fixture
    def limited(self, make_platform: Any) -> Any:
        platform = make_platform(anonymous_limit="3/60", trusted_proxies="127.0.0.1")
        platform.bus.engine = engine_of()
        return platform

    async def test_reads_without_a_key_have_a_limit_per_address(self, limited: Any, problem: Any) -> None:
        for path in ("/api/games", "/", "/openapi.json"):
            assert (await limited.send("GET", path, headers=OUTSIDE)).status_code == 200
        takes = limited.store.takes
        for path in ("/api/games", f"/watch/{GAME}", "/docs", "/games/rows"):
            refused = await limited.send("GET", path, headers=OUTSIDE)
            assert problem(refused) == (429, "rate_limited")
            assert 1 <= int(refused.headers["retry-after"]) <= 60
            assert refused.json()["ratelimit"] == {"key": "reads:203.0.113.7", "limit": 3, "seconds": 60.0}
        assert limited.store.takes == takes + 1, "an empty bucket is not queried for each request"
        other = await limited.send("GET", "/api/games", headers=OTHER)
        assert other.status_code == 200
        key = limited.agent()[1]
        assert (await limited.send("GET", "/api/games", headers=OUTSIDE | key)).status_code == 200
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert problem(await limited.send("POST", "/mcp", headers=OUTSIDE | JSON, json=ping)) == (429, "rate_limited")
        for path in ("/healthz", "/metrics", "/favicon.ico"):
            assert (await limited.send("GET", path, headers=OUTSIDE)).status_code == 200

    @pytest.mark.parametrize(
        ("settings", "status"),
        [({}, 200), ({"limit_loopback": True}, 429), ({"anonymous_limit": "1200/60"}, 429),
         ({"limit_loopback": True, "anonymous_limit": "off"}, 200)],
    )  # fmt: skip
    async def test_callers_on_this_machine_are_limited_like_elsewhere(
        self, make_platform: Any, settings: dict[str, Any], status: int
    ) -> None:
        platform = make_platform(**settings)
        platform.store.buckets["reads:127.0.0.1"] = 1200
        assert (await platform.send("GET", "/docs")).status_code == status

    async def test_reads_go_on_while_the_limits_are_unavailable(self, limited: Any) -> None:
        limited.store.away = True
        for _ in range(5):
            assert (await limited.send("GET", "/", headers=OUTSIDE)).status_code == 200


async def test_requests_during_a_readiness_check_share_it(platform: Any) -> None:
    asked = 0
    answers = platform.store.answers

    async def counted() -> bool:
        nonlocal asked
        asked += 1
        await loop_turns()
        return bool(await answers())

    platform.store.answers = counted
    got = await asyncio.gather(*(platform.send("GET", "/readyz") for _ in range(20)))
    assert {one.status_code for one in got} == {200}
    assert asked == 1
