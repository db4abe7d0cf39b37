"""Cases that people bring over HTTP: checked, listed, played to the end, kept for as long as a session plays them."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import psutil
import pytest
from click.testing import CliRunner
from playmolt_cli.content import packs as template
from playmolt_cli.main import cli
from playmolt_core.db.content.packs import PgPacks
from playmolt_core.db.pool import open_pool
from playmolt_core.game.packs.folder import folder_files
from playmolt_schemas.canonical import Files, files_digest
from playmolt_schemas.limits import CASES_PER_KEY, PACK_BODY_BYTES

from tests.integration.conftest import OWN_SERVERS, StackFactory
from tests.integration.jury.person import Overseer
from tests.platforms import Stack

FERRY = "my-jury"
SECRETS = ("clerk", "pilot", "conclusion")
"""Words of the pack's files that no list may tell."""


class Table(NamedTuple):
    """A platform on which any key brings cases, two people of it, and its operator's key."""

    stack: Stack
    owner: Overseer
    stranger: Overseer
    operator: dict[str, str]


REPLICAS = ("--engines", "2")
KEYS_MAY = {"PLAYMOLT_JURY_CASES": "keys"}


@pytest.fixture(scope="module")
def open_to_keys(session_folder: Path) -> Iterator[Stack]:
    with Stack(session_folder / "cases", REPLICAS, {**OWN_SERVERS, **KEYS_MAY}) as running:
        yield running


@pytest.fixture
async def table(open_to_keys: Stack) -> AsyncIterator[Table]:
    async with seated(open_to_keys) as table:
        yield table


@pytest.fixture
async def table_of_its_own(stack: StackFactory) -> AsyncIterator[Table]:
    """On a platform that nobody can use after it has lost a case."""
    async with seated(stack(*REPLICAS, **KEYS_MAY)) as table:
        yield table


@asynccontextmanager
async def seated(running: Stack) -> AsyncIterator[Table]:
    async with AsyncExitStack() as entered:
        owner, stranger = [await entered.enter_async_context(Overseer(running.run.gateway)) for _ in range(2)]
        yield Table(running, owner, stranger, {"Authorization": f"Bearer {running.run.operator_key}"})


@pytest.fixture
def ferry(tmp_path: Path) -> dict[str, str]:
    """A pack with three jurors, in Chinese and Korean."""
    template.write(tmp_path / "ferry", "jury", ("zh", "ko"))
    return {path: content.decode() for path, content in folder_files(tmp_path / "ferry")[0].items()}


def _bytes(files: dict[str, str]) -> Files:
    return {path: text.encode() for path, text in files.items()}


def _renamed(files: dict[str, str], name: str) -> dict[str, str]:
    return files | {"pack.toml": files["pack.toml"].replace(f'"{FERRY}"', f'"{name}"')}


async def _bring(person: Overseer, files: Any, headers: dict[str, str] | None = None) -> httpx.Response:
    return await person.client.post("/api/jury/cases", json={"files": files}, headers=headers or person.headers)


async def _cases(person: Overseer, headers: dict[str, str] | None = None) -> dict[str, Any]:
    answer = await person.client.get("/api/jury/cases", headers=headers or person.headers)
    assert answer.status_code == 200, answer.text
    return {each["id"]: each for each in answer.json()["cases"]}


async def _open(person: Overseer, case: str, language: str = "ko") -> httpx.Response:
    body = {"language": language, "case": case}
    return await person.client.post("/api/jury/sessions", json=body, headers=person.headers)


async def _to_the_end(person: Overseer) -> None:
    await person.to("deliberation")
    while (await person.has())["phase"] == "deliberation":
        await person.did("deliberation/next")
    await person.post("vote", patient=True)
    await person.until(lambda session: session["phase"] == "ended")


