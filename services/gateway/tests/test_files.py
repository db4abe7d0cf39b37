"""Addresses of files: for one file, for minutes, without a key, and nowhere but in the answer that gives them."""

import json
import logging
from typing import Any

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from playmolt_core.db.shares import FileLink
from playmolt_schemas.envelopes import Answer

SESSION = "legal-0190c3f8-1111-7222-8333-444455556666"
PDF = f"/api/sessions/{SESSION}/report?format=pdf"
BROWSER = {"accept": "text/html,*/*;q=0.8"}
KINDS = {"pdf": "application/pdf", "html": "text/html; charset=utf-8", "json": ""}


@pytest.fixture
async def owner(platform: Any) -> Any:
    """Somebody with a finished session."""
    key = (await platform.send("POST", "/api/agents", json={"name": "Ada"})).json()["api_key"]
    headers = {"authorization": f"Bearer {key}"}
    ada = (await platform.send("GET", "/api/agents/me", headers=headers)).json()["id"]

    def engine(_game: str, call: Any) -> Any:
        if call.target != SESSION or call.agent != ada:
            return 404, {"code": "not_found", "detail": "", "status": 404, "title": ""}
        asked = json.loads(call.body)["query"]["format"]
        return Answer(0, 200, f"a {asked}".encode(), KINDS[asked])

    platform.bus.engine = engine
    return headers


async def address(platform: Any, headers: dict[str, str], path: str = PDF) -> str:
    made = await platform.send("POST", "/api/files", json={"path": path}, headers=headers)
    assert made.status_code == 201, made.text
    assert made.headers["cache-control"] == "no-store"
    assert made.json()["seconds"] == 300
    return str(made.json()["url"]).removeprefix("http://gateway")


@pytest.mark.parametrize("kind", KINDS)
async def test_an_address_opens_its_file_without_a_key(platform: Any, owner: dict[str, str], kind: str) -> None:
    url = await address(platform, owner, PDF.replace("pdf", kind))
    for _ in range(2):
        sent = await platform.send("GET", url, headers=BROWSER)
        assert (sent.status_code, sent.text) == (200, f"a {kind}")
        assert sent.headers["content-disposition"] == f'attachment; filename="{SESSION}.{kind}"'
        assert sent.headers["cache-control"] == "no-store"
        assert sent.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        f"/api/sessions/{SESSION}", "/api/sessions", f"/api/sessions/{SESSION}/stream", "/api/agents/me", "/",
        f"/api/sessions/{SESSION}/report?format=exe", f"http://elsewhere{PDF}", f"//elsewhere{PDF}", f"http://[{PDF}",
        "/api/sessions/ox-0190c3f8-1111-7222-8333-444455556666/report",
        "/api/games/ox-0190c3f8-1111-7222-8333-444455556666/log", "/api/files/x", "",
    ],
)  # fmt: skip
async def test_only_files_have_addresses(platform: Any, owner: dict[str, str], problem: Any, path: str) -> None:
    assert problem(await platform.send("POST", "/api/files", json={"path": path}, headers=owner))[0] == 400
    assert problem(await platform.send("POST", "/api/files", json={"path": PDF})) == (401, "unauthorized")


async def test_an_address_shows_what_its_owner_may_read_and_nothing_else(platform: Any, owner: dict[str, str]) -> None:
    other = (await platform.send("POST", "/api/agents", json={"name": "Bo"})).json()["api_key"]
    url = await address(platform, {"authorization": f"Bearer {other}"})
    assert (await platform.send("GET", url)).status_code == 404
    mine = await address(platform, owner)
    assert (await platform.send("GET", f"{mine}x")).status_code == 404
    assert (await platform.send("GET", f"{mine}/../report")).status_code == 404


@pytest.mark.parametrize(("accept", "kind"), [("text/html", "text/html"), ("*/*", "application/problem+json")])
async def test_an_expired_address_says_so(platform: Any, owner: dict[str, str], accept: str, kind: str) -> None:
    url = await address(platform, owner)
    platform.store.file_links.clear()
    gone = await platform.send("GET", url, headers={"accept": accept})
    assert gone.status_code == 404
    assert gone.headers["content-type"].startswith(kind)
    assert gone.headers["cache-control"] == "no-store"
    assert gone.headers["referrer-policy"] == "no-referrer"


async def test_a_token_is_in_no_log_line_metric_or_span(
    platform: Any,
    owner: dict[str, str],
    spans: InMemorySpanExporter,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    url = await address(platform, owner)
    token = url.rpartition("/")[2]
    with caplog.at_level(logging.DEBUG):
        await platform.send("GET", url)
        await platform.send("GET", f"{url}/?{token}", headers=BROWSER)
        await platform.send("POST", url)
        platform.bus.engine = lambda _game, _call: ConnectionError("away")
        assert (await platform.send("GET", url)).status_code == 503
        platform.bus.engine = lambda _game, _call: ValueError("a bug")
        assert (await platform.send("GET", url)).status_code >= 500
        metrics = (await platform.send("GET", "/metrics")).text
    assert 'route="open_file"' in metrics
    said = [record.getMessage() for record in caplog.records if record.name not in ("httpx", "httpcore")]
    traced = [span.to_json() for span in spans.get_finished_spans()]
    assert any('"open_file"' in span for span in traced)
    assert token not in "".join([*said, *capfd.readouterr(), metrics, *traced])
    assert platform.store.file_links[token] == FileLink((await _id(platform, owner)), PDF)


async def _id(platform: Any, headers: dict[str, str]) -> str:
    return str((await platform.send("GET", "/api/agents/me", headers=headers)).json()["id"])
