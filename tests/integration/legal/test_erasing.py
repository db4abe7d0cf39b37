"""Erasing on a whole platform: who may, what everybody is told afterwards, and what is left."""

import asyncio
import base64
import re
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import msgspec
import pytest
from playmolt_cli.local.stack import Stack

from tests.integration.jury.person import Overseer
from tests.integration.legal.person import Person as Counsel
from tests.integration.legal.person import round1, round2

MARKER = "xylograph-quandary"
GONE = ("", "/report", "/report?format=md", "/stream", "/log", "/picture.svg")
JURY_GONE = ("", "/dossier", "/evidence", "/witnesses", "/verdict", "/ending", "/transcript", "/log", "/stream")


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
    assert httpx.delete(f"{run.gateway}{path}").status_code == 401
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
        assert time.monotonic() - began < 10, "an open feed ends"
    body = erased.json()
    assert (body["status"], body["id"], body["records"] >= 1) == ("erased", session, True)
    assert owner.client.delete(path).json() == body == operator(run, "DELETE", path)
    for ending in GONE if kind == "legal" else JURY_GONE:
        told = owner.client.get(path + ending)
        assert (told.status_code, told.json()["code"]) == (410, "erased"), ending
    steps = ["/facts", "/steering", "/redo", "/retry", "/share"] if kind == "legal" else ["/phase", "/share", "/retry"]
    for step in steps:
        told = owner.client.post(path + step, json={})
        assert (told.status_code, told.json()["code"]) == (410, "erased"), step
        assert other.client.post(path + step, json={}).status_code == 404
    after = other.client.get(path)
    assert (after.status_code, after.json()) == (404, before.json())
    (row,) = owner.client.get(base).json()["sessions"]
    assert row == {"id": session, "phase": "erased", "erased_at": body["at"]}
    page = operator(run, "GET", f"/api/admin/games/{session}")
    assert page["erased"] == {"at": body["at"], "by": "owner"}
    stuck = operator(run, "GET", f"/api/admin/games?gameType={kind}&stuck=true")
    assert session not in msgspec.json.encode(stuck).decode()


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


TOLD = "qzjxkvwqfpzgxjqk"
"""A text that nothing else holds. Packed, some run of six letters of it stays whole."""
PLANTED = TOLD[::-1]


def found_in(running: Stack, text: str) -> set[str]:
    """Where a text is: in files of the database, of NATS, WAL, logs of processes, anchors, an export, figures."""
    held = re.compile(b"|".join(text[at : at + 6].encode() for at in range(len(text) - 5))).search
    places, anchors = set(), str(running.folder.path / "anchors.jsonl")
    playmolt(running, "log", "anchor", "--out", anchors, "--key", str(running.folder.path / "anchor-key.pem"))
    for path in running.folder.path.rglob("*"):
        if path.is_file() and held(path.read_bytes()):
            places.add("wal" if "pg_wal" in path.parts else path.relative_to(running.folder.path).parts[0])
    if held(playmolt(running, "log", "export", "--running")):
        places.add("export")
    if held(httpx.get(f"{running.run.gateway}/metrics", timeout=30).content):
        places.add("metrics")
    return places


async def counsel_tells(gateway: str) -> tuple[str, dict[str, str]]:
    """A legal session with the text in every field that a person fills, and in a file."""
    padded = f"{TOLD} " + "The tenant paid the deposit. " * 200
    async with Counsel(gateway) as person:
        await person.open(title=TOLD, jurisdiction=TOLD, exclusions=[TOLD])
        upload = {"title": TOLD, "kind": "evidence", "media_type": "text/plain"}
        content = base64.b64encode(padded.encode()).decode()
        uploaded = await person.post(f"/api/sessions/{person.session}/evidence", upload | {"content": content})
        assert uploaded.status_code == 201, uploaded.text
        evidence = [{"title": TOLD, "description": TOLD}]
        timeline = [{"when": TOLD, "what": TOLD, "agreed": True}]
        facts = {
            "overview": padded,
            "acts": padded,
            "opposing_claims": TOLD,
            "evidence": evidence,
            "timeline": timeline,
        }
        await person.tell(facts)
        await person.gate("round1")
        answer = await person.steer(**round1(TOLD), fact_corrections=TOLD)
        assert answer.status_code == 200, answer.text
        await person.gate("round2")
        answer = await person.steer(**round2("civil") | {"proof_priority": TOLD, "instructions": TOLD})
        assert answer.status_code == 200, answer.text
        await person.gate("end")
        answer = await person.steer(gate="end", resolution="final_report", report_style="risk", final_instructions=TOLD)
        assert answer.status_code == 200, answer.text
        async with asyncio.timeout(60):
            while (report := await person.get(f"/api/sessions/{person.session}/report")).status_code == 409:
                await asyncio.sleep(0.2)  # the last turn is asked for
        assert TOLD in report.text
        return f"/api/sessions/{person.session}", person.headers


async def overseer_tells(gateway: str) -> tuple[str, dict[str, str]]:
    """A jury with the text in what a person says to jurors, writes to one, and asks a witness in vain."""
    async with Overseer(gateway) as person:
        await person.open()
        await person.to("investigation")
        await person.refused(400, "invalid_request", "witnesses/lin_xia/talk", {"choice": TOLD})
        await person.to("persuasion")
        await person.did("chat/ophiuchus", {"text": f"There is reasonable doubt, {TOLD}."})
        await person.to("deliberation")
        await person.did("notes", {"juror_id": "radical", "text": f"Between us: {TOLD}"})
        return person.path(), person.headers


async def test_what_a_person_tells_is_found_nowhere_before_and_after_it_is_erased(running: Stack) -> None:
    gateway = running.run.gateway
    sessions = [await counsel_tells(gateway), await overseer_tells(gateway)]
    planted = f"{PLANTED} " + "Something else stands here. " * 200
    for packing in await packings(running):
        made = f"CREATE TABLE planted (packed text COMPRESSION {packing}); INSERT INTO planted VALUES ('{planted}')"
        await run_sql(running, f"{made}; DELETE FROM planted; CHECKPOINT")
        assert {"postgres", "wal"} <= found_in(running, PLANTED), f"the search finds a dead row packed by {packing}"
        await run_sql(running, "DROP TABLE planted; CHECKPOINT")
    assert found_in(running, TOLD) == set()
    async with httpx.AsyncClient(base_url=gateway, timeout=30) as client:
        for path, headers in sessions:
            erased = await client.delete(path, headers=headers)
            assert erased.status_code == 200, erased.text
    await run_sql(running, "CHECKPOINT")
    assert found_in(running, TOLD) == set()
    assert b'"breaks":[]' in playmolt(running, "log", "verify", "--json")


async def packings(running: Stack) -> list[str]:
    """What this build of Postgres packs long values by: pglz, and lz4 where it has that."""
    connection = await asyncpg.connect(running.run.database_url)
    try:
        asked = "SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'"
        return list(await connection.fetchval(asked))
    finally:
        await connection.close()


async def run_sql(running: Stack, statements: str) -> None:
    connection = await asyncpg.connect(running.run.database_url)
    try:
        await connection.execute(statements)
    finally:
        await connection.close()


def playmolt(running: Stack, *words: str) -> bytes:
    command = [sys.executable, "-m", "playmolt_cli", *words, "--data", str(running.folder.path)]
    done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr.decode() + done.stdout.decode()
    return done.stdout