async def test_a_case_is_played_to_the_end_through_a_restart_and_its_deletion(
    table: Table, ferry: dict[str, str]
) -> None:
    running, owner, stranger, _ = table
    uploaded = await _bring(owner, ferry)
    told = {"id": FERRY, "title": "My jury pack", "digest": files_digest(_bytes(ferry)), "languages": ["zh", "ko"]}
    assert (uploaded.status_code, uploaded.json()) == (201, told)
    again = await _bring(owner, ferry)
    assert (again.status_code, again.json()) == (200, told)
    row = (await _cases(owner))[FERRY]
    assert {"jurors", "evidence", "witnesses", "endings", "by", "created_at", "shipped"} <= row.keys()
    assert (row["jurors"], row["digest"], row["shipped"]) == (3, told["digest"], False)
    assert FERRY not in await _cases(stranger), "a case of one's own is one's own"
    assert (await _open(stranger, FERRY)).json()["errors"][0]["field"] == "case"
    assert (await _open(owner, FERRY, "en")).json()["errors"][0]["field"] == "language"

    opened = await _open(owner, FERRY)
    assert opened.status_code == 201, opened.text
    owner.session = opened.json()["id"]
    assert opened.json()["case"]["digest"] == told["digest"]
    assert len(opened.json()["jurors"]) == 3
    await owner.to("persuasion")
    running.kill_tree()
    running.start()
    await asyncio.gather(owner.moved(running.run.gateway), stranger.moved(running.run.gateway))
    assert (await owner.client.delete(f"/api/jury/cases/{FERRY}", headers=owner.headers)).status_code == 204
    assert FERRY not in await _cases(owner)
    assert (await _open(owner, FERRY)).json()["errors"][0]["field"] == "case", "no new session"
    await _to_the_end(owner)
    assert len((await owner.has("verdict"))["votes"]) == 3
    assert (await owner.has("ending"))["id"]
    for rest in ("transcript", "transcript?format=html", "picture.svg", "log", "dossier", "witnesses", "evidence"):
        assert (await owner.get(rest)).status_code == 200, rest
    address = (await owner.post("share")).json()["url"]
    for shown in (address, f"{address}/picture.png", f"{address}/log.jsonl", f"{address}/check"):
        assert (await stranger.client.get(shown)).status_code == 200, shown
    stolen = await stranger.client.get(owner.path(), headers=stranger.headers)
    assert stolen.status_code == 404

    data = ("--data", str(running.folder.path))
    replayed = await asyncio.to_thread(CliRunner().invoke, cli, ["replay", owner.session, "--open", *data])
    assert (replayed.exit_code, "EXACT" in replayed.output) == (0, True), replayed.output[-2000:]
    verified = await asyncio.to_thread(CliRunner().invoke, cli, ["verify-verdict", owner.session, *data])
    assert (verified.exit_code, "AGREE" in verified.output) == (0, True), verified.output
    checked = await asyncio.to_thread(CliRunner().invoke, cli, ["log", "check", *data])
    assert checked.exit_code == 0, checked.output[-2000:]
    seen = ("replay", owner.session, "--open", "--seat", "overseer", *data)
    told = await asyncio.to_thread(CliRunner().invoke, cli, seen)
    assert (told.exit_code, "EXACT" in told.output) == (0, True), told.output[-2000:]
    redecided = await asyncio.to_thread(CliRunner().invoke, cli, ["log", "check", "--redecide", *data])
    assert redecided.exit_code == 0, redecided.output[-2000:]

    erased = await owner.client.delete(owner.path(), headers=owner.headers)
    assert erased.status_code == 200, erased.text


async def test_two_engines_play_one_case_and_a_lost_one_is_never_replaced(
    table_of_its_own: Table, ferry: dict[str, str]
) -> None:
    running, owner, _, operator = table_of_its_own
    assert (await _bring(owner, ferry, operator)).status_code == 201
    sessions = [(await _open(owner, FERRY)).json()["id"] for _ in range(4)]
    for number in (1, 2):
        running.kill(f"trial-engine-{number}")
        for owner.session in sessions:
            assert (await owner.get("dossier", patient=True)).status_code == 200
        await _all_are_back(running)

    digest = files_digest(_bytes(ferry))
    await _lose(running, digest)
    for number in (1, 2):
        running.kill(f"trial-engine-{number}")
    await _all_are_back(running)
    async with asyncio.timeout(120):
        while "missing_packs" not in (ready := (await owner.client.get("/readyz")).json()):
            answer = await owner.get()
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            await asyncio.sleep(0.3)
    assert ready["missing_packs"] == [digest]
    assert digest in "".join(each.read_text() for each in running.folder.log("x").parent.glob("trial-engine*"))
    assert (await _open(owner, "", "en")).status_code == 400
    body = {"language": "en"}
    assert (await owner.client.post("/api/jury/sessions", json=body, headers=owner.headers)).status_code == 201


async def _all_are_back(running: Stack) -> None:
    async with asyncio.timeout(120), httpx.AsyncClient(base_url=running.run.gateway, timeout=60) as client:
        while (await client.get("/readyz")).status_code != 200 or not all(
            map(psutil.pid_exists, running.run.processes.values())
        ):
            await asyncio.sleep(0.1)


