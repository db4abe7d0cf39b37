"""Webhooks over HTTP, and the calls that a gateway makes: each ends in a result, in bounded time."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from playmolt_core.db.webhooks import Delivery
from playmolt_core.effects.callbacks.client import CheckedClient
from playmolt_gateway.http.metrics import WebhookMetrics
from playmolt_gateway.webhooks.deliverer import NoticeDeliverer, body_of, headers_of
from playmolt_schemas.limits import CALLBACK_URL_CHARS
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from core.tests.listening import listening
from services.gateway.tests.test_owners import made
from services.gateway.tests.twin_webhooks import AT

PATH = "/api/owners/me/webhook"
URL = "http://127.0.0.1:9/hook"
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def owned(make_platform: Any) -> tuple[Any, dict[str, Any], dict[str, str]]:
    platform = make_platform(callback_private=True)
    return platform, *await made(platform)


async def put(platform: Any, key: dict[str, str], **fields: Any) -> Any:
    return await platform.send("PUT", PATH, json={"url": URL, "events": ["turn", "game_over"]} | fields, headers=key)


class TestRoutes:
    async def test_the_secret_is_shown_once_and_is_another_after_each_change(self, owned: Any) -> None:
        platform, owner, key = owned
        first, second = (await put(platform, key)).json(), (await put(platform, key)).json()
        assert list(first) == ["url", "events", "secret"]
        secrets = {one["secret"] for one in (first, second)}
        assert len(secrets) == 2
        assert all(24 <= len(base64.b64decode(one.removeprefix("whsec_"))) <= 64 for one in secrets)
        shown = {"url": URL, "events": ["turn", "game_over"], "created_at": "2026-01-02T12:00:00.000000Z", "off": None}
        assert (await platform.send("GET", PATH, headers=key)).json() == shown
        assert (await platform.send("GET", "/api/owners/me", headers=key)).json()["webhook"] == shown
        platform.webhooks.switch_off(owner["id"])
        off = (await platform.send("GET", "/api/owners/me", headers=key)).json()["webhook"]["off"]
        assert off == {"reason": "gone", "at": "2026-01-02T12:00:00.000000Z"}

    async def test_an_owner_without_a_webhook_gets_404(self, owned: Any, problem: Any) -> None:
        platform, _, key = owned
        for path in (PATH, f"{PATH}/deliveries"):
            assert problem(await platform.send("GET", path, headers=key)) == (404, "not_found")
        await put(platform, key)
        for _ in range(2):
            assert (await platform.send("DELETE", PATH, headers=key)).status_code == 204
        assert (await platform.send("GET", PATH, headers=key)).status_code == 404
        assert "webhook" not in (await platform.send("GET", "/api/owners/me", headers=key)).json()

    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"url": "ftp://a.example"}, "url"), ({"url": ""}, "url"), ({"url": "x" * (CALLBACK_URL_CHARS + 1)}, "url"),
            ({"url": "http://u:p@127.0.0.1/"}, "url"), ({"url": "http://127.0.0.1/#a"}, "url"),
            ({"url": "http://10.0.0.1/"}, "url"), ({"url": "http://[fd00::1]/"}, "url"), ({"url": 1}, "url"),
            ({"url": "http://[::ffff:10.0.0.1]/"}, "url"), ({"url": "http://no-such-name.invalid/"}, "url"),
            ({"events": []}, "events"), ({"events": ["turn", "turn"]}, "events"), ({"events": ["all"]}, "events[0]"),
            ({"events": None}, "events"), ({"secret": "whsec_x"}, "secret"),
        ],
    )  # fmt: skip
    async def test_a_bad_address_or_event_is_refused(self, owned: Any, problem: Any, fields: Any, field: str) -> None:
        platform, _, key = owned
        answer = await put(platform, key, **fields)
        assert problem(answer) == (400, "invalid_request")
        assert [one["field"] for one in answer.json()["errors"]] == [field]
        assert (await platform.send("GET", PATH, headers=key)).status_code == 404

    @pytest.mark.parametrize(
        ("events", "field", "fault"),
        [
            ([], "events", "must be a list of at least 1 item, each one of turn, "),
            ("turn", "events", "must be a list, each one of turn, "),
            (["turn", "won"], "events[1]", "must be one of turn, "),
        ],
    )
    async def test_a_refused_list_of_events_says_what_it_lacks(
        self, owned: Any, events: Any, field: str, fault: str
    ) -> None:
        platform, _, key = owned
        answer = await put(platform, key, events=events)
        (found,) = answer.json()["errors"]
        assert found["field"] == field
        assert found["message"].startswith(fault)

    async def test_a_private_address_is_refused_where_callbacks_are_public(self, platform: Any, problem: Any) -> None:
        _, key = await made(platform)
        for url in (URL, "https://127.0.0.1/", "https://localhost/", "http://example.org/"):
            assert problem(await put(platform, key, url=url)) == (400, "invalid_request")

    async def test_deliveries_show_five_fields_and_nothing_of_an_answer(self, owned: Any) -> None:
        platform, owner, key = owned
        await put(platform, key)
        platform.webhooks.rows[owner["id"]].append(Delivery("msg_1", "turn", AT, "waiting", 3))
        shown = (await platform.send("GET", f"{PATH}/deliveries", headers=key)).json()
        row = {"id": "msg_1", "type": "turn", "when": "2026-01-02T12:00:00.000000Z", "status": "waiting", "tries": 3}
        assert shown == {"deliveries": [row]}


def answering(head: str, *more: str) -> Serve:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in request.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        await reader.readexactly(length)
        writer.write("\r\n".join([f"HTTP/1.1 {head}", *more, "Connection: close", "", ""]).encode())
        await writer.drain()

    return serve


async def hanging(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await answering("200 OK", "Content-Length: 1000000000")(reader, writer)
    while True:
        writer.write(b" " * 65536)
        await writer.drain()


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[str]:
    """The URL of a server that does this with each connection."""
    async with listening(serve) as port:
        yield f"http://127.0.0.1:{port}/hook"


@asynccontextmanager
async def delivering(platform: Any, *, seconds: float = 50, private: bool = True) -> AsyncIterator[WebhookMetrics]:
    services, metrics = platform.gateway.services, WebhookMetrics()
    client = CheckedClient(private=private, seconds=seconds)
    deliverer = NoticeDeliverer(
        platform.webhooks, client, services.webhook_secrets, services.webhook_put, metrics=metrics
    )
    try:
        async with deliverer.under_way():
            yield metrics
    finally:
        await client.close()


async def delivered(platform: Any, serve: Serve, **options: Any) -> Any:
    """The recorded result of one call of such a server."""
    async with serving(serve) as url, delivering(platform, **options):
        platform.webhooks.notify(url)
        await asyncio.wait_for(platform.webhooks.recorded.wait(), 60)
    ((_, result),) = platform.webhooks.results
    return result


class TestCalls:
    @pytest.mark.parametrize("head", ["200 OK", "201 Created", "204 No Content", "299 Odd"])
    async def test_any_2xx_is_success(self, platform: Any, head: str) -> None:
        assert await delivered(platform, answering(head)) == "delivered"

    @pytest.mark.parametrize(
        ("head", "result"),
        [
            ("410 Gone", "gone"), ("500 Oops", None), ("404 Not Found", None), ("304 Not Modified", None),
            ("429 Slow Down", None), ("302 Found", None), ("nonsense", None),
        ],
    )  # fmt: skip
    async def test_another_status_is_retried_and_410_ends_it(self, platform: Any, head: str, result: Any) -> None:
        assert await delivered(platform, answering(head, "Location: http://127.0.0.1:1/")) == result

    async def test_a_server_that_hangs_is_cut_off_and_a_gigabyte_is_not_read(self, platform: Any) -> None:
        assert await delivered(platform, hanging, seconds=0.5) is None
        platform.webhooks.results.clear()
        platform.webhooks.recorded.clear()
        began = time.monotonic()
        assert await delivered(platform, endless, seconds=60) == "delivered"
        assert time.monotonic() - began < 30

    @pytest.mark.parametrize("url", ["http://127.0.0.1:1/", "https://127.0.0.1:1/", "https://localhost:1/"])
    async def test_an_address_that_became_an_inside_one_is_not_called(self, platform: Any, url: str) -> None:
        called = asyncio.Event()

        async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            del reader, writer
            called.set()

        async with serving(note) as inside, delivering(platform, private=False):
            platform.webhooks.notify(url.replace(":1/", f":{inside.rpartition(':')[2]}"))
            await asyncio.wait_for(platform.webhooks.recorded.wait(), 60)
        assert platform.webhooks.results == [("msg_0", None)]
        assert not called.is_set()

    async def test_servers_that_hang_delay_no_other(self, platform: Any) -> None:
        async with serving(hanging) as bad, serving(answering("200 OK")) as good, delivering(platform, seconds=60):
            for number in range(20):
                platform.webhooks.notify(bad, number)
            platform.webhooks.notify(good, 99)
            await asyncio.wait_for(platform.webhooks.recorded.wait(), 30)
            assert platform.webhooks.results == [("msg_99", "delivered")]

    async def test_a_database_that_is_away_while_a_call_is_recorded_stops_nothing(self, platform: Any) -> None:
        async with serving(answering("200 OK")) as url, delivering(platform) as metrics:
            platform.webhooks.notify(url)
            platform.store.away = True
            await asyncio.sleep(0)
            platform.store.away = False
            await asyncio.wait_for(platform.webhooks.recorded.wait(), 60)
            assert metrics.calls["delivered"] == 1


class TestSignature:
    async def test_the_library_verifies_a_notice_and_no_other_body_time_or_id(self, platform: Any) -> None:
        notice = platform.webhooks.notify(URL)
        secret = await platform.gateway.services.webhook_secrets.of(notice.webhook)
        body = body_of(notice)
        headers = dict(headers_of(notice, body, secret))
        seen = Webhook(secret).verify(body, headers)
        assert list(seen) == ["type", "timestamp", "data"]
        assert seen["data"]["link"] == "https://arena.example/watch/ox-1"
        assert set(seen["data"]) == {"agent_id", "game_id", "gameType", "phase", "turn_id", "link"}
        for other in (body + b" ", body.replace(b"ox-1", b"ox-2")):
            with pytest.raises(WebhookVerificationError):
                Webhook(secret).verify(other, headers)
        for name in ("webhook-id", "webhook-timestamp"):
            with pytest.raises(WebhookVerificationError):
                Webhook(secret).verify(body, headers | {name: "1"})
        old = headers_of(notice, body, secret, datetime(2026, 1, 1, tzinfo=UTC))
        assert old["webhook-id"] == headers["webhook-id"], "the same for repeats"
        assert json.loads(body) == seen
