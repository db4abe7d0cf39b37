"""What a person tells in a session is found nowhere, before and after it is erased; what is planted is found."""

import asyncio
import base64
import gzip
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import asyncpg
import httpx
import nats
import pytest
from nats.js.errors import NotFoundError
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from playmolt_schemas import subjects

from tests.integration.conftest import OWN_SERVERS
from tests.integration.jury.person import Overseer
from tests.integration.legal.command import playmolt
from tests.integration.legal.person import Person as Counsel
from tests.integration.legal.person import round1, round2
from tests.integration.log.object_store import ACCESS_KEY, BUCKET, SECRET_KEY, ObjectStore
from tests.integration.platform.otlp_collector import Collector
from tests.platforms import Stack

TOLD = "qzjxkvwqfpzgxjqk"
"""A text that nothing else holds. Packed, some run of six letters of it stays whole."""
PLANTED = TOLD[::-1]
EVERYWHERE = {"postgres", "wal", "nats", "messages", "records", "export", "archive", "traces"}


class Searched:
    """A platform, the store that its archives go to, and the collector of its traces."""

    def __init__(self, stack: Stack, store: ObjectStore, collector: Collector) -> None:
        self.stack, self.run, self.store, self.collector = stack, stack.run, store, collector

    def archive(self, kind: str) -> bytes:
        """Move what is over into the store; what NATS holds does not keep it."""
        told = {
            "PLAYMOLT_STREAM_EVENTS": "1", "PLAYMOLT_ARCHIVE_URL": f"s3://{BUCKET}/{kind}",
            "PLAYMOLT_ARCHIVE_ENDPOINT": self.store.endpoint, "PLAYMOLT_ARCHIVE_ACCESS_KEY": ACCESS_KEY,
            "PLAYMOLT_ARCHIVE_SECRET_KEY": SECRET_KEY,
        }  # fmt: skip
        return playmolt(self.stack, "log", "archive", "--idle-days", "0", "--game", kind, **told)

    async def found(self, text: str) -> set[str]:
        """Where a text is, or six letters of it."""
        held = re.compile(b"|".join(text[at : at + 6].encode() for at in range(len(text) - 5))).search
        anchors = str(self.stack.folder.path / "anchors.jsonl")
        key = str(self.stack.folder.path / "anchor-key.pem")
        playmolt(self.stack, "log", "anchor", "--out", anchors, "--key", key)
        async with httpx.AsyncClient(timeout=30) as client:
            figures = [(await client.get(url.replace("/readyz", "/metrics"))).content for url in self.urls()]
            records = await self.records(client)
        places = {
            "export": [playmolt(self.stack, "log", "export", "--running")],
            "metrics": figures,
            "records": records,
            "messages": await self.messages(),
            "archive": self.archived(),
            "traces": self.collector.sent,
        }
        return {place for place, held_there in places.items() if any(map(held, held_there))} | {
            "wal" if "pg_wal" in path.parts else path.relative_to(self.stack.folder.path).parts[0]
            for path, content in files(self.stack.folder.path)
            if held(content)
        }

    async def copied(self) -> None:
        """Wait until NATS holds all that the log does."""
        operator = {"Authorization": f"Bearer {self.run.operator_key}"}
        async with asyncio.timeout(60), httpx.AsyncClient(timeout=60, headers=operator) as client:
            while True:
                lag = (await client.get(f"{self.run.gateway}/api/admin/lag")).json()
                if lag["events"] == lag["spectate"] == lag["log"]:
                    return
                await asyncio.sleep(0.1)

    def urls(self) -> list[str]:
        """What shows figures: every service, and not the chain."""
        return [url for name, url in self.run.health.items() if name != "evm"]

    async def records(self, client: httpx.AsyncClient) -> list[bytes]:
        """What the operator is shown of the log."""
        pages, after = list[bytes](), "0"
        operator = {"Authorization": f"Bearer {self.run.operator_key}"}
        while True:
            asked = f"{self.run.gateway}/api/admin/log?after={after}&limit=1000"
            answer = await client.get(asked, headers=operator)
            assert answer.status_code == 200, answer.text
            pages.append(answer.content)
            if not (document := answer.json())["records"]:
                return pages
            after = document["next_after"]

    async def messages(self) -> list[bytes]:
        """What NATS holds, wherever it keeps it."""
        login = {"user": self.run.nats_user, "password": self.run.nats_password}
        connection = await nats.connect(self.run.nats_url, **login)
        calls, held = connection.jetstream(timeout=60), list[bytes]()
        for stream in (subjects.EVENTS_STREAM, subjects.SPECTATE_STREAM):
            state = (await calls.stream_info(stream)).state
            for sequence in range(state.first_seq, state.last_seq + 1):
                try:
                    message = await calls.get_msg(stream, sequence)
                except NotFoundError:  # a record that nobody is shown has no message there
                    continue
                held.append((message.data or b"") + repr(message.headers).encode())
        await connection.close()
        return held

    def archived(self) -> list[bytes]:
        client = self.store.client()
        listed = client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
        return [gzip.decompress(client.get_object(Bucket=BUCKET, Key=one["Key"])["Body"].read()) for one in listed]

    def span(self, text: str) -> None:
        """Export a span that says a text, as a service does."""
        provider = TracerProvider(resource=Resource({"service.name": "planted"}))
        provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(f"{self.collector.url}/v1/traces")))
        provider.get_tracer("planted").start_span("planted", attributes={"text": text}).end()
        provider.shutdown()