async def _lose(running: Stack, digest: str) -> None:
    """What a damaged database would come to."""
    pool = await open_pool(running.run.database_url)
    try:
        async with pool.transaction() as connection:
            await connection.execute("SET LOCAL session_replication_role = replica")
            await connection.execute("DELETE FROM pack.files WHERE digest = $1", digest)
        assert await PgPacks(pool).files(digest) is None
    finally:
        await pool.close()


async def test_what_is_wrong_is_told_and_nothing_is_kept(table: Table, ferry: dict[str, str]) -> None:
    _, owner, stranger, operator = table
    faulty = ferry | {"ko/case.toml": ferry["ko/case.toml"].replace("title", "titel", 1)}
    answer = await _bring(owner, faulty)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_form")
    assert {"field": "files.ko/case.toml", "code": "unknown_key", "line": 1} in [
        {name: each[name] for name in ("field", "code", "line")} for each in answer.json()["errors"]
    ]
    surrogate = await owner.client.post(
        "/api/jury/cases", content=b'{"files": {"pack.toml": "\\ud800"}}', headers=owner.headers
    )
    assert (surrogate.status_code, surrogate.json()["errors"][0]["code"]) == (422, "syntax")
    for body in ({}, {"files": []}, {"files": {}}, {"files": {"pack.toml": 1}}, {"files": ferry, "more": 1}, []):
        refused = await owner.client.post("/api/jury/cases", json=body, headers=owner.headers)
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request"), body
    long = await owner.client.post("/api/jury/cases", content=b" " * (PACK_BODY_BYTES + 1), headers=owner.headers)
    assert (long.status_code, long.json()["code"]) == (413, "body_too_large")
    large = await _bring(owner, ferry | {f"ko/{n}.toml": "#" * 200_000 for n in range(7)})
    assert {each["code"] for each in large.json()["errors"]} >= {"out_of_bounds", "unknown_file"}
    shipped = next(each["id"] for each in (await _cases(owner)).values() if each["shipped"])
    for name in (shipped, "the-operators"):
        assert (await _bring(owner, _renamed(ferry, "the-operators"), operator)).status_code in (200, 201)
        taken = await _bring(owner, _renamed(ferry, name))
        assert (taken.status_code, taken.json()["errors"][0]["field"]) == (422, "files.pack.toml")
        assert taken.json()["errors"][0]["line"] == 3
    nobody = await owner.client.get("/api/jury/cases")
    assert nobody.status_code == 401
    missing = await stranger.client.delete("/api/jury/cases/the-operators", headers=stranger.headers)
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    listed = (await owner.client.get("/api/jury/cases", headers=owner.headers)).text
    assert not [secret for secret in SECRETS if secret in listed]

    for number in range(CASES_PER_KEY):
        assert (await _bring(owner, _renamed(ferry, f"case-{number:02}"))).status_code == 201
    full = await _bring(owner, _renamed(ferry, "one-more"))
    assert (full.status_code, full.json()["code"]) == (429, "rate_limited")
    newer = _renamed(ferry, "case-00") | {"ko/case.toml": ferry["ko/case.toml"] + "\n"}
    assert (await _bring(owner, newer)).status_code == 201, "the newest of an id counts"
    assert (await _cases(owner))["case-00"]["digest"] == files_digest(_bytes(newer))
    assert len(await _cases(owner)) == 2 + CASES_PER_KEY
    assert (await owner.client.delete("/api/jury/cases/case-00", headers=operator)).status_code == 204
    assert "case-00" not in await _cases(owner)


async def test_only_the_operator_brings_cases_unless_keys_may(running: Stack, ferry: dict[str, str]) -> None:
    async with Overseer(running.run.gateway) as person:
        operator = {"Authorization": f"Bearer {running.run.operator_key}"}
        refused = await _bring(person, ferry)
        assert (refused.status_code, refused.json()["code"]) == (403, "operator_only")
        assert (await _bring(person, ferry, operator)).status_code in (200, 201)
        assert (await _cases(person))[FERRY]["by"] == "operator"
        opened = await _open(person, FERRY, "zh")
        assert opened.status_code == 201, opened.text
        words = ("jury", "play", "--auto", "--json", "--case", FERRY, "--language", "ko")
        played = await asyncio.to_thread(CliRunner().invoke, cli, [*words, "--data", str(running.folder.path)])
        assert played.exit_code == 0, played.output[-2000:]
        assert len(json.loads(played.stdout.splitlines()[-1])["verdict"]["votes"]) == 3
        assert (await person.client.delete(f"/api/jury/cases/{FERRY}", headers=operator)).status_code == 204
