"""Legal sessions on a whole platform: with a model over HTTP that fails in every way, and with parts killed."""

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from typing import Any

import httpx
import msgspec
from playmolt_cli.games import deciders
from playmolt_core.db.pool import open_pool
from playmolt_core.game.fold import step
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.sealing import ToolCodec
from playmolt_core.log.verify import verify
from playmolt_core.vault.key_file import KeyFile
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.vault import Vault
from playmolt_legal.report.report import report

from core.tests.llm.fake_server import Canned, FakeServer, fenced, hang, reply, status
from tests.integration.contract import heard, judged
from tests.integration.legal.person import LEASE, Person, Roles, in_role, round1, said
from tests.platforms import Stack

StackFactory = Callable[..., Stack]
ORDER = [
    "FACTS_STIPULATE", "JUDGE_R1", "CLAIMANT_R1", "OPPOSING_R1", "VERIFIER_R1",
    "OPPOSING_R2", "CLAIMANT_R2", "JUDGE_R2", "VERIFIER_R2",
    "OPPOSING_R3", "CLAIMANT_R3", "JUDGE_R3", "VERIFIER_R3",
]  # fmt: skip


def turns(server: FakeServer) -> list[tuple[str, str]]:
    return [(turn, kind) for _, turn, kind in (asked.turn.split(" ") for asked in server.received)]


async def records(stack: Stack, session: str) -> list[Any]:
    pool = await open_pool(stack.run.database_url)
    log = PostgresLog(pool, codec=ToolCodec(Vault(PgKeyRows(pool), KeyFile(stack.folder.seal_keys))))
    stored = await log.load(session)
    assert stored is not None
    assert (await verify(log, deciders())).diverged == 0
    await pool.close()
    return list(stored.records)


async def test_a_civil_session_is_argued_in_order_and_its_report_replays_without_a_model(
    platform: Stack, server: FakeServer
) -> None:
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        session = await person.argue()
        assert [turn["phase"] for turn in session["turns"]] == ORDER[1:]
        told = await person.finish()
        assert turns(server) == [(phase, "ask") for phase in ORDER]
        assert {asked.turn.split(" ")[0] for asked in server.received} == {person.session}
        asked = len(server.received)
        stored = await records(platform, person.session)
        rules = deciders()["legal"]
        again = report(reduce(partial(step, rules), stored, rules.initial(person.session)))
        assert msgspec.json.decode(msgspec.json.encode(again)) == told
        assert len(server.received) == asked
        attempts = [msgspec.json.decode(r.data) for r in stored if r.type == "attempt_made"]
        assert [attempt["attempt"]["outcome"] for attempt in attempts] == ["ok"] * len(ORDER)
        assert all(attempt["attempt"]["reply"] and attempt["attempt"]["usage"] for attempt in attempts)


async def test_transport_faults_are_tried_again_and_then_fail_visibly(platform: Stack, server: FakeServer) -> None:
    server.script(status(429, retry_after="0.1"), status(500))
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        await person.gate("round1")
        assert turns(server)[:3] == [("FACTS_STIPULATE", "ask")] * 3
        server.script(*[status(503, retry_after="0")] * 4)
        await person.steer(**round1())
        failed = (await person.until(lambda session: session["failed"]))["failed"]
        assert (failed["phase"], failed["code"], failed["attempts"]) == ("OPPOSING_R2", "model_unavailable", 4)
        before = len(server.received)
        await asyncio.sleep(1.2)
        assert len(server.received) == before, "a failed turn is not asked again by itself"
        assert (await person.post(f"/api/sessions/{person.session}/retry")).status_code == 200
        await person.gate("round2")
        nothing = await person.post(f"/api/sessions/{person.session}/retry")
        assert (nothing.status_code, nothing.json()["code"]) == (409, "nothing_to_retry")


async def test_a_reply_that_does_not_parse_is_repaired_twice_and_then_fails(
    platform: Stack, server: FakeServer
) -> None:
    good = in_role("FACTS_STIPULATE", "civil", None)
    server.script(reply("no JSON at all"), reply('{"ConfirmedFacts": 1}'), fenced(good))
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        await person.gate("round1")
        assert [kind for turn, kind in turns(server) if turn == "FACTS_STIPULATE"] == ["ask", "repair", "repair"]
        server.script(*[reply("still no JSON")] * 3)
        await person.steer(**round1())
        failed = (await person.until(lambda session: session["failed"]))["failed"]
        assert (failed["code"], failed["attempts"]) == ("invalid_reply", 3)
        server.script(*[reply(refusal="I will not")] * 3)
        await person.post(f"/api/sessions/{person.session}/retry")
        failed = await person.until(lambda session: session["failed"] and session["failed"]["code"] == "refused")
        assert failed["failed"]["attempts"] == 3
        server.script(*[only_thought()] * 3)
        await person.post(f"/api/sessions/{person.session}/retry")
        failed = await person.until(lambda session: session["failed"] and session["failed"]["code"] == "invalid_reply")
        assert "the model only thought, in `reasoning_content`;" in failed["failed"]["detail"]


