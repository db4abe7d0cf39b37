"""A legal session's first round and talks with jurors, by a real, very small model: nothing is made up.

Opt-in, because it fetches wheels and takes minutes: `REAL_MODEL=1 pytest tests/integration/models`, or `-m real_model`.
"""

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from playmolt_core.db.pool import open_pool
from playmolt_core.llm.parsing import Parsed, parse_object
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.sealing import ToolCodec
from playmolt_core.vault.key_file import KeyFile
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.vault import Vault
from playmolt_legal import outputs

from tests.integration.jury.person import JURORS, Overseer
from tests.integration.legal.person import Person
from tests.integration.models.small_model import install, serving
from tests.platforms import Stack

ROUND = ["JUDGE_R1", "CLAIMANT_R1", "OPPOSING_R1", "VERIFIER_R1"]
RETRIES = 2
TURN_SECONDS = 600
SMALL = """model = "small"
concurrent = 1
timeout_s = 900
reply_tokens = 600
"""

pytestmark = [pytest.mark.real_model, pytest.mark.timeout(900)]


@pytest.fixture
def base_url(folder: Path) -> Iterator[str]:
    with serving(install(folder / "venv"), folder / "model.log") as url:
        yield url


async def test_every_turn_of_a_small_model_is_recorded_as_it_was_said_or_fails_visibly(
    stack: Callable[..., Stack], folder: Path, base_url: str
) -> None:
    catalogue = folder / "models.toml"
    catalogue.write_text(f'[models.small]\nbase_url = "{base_url}"\n{SMALL}')
    running = stack(PLAYMOLT_MODELS=str(catalogue))
    async with Person(running.run.gateway) as person:
        await person.open("criminal", model="small")
        await person.tell()
        session = await play(person)
        report = await person.get(f"/api/sessions/{person.session}/report")
        assert (report.status_code, report.json()["code"]) == (409, "not_finished")
    said = await events(running, person.session)
    # What was answered was held to the schema; a reply that was cut is none.
    assert {attempt["decoding"] for attempt in attempts(said) if attempt["outcome"] == "ok"} <= {"json_schema"}
    assert nothing_is_made_up(said) == len(session["turns"])


async def test_jurors_of_a_small_model_answer_what_it_said_or_fail_visibly(
    stack: Callable[..., Stack], folder: Path, base_url: str
) -> None:
    catalogue = folder / "models.toml"
    catalogue.write_text(f'[models.small]\nbase_url = "{base_url}"\n{SMALL}')
    running = stack(PLAYMOLT_MODELS=str(catalogue))
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open("en", model="small")
        await overseer.to("persuasion")
        answers = [await heard_out(overseer, juror) for juror in JURORS[:3]]
    said = await events(running, overseer.session)
    replies = [answer.json()["reply"] for answer in answers if answer.status_code == 200]
    assert {answer.status_code for answer in answers} <= {200, 503}
    told = [event["attempt"]["reply"] for kind, event in said if kind == "attempt_made"]
    assert len(told) >= len(answers)
    assert all(any(text in reply for reply in told) for text in replies), "no word of a juror is another's"


async def heard_out(overseer: Overseer, juror: str) -> httpx.Response:
    """Talk to a juror, and ask again for as long as it thinks."""
    key = uuid.uuid4().hex
    async with asyncio.timeout(TURN_SECONDS):
        while True:
            answer = await overseer.chat(juror, "Nobody can say who opened the valve. Doubt protects her.", key=key)
            if answer.status_code != 202:
                return answer
            await asyncio.sleep(1)


async def play(person: Person) -> dict[str, Any]:
    """Play to the gate behind round 1, retrying failed turns a bounded number of times; gives the session as left."""
    retried = 0
    while True:
        session = await person.until(wants_the_person, TURN_SECONDS)
        spoken = [turn["phase"] for turn in session["turns"]]
        assert spoken == ROUND[: len(spoken)], "no turn is skipped"
        if session["failed"] is None:
            if session["gate"]["name"] == "round1":
                assert spoken == ROUND
                return session
            answer = await person.steer(gate="facts", choice="proceed_unclear")
        else:
            due = {ROUND[len(spoken)]} | (set() if spoken else {"FACTS_STIPULATE"})
            assert session["failed"]["phase"] == session["phase"]
            assert session["phase"] in due
            if retried == RETRIES:
                return session
            retried += 1
            answer = await person.post(f"/api/sessions/{person.session}/retry")
        assert answer.status_code == 200, answer.text


def wants_the_person(session: dict[str, Any]) -> bool:
    return bool(session["gate"] or session["failed"])


async def events(stack: Stack, session: str) -> list[tuple[str, dict[str, Any]]]:
    """What the log holds of a session, opened."""
    pool = await open_pool(stack.run.database_url)
    stored = await PostgresLog(pool, codec=ToolCodec(Vault(PgKeyRows(pool), KeyFile(stack.folder.seal_keys)))).load(
        session
    )
    await pool.close()
    assert stored is not None
    return [(record.type, msgspec.json.decode(record.data)) for record in stored.records]


def attempts(said: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    return [event["attempt"] for kind, event in said if kind == "attempt_made"]


def nothing_is_made_up(said: list[tuple[str, dict[str, Any]]]) -> int:
    """Count the recorded turns; each holds, word for word, what the last reply before it said."""
    recorded, reply, owed = 0, "", ""
    for kind, event in said:
        match kind:
            case "turn_started":
                reply, owed = "", event["phase"]
            case "attempt_made":
                assert event["phase"] == owed
                reply = event["attempt"]["reply"]
            case "facts_stipulated":
                texts = {item["text"] for name in ("confirmed", "disputed", "questions") for item in event[name]}
                assert all(json.dumps(text)[1:-1] in reply or text in reply for text in texts), texts
            case "turn_recorded":
                recorded += 1
                parsed = parse_object(reply)
                assert isinstance(parsed, Parsed)
                assert event["output"] == outputs.read(parsed.value, event["phase"], "criminal")
                assert event["phase"] == owed
    return recorded
