"""Erasing on a whole platform: who may, what everybody is told afterwards, and what is left."""

import re
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from playmolt_schemas.routes import jury, legal

from tests.integration.legal.command import playmolt
from tests.integration.legal.person import Person as Counsel
from tests.platforms import Stack

MARKER = "xylograph-quandary"
UPLOAD = {"title": "a letter", "kind": "evidence", "media_type": "text/plain", "content": "YQ=="}
KINDS = {"legal": legal.LEGAL, "jury": jury.JURY}


def calls(kind: str, session: str) -> Iterator[tuple[str, str]]:
    """Every call about a session but the one that erases it."""
    for route in KINDS[kind]:
        if "{id}" in route.path and not route.erases:
            yield route.method, re.sub(r"\{\w+\}", "x", route.path.replace("{id}", session))
    if kind == "legal":
        yield from (("GET", f"/api/sessions/{session}/report?format={each}") for each in ("md", "docx", "pdf", "json"))


@pytest.fixture(scope="module")
def running(session_folder: Path) -> Iterator[Stack]:
    with Stack(session_folder / "erasing", ("--gateways", "2"), {"DATABASE_URL": "", "NATS_URL": ""}) as running:
        yield running


@pytest.fixture
def clients() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


class Person:
    def __init__(self, run: Any, clients: ExitStack) -> None:
        self.client = clients.enter_context(httpx.Client(base_url=run.gateway, timeout=30))
        registered = self.client.post("/api/agents", json={"name": f"p-{uuid.uuid4().hex[:8]}"}).json()
        self.id, self.client.headers["Authorization"] = registered["id"], f"Bearer {registered['api_key']}"

    def opened(self, kind: str) -> str:
        path = "/api/sessions" if kind == "legal" else "/api/jury/sessions"
        legal = {"title": MARKER, "case_type": "civil", "jurisdiction": "KR", "language": "en", "model": "scripted"}
        answer = self.client.post(path, json=legal if kind == "legal" else {"language": "en"})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])


def operator(run: Any, method: str, path: str) -> Any:
    headers = {"Authorization": f"Bearer {run.operator_key}"}
    return httpx.request(method, f"{run.gateway}{path}", headers=headers, timeout=30).json()


@pytest.mark.parametrize("kind", ["legal", "jury"])
def test_an_erased_session_is_gone_for_everybody_and_its_owner_is_told(
    running: Stack, clients: ExitStack, kind: str
) -> None:
    run, owner, other = running.run, Person(running.run, clients), Person(running.run, clients)
    session = owner.opened(kind)
    base = "/api/sessions" if kind == "legal" else "/api/jury/sessions"
    path = f"{base}/{session}"
    assert httpx.delete(f"{run.gateway}{path}", timeout=60).status_code == 401
    assert other.client.delete(path).status_code == 404
    before = other.client.get(path)
    with owner.client.stream("GET", f"{path}/stream") as feed:
        said = feed.iter_raw()
        next(said)
        erased = owner.client.delete(path)
        assert erased.status_code == 200, erased.text
        began = time.monotonic()
        for _ in said:
            pass
        assert time.monotonic() - began < 30, "an open feed ends"
    body = erased.json()
    assert (body["status"], body["id"], body["records"] >= 1) == ("erased", session, True)
    assert owner.client.delete(path).json() == body == operator(run, "DELETE", path)
    about = list(calls(kind, session))
    assert len(about) > 12
    for method, call in about:
        sent = None if method != "POST" else UPLOAD if call.endswith("/evidence") else {}
        told = owner.client.request(method, call, json=sent)
        assert (told.status_code, told.json()["code"]) == (410, "erased"), (method, call, told.text)
        assert other.client.request(method, call, json=sent).status_code == 404, (method, call)
    after = other.client.get(path)
    assert (after.status_code, after.json()) == (404, before.json())
    (row,) = owner.client.get(base).json()["sessions"]
    assert row == {"id": session, "phase": "erased", "erased_at": body["at"]}
    page = operator(run, "GET", f"/api/admin/games/{session}")
    assert page["erased"] == {"at": body["at"], "by": "owner"}
    stuck = operator(run, "GET", f"/api/admin/games?gameType={kind}&stuck=true")
    assert session not in msgspec.json.encode(stuck).decode()