def only_thought() -> Canned:
    body = json.loads(reply(None).body)
    body["choices"][0]["message"]["reasoning_content"] = json.dumps(in_role("OPPOSING_R2", "civil", "deposit"))
    return Canned(body=json.dumps(body).encode())


async def test_a_prompt_too_long_for_a_record_stops_nothing(platform: Stack, server: FakeServer) -> None:
    # A bracket in what a person tells takes six bytes of a stored prompt.
    long = "[" * 20_000
    claims = LEASE["opposing_claims"] + "[" * 10_000
    questions = [{"text": f"What is known of point {letter}?"} for letter in "abc"]
    server.script(reply(json.dumps(in_role("FACTS_STIPULATE", "civil", None) | {"MissingFactsQuestions": questions})))
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell(LEASE | {"overview": long, "acts": long, "opposing_claims": claims})
        await person.gate("facts")
        await person.steer(gate="facts", choice="add_facts", facts={"text": long})
        await person.gate("round1")
        assert turns(server) == [(phase, "ask") for phase in ("FACTS_STIPULATE", *ORDER[:5])]
        stored = await records(platform, person.session)
        attempts = [msgspec.json.decode(r.data)["attempt"] for r in stored if r.type == "attempt_made"]
        assert len(attempts) == len(server.received)
        whole, *cut = (attempt["request"]["messages"][1] for attempt in attempts)
        assert whole == server.received[0].body["messages"][1]
        sent = [str(asked.body["messages"][1]["content"]).encode() for asked in server.received[1:]]
        assert [message["sha256"] for message in cut] == [hashlib.sha256(content).hexdigest() for content in sent]


async def test_a_hit_is_rewritten_exactly_once_and_then_flagged(platform: Stack, server: FakeServer) -> None:
    rash = in_role("CLAIMANT_R1", "civil", None)
    rash["Claims"] = [said("we will definitely win")]
    roles = Roles()
    roles.first["CLAIMANT_R1"] = [reply(json.dumps(rash)), reply(json.dumps(rash))]
    server.otherwise = roles
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        session = await person.gate("round1")
        assert [kind for turn, kind in turns(server) if turn == "CLAIMANT_R1"] == ["ask", "rewrite"]
        turn = next(turn for turn in session["turns"] if turn["phase"] == "CLAIMANT_R1")
        assert turn["draft"] is not None
        assert [hit["check"] for hit in turn["unresolved"]] == ["certain_advice"]
        verifier = next(turn for turn in session["turns"] if turn["phase"] == "VERIFIER_R1")
        assert verifier["gate_status"] == "Conditional", "no Go over an unresolved hit"


async def test_a_killed_orchestrator_loses_and_doubles_nothing(platform: Stack, server: FakeServer) -> None:
    roles = Roles()
    roles.first["OPPOSING_R1"] = [hang()]
    server.otherwise = roles
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        async with asyncio.timeout(120):
            while ("OPPOSING_R1", "ask") not in turns(server):
                await asyncio.sleep(0.05)
        platform.kill("legal-orchestrator-1")
        session = await person.gate("round1")
        assert [turn["phase"] for turn in session["turns"]] == ORDER[1:5]
        assert Counter(turns(server))["OPPOSING_R1", "ask"] == 2
        assert {count for turn, count in Counter(turns(server)).items() if turn[0] != "OPPOSING_R1"} == {1}
        await records(platform, person.session)


async def test_every_part_may_be_killed_while_a_session_goes_on(
    stack: StackFactory, server: FakeServer, catalogue: Path
) -> None:
    running = stack("--engines", "2", PLAYMOLT_MODELS=str(catalogue))
    async with Person(running.run.gateway) as person:
        await person.open("criminal", model="fake")
        server.otherwise = Roles("criminal")
        await person.tell()
        for name in ("postgres", "nats", "gateway-1", "legal-orchestrator-2"):
            running.kill(name)
            await asyncio.sleep(0.7)
        await person.argue("criminal")
        told = await person.finish()
        running.kill_tree()
        restarted = running.start()
        await person.client.aclose()
        person.client = httpx.AsyncClient(base_url=restarted.run.gateway, timeout=40, event_hooks=judged())
        again = await person.get(f"/api/sessions/{person.session}/report")
        assert again.json() == told
        recorded = [r for r in await records(restarted, person.session) if r.type == "turn_recorded"]
        assert [msgspec.json.decode(r.data)["phase"] for r in recorded] == ORDER[1:]