def files(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """The files of a folder, whose programs replace and delete some meanwhile."""
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                yield Path(place, name), Path(place, name).read_bytes()


@pytest.fixture(scope="module")
def running(session_folder: Path) -> Iterator[Searched]:
    collector = Collector()
    with collector.listening(), ObjectStore() as store:
        told = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url, "OTEL_BSP_SCHEDULE_DELAY": "200",
            "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_AND_EVENT", "PLAYMOLT_STREAM_STORAGE": "file",
        }  # fmt: skip
        with Stack(session_folder / "searched", (), {**OWN_SERVERS, **told}) as stack:
            yield Searched(stack, store, collector)


async def plays(running: Searched, comment: str) -> None:
    """A public game in which everybody comments the same; it ends early."""
    async with httpx.AsyncClient(base_url=running.run.gateway, timeout=30) as client:
        seats, game = list[dict[str, str]](), ""
        for number in range(5):
            made = (await client.post("/api/agents", json={"name": f"seat {number}"})).json()
            seats.append({"Authorization": f"Bearer {made['api_key']}"})
            game = (await client.post("/api/games/join", json={"gameType": "ox"}, headers=seats[-1])).json()["game_id"]
        for seat in seats:
            body = {"type": "first_choice", "choice": "O", "comment": comment}
            done = await client.post(f"/api/games/{game}/actions", json=body, headers=seat)
            assert done.status_code == 200, done.text
        operator = {"Authorization": f"Bearer {running.run.operator_key}"}
        ended = await client.post(f"/api/admin/games/{game}/end", json={"reason": "enough"}, headers=operator)
        assert ended.status_code == 200, ended.text


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


async def test_what_is_planted_is_found_in_every_place(running: Searched) -> None:
    planted = f"{PLANTED} " + "Something else stands here. " * 200
    for packing in await packings(running):
        made = f"CREATE TABLE planted (packed text COMPRESSION {packing}); INSERT INTO planted VALUES ('{planted}')"
        await run_sql(running, f"{made}; DELETE FROM planted; CHECKPOINT")
        assert {"postgres", "wal"} <= await running.found(PLANTED), f"the search finds a dead row packed by {packing}"
        await run_sql(running, "DROP TABLE planted; CHECKPOINT")
    await plays(running, PLANTED)
    running.span(PLANTED)
    await running.copied()
    await run_sql(running, "CHECKPOINT")
    assert await running.found(PLANTED) == EVERYWHERE - {"archive"}
    await plays(running, "what comes after it, because the newest records stay")
    assert b" deleted" in running.archive("ox")
    assert "archive" in await running.found(PLANTED)


async def test_what_a_person_tells_is_found_nowhere_before_and_after_it_is_erased(running: Searched) -> None:
    gateway = running.run.gateway
    sessions = [await counsel_tells(gateway), await overseer_tells(gateway), await counsel_tells(gateway)]
    archived, _ = sessions.pop(0)
    session = archived.rpartition("/")[2]
    assert await running.found(TOLD) == set()
    running.archive("legal")
    assert [each for each in running.archived() if session.encode() in each], "it is over, and others came after it"
    async with httpx.AsyncClient(base_url=gateway, timeout=30) as client:
        for path, headers in sessions:
            erased = await client.delete(path, headers=headers)
            assert erased.status_code == 200, erased.text
    playmolt(running.stack, "erase", session, "--reason", "request")
    await run_sql(running, "CHECKPOINT")
    asked = {"chat scripted", "commit"}
    running.collector.until(lambda: asked <= {span.name for span in running.collector.spans})
    assert await running.found(TOLD) == set()
    assert b'"breaks":[]' in playmolt(running.stack, "log", "verify", "--json")


async def packings(running: Searched) -> list[str]:
    """What this build of Postgres packs long values by: pglz, and lz4 where it has that."""
    connection = await asyncpg.connect(running.run.database_url)
    try:
        asked = "SELECT enumvals FROM pg_settings WHERE name = 'default_toast_compression'"
        return list(await connection.fetchval(asked))
    finally:
        await connection.close()


async def run_sql(running: Searched, statements: str) -> None:
    connection = await asyncpg.connect(running.run.database_url)
    try:
        await connection.execute(statements)
    finally:
        await connection.close()