async def test_a_session_that_was_begun_from_it_stays_and_is_named(running: Stack) -> None:
    async with Counsel(running.run.gateway) as person:
        await person.open()
        await person.tell()
        await person.argue(focus=(await person.gate("round1"))["gate"]["issues"][0])
        ended = (await person.steer(gate="end", resolution="new_session", report_style="risk")).json()
        path, headers = f"/api/sessions/{person.session}", person.headers
        erased = (await person.client.delete(path, headers=headers)).json()
        assert erased["linked"] == ended["next_session"]
        assert (await person.client.delete(path, headers=headers)).json() == erased
        assert (await person.get(f"/api/sessions/{ended['next_session']}")).json()["facts"]["evidence"]


def test_the_command_erases_and_the_log_is_whole(running: Stack, clients: ExitStack) -> None:
    owner = Person(running.run, clients)
    session = owner.opened("legal")
    first = playmolt(running, "erase", session, "--reason", "request", "--json")
    assert msgspec.json.decode(first)["erased"][0]["again"] is False
    assert msgspec.json.decode(playmolt(running, "erase", session, "--json"))["erased"][0]["again"] is True
    assert owner.client.get(f"/api/sessions/{session}").status_code == 410
    playmolt(running, "erase", "--due", "--json")
    told = msgspec.json.decode(playmolt(running, "log", "verify", "--json"))
    assert (told["breaks"], told["erased"] >= 1, told["diverged"]) == ([], True, 0)
    assert told["streams"] == told["exact"] + told["unverified"] + told["erased"]


def test_tools_say_what_was_erased_and_do_not_fail(running: Stack, clients: ExitStack, tmp_path: Path) -> None:
    owner, copy = Person(running.run, clients), tmp_path / "log.jsonl"
    session, jury = owner.opened("legal"), owner.opened("jury")
    for path in (f"/api/sessions/{session}", f"/api/jury/sessions/{jury}"):
        assert owner.client.delete(path).status_code == 200
    assert msgspec.json.decode(playmolt(running, "replay", session, "--json"))["verdict"] == "ERASED"
    assert b"erased" in playmolt(running, "log", "check")
    assert msgspec.json.decode(playmolt(running, "log", "stats", "--json"))["erased"] >= 2
    assert msgspec.json.decode(playmolt(running, "verify-verdict", jury, "--json")) == {"session": jury, "erased": True}
    assert playmolt(running, "log", "tail", "-n", "5").count(b"\n") == 5
    lines = [msgspec.json.decode(line) for line in playmolt(running, "log", "tail", "--after=0", "--json").splitlines()]
    assert {tuple(one["data"]) for one in lines if one["stream"] in (session, jury)} == {("sealed",)}
    playmolt(running, "log", "export", "--running", "--out", str(copy))
    manifest = msgspec.json.decode(copy.with_name("log.jsonl.manifest.json").read_bytes())
    assert {session, jury} <= set(manifest["erased"])
    assert b" ERASED" in playmolt(running, "log", "verify", str(copy))


def test_after_a_restore_the_anchors_have_it_erased_again(running: Stack, clients: ExitStack, tmp_path: Path) -> None:
    owner, place = Person(running.run, clients), str(tmp_path / "anchors.jsonl")
    session = owner.opened("legal")
    assert owner.client.delete(f"/api/sessions/{session}").status_code == 200
    playmolt(running, "log", "anchor", "--out", place, "--key", str(running.folder.path / "anchor-key.pem"))
    told = msgspec.json.decode(playmolt(running, "erase", "--again", place, "--json"))
    assert {"id": session, "again": True}.items() <= next(e for e in told["erased"] if e["id"] == session).items()