async def test_a_session_is_its_owners_alone(platform: Stack) -> None:
    async with Person(platform.run.gateway) as owner, Person(platform.run.gateway) as stranger:
        opened = await owner.open()
        await owner.tell()
        await owner.gate("round1")
        for path in ("", "/report", "/stream"):
            assert (await stranger.get(f"/api/sessions/{owner.session}{path}")).status_code == 404
        for path, body in (("facts", {}), ("steering", round1()), ("retry", {})):
            answer = await stranger.post(f"/api/sessions/{owner.session}/{path}", body)
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
        unknown = await stranger.get("/api/sessions/legal-00000000-0000-0000-0000-000000000000")
        strange = await stranger.get(f"/api/sessions/{owner.session}")
        assert unknown.json() == strange.json(), "what is another's looks like what is not there"
        assert (await stranger.get("/api/sessions")).json() == {"sessions": []}
        assert [s["id"] for s in (await owner.get("/api/sessions")).json()["sessions"]] == [opened["id"]]
        for path in ("state", "events", "stream", "log"):
            assert (await owner.get(f"/api/games/{owner.session}/{path}")).status_code == 404
        listed = (await owner.get("/api/games")).json()["games"]
        assert owner.session not in json.dumps(listed)
    async with httpx.AsyncClient(base_url=platform.run.spectator, timeout=60) as watcher:
        assert (await watcher.get(f"/sse/games/{owner.session}")).status_code == 404


async def test_the_operator_sees_and_ends_a_session(platform: Stack) -> None:
    async with Person(platform.run.gateway) as owner, Person(platform.run.gateway) as stranger:
        await owner.open()
        path, key = f"/api/admin/games/{owner.session}", {"Authorization": f"Bearer {platform.run.operator_key}"}
        assert (await stranger.get(path)).status_code == 403
        async with httpx.AsyncClient(base_url=platform.run.gateway, headers=key, timeout=60) as operator:
            assert (await operator.get(path)).json()["gameType"] == "legal"
            ended = await operator.post(f"{path}/end", json={"reason": "enough"})
            assert (ended.status_code, ended.json()["phase"]) == (200, "ABORTED")
            listed = (await operator.get("/api/admin/games?gameType=legal&phase=ABORTED")).json()["games"]
            assert [line["game_id"] for line in listed] == [owner.session]
        told = await owner.get(f"/api/sessions/{owner.session}/stream")
        assert "session_done" in told.text
        assert (await owner.get(f"/api/sessions/{owner.session}")).json()["phase"] == "ABORTED"


async def test_the_stream_tells_every_version_once_and_ends(platform: Stack) -> None:
    async with Person(platform.run.gateway) as person:
        await person.open()
        live = asyncio.create_task(_stream(person))
        await person.tell()
        focus = (await person.gate("round1"))["gate"]["issues"][0]
        await person.argue(focus=focus)
        await person.finish()
        async with asyncio.timeout(60):
            seen = await live
        assert [message["version"] for message in seen] == list(range(1, len(seen) + 1))
        assert {message["session_id"] for message in seen} == {person.session}
        assert (seen[-1]["type"], seen[0]["type"]) == ("session_done", "progress")
        done = [message["phase"] for message in seen if message["type"] == "turn_done"]
        assert done == ORDER
        assert [message["gate"] for message in seen if message["type"] == "gate_opened"] == ["round1", "round2", "end"]
        assert await _stream(person) == seen, "read again from the beginning, the same bytes"


async def _stream(person: Person) -> list[dict[str, Any]]:
    return await heard(person.client, f"/api/sessions/{person.session}/stream", person.headers)


async def test_a_new_session_carries_the_facts_over(platform: Stack) -> None:
    async with Person(platform.run.gateway) as person:
        await person.open()
        await person.tell()
        focus = (await person.gate("round1"))["gate"]["issues"][0]
        before = await person.argue(focus=focus)
        ended = (await person.steer(gate="end", resolution="new_session", report_style="risk")).json()
        assert (ended["phase"], ended["failed"]) == ("FINALIZE_DONE", None)
        gone = await person.get(f"/api/sessions/{person.session}/report")
        assert (gone.status_code, gone.json()["code"]) == (409, "not_finished")
        old, person.session = person.session, ended["next_session"]
        linked = await person.now()
        assert (linked["previous_session"], linked["phase"]) == (old, "FACTS_INTAKE")
        assert linked["facts"]["evidence"] == before["facts"]["evidence"]
        assert {s["id"] for s in (await person.get("/api/sessions")).json()["sessions"]} == {old, linked["id"]}
