"""Budgets of a day on a whole platform: a turn waits for the next day, and a key opens so many sessions, over all
gateways."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest
from playmolt_core.db.pool import open_pool

from core.tests.llm.fake_server import FakeServer, reply
from tests.integration.jury.person import Bench, Overseer
from tests.integration.legal.person import Person, Roles, in_role
from tests.integration.models.fake_model import fake_model, platform_with
from tests.integration.platform.replica import Replica
from tests.platforms import Stack

DAY_TOKENS = 200_000
PLATFORM_DAY_TOKENS = 5 * DAY_TOKENS
DAY_SESSIONS = 1
pytestmark = pytest.mark.usefixtures("one_day")
DAY_SECONDS = 86_400
STREAM_SECONDS = 60
_TURNS = ["JUDGE_R1", "CLAIMANT_R1", "OPPOSING_R1", "VERIFIER_R1"]


@pytest.fixture(scope="module")
def model() -> Iterator[FakeServer]:
    with fake_model() as server:
        yield server


@pytest.fixture
def server(model: FakeServer) -> FakeServer:
    model.forget()
    return model


@pytest.fixture(scope="module")
def platform(session_folder: Path, model: FakeServer) -> Iterator[Stack]:
    """Two gateways, and a day that holds one session and DAY_TOKENS of a key; each test comes with keys of its own."""
    day = {
        "PLAYMOLT_KEY_DAY_TOKENS": str(DAY_TOKENS),
        "PLAYMOLT_KEY_DAY_SESSIONS": str(DAY_SESSIONS),
        "PLAYMOLT_DAY_TOKENS": str(PLATFORM_DAY_TOKENS),
    }
    with platform_with(model, session_folder / "day-budgets", "--gateways", "2", **day) as running:
        yield running


async def accounts(platform: Stack, statement: str) -> list[Any]:
    pool = await open_pool(platform.run.database_url)
    try:
        return list(await pool.fetch(statement))
    finally:
        await pool.close()


async def next_day(platform: Stack) -> None:
    """A day begins with an account on which nothing is spent."""
    assert await accounts(platform, "DELETE FROM limits.budget WHERE account LIKE 'day:%' RETURNING account")


def spent(phase: str, day: int = DAY_TOKENS) -> Any:
    """A turn that takes nearly all that a day holds."""
    return reply(json.dumps(in_role(phase, "civil", None)), usage=(day - 1_000, 500))


class Visitor(Person):
    """A person with a visitor's token."""

    async def __aenter__(self) -> Self:
        made = await self.post("/api/visitors")
        self.headers = {"Authorization": f"Bearer {made.json()['token']}"}
        return self


def asked(server: FakeServer) -> list[str]:
    return [request.turn.split(" ")[1] for request in server.received]


async def told(overseer: Overseer, kind: str) -> dict[str, Any]:
    """The first message of a kind on the stream of a session that is not over."""
    async with (
        asyncio.timeout(STREAM_SECONDS),
        overseer.client.stream("GET", overseer.path("stream?after=0"), headers=overseer.headers) as answer,
    ):
        async for line in answer.aiter_lines():
            message = json.loads(line.removeprefix("data:")) if line.startswith("data:") else {}
            if message.get("type") == kind:
                return dict(message)
    raise AssertionError(f"the stream ended without {kind}")


async def test_a_turn_beyond_the_day_fails_and_goes_on_the_next_day(platform: Stack, server: FakeServer) -> None:
    roles = Roles()
    roles.first["JUDGE_R1"] = [spent("JUDGE_R1")]
    server.otherwise = roles
    async with Person(platform.run.gateway) as person:
        await person.open(model="fake")
        await person.tell()
        stands = await person.until(lambda session: session["failed"])
        assert (stands["failed"]["phase"], stands["failed"]["code"]) == ("CLAIMANT_R1", "budget_spent")
        assert [turn["phase"] for turn in stands["turns"]] == ["JUDGE_R1"]
        before = asked(server)
        assert before == ["FACTS_STIPULATE", "JUDGE_R1"], "a model was asked for what the day does not hold"

        version = stands["version"]
        assert (await person.post(f"/api/sessions/{person.session}/retry")).status_code == 200
        again = await person.until(lambda session: session["failed"] and session["version"] > version + 1)
        assert again["failed"]["code"] == "budget_spent"
        assert asked(server) == before

        await next_day(platform)
        assert (await person.post(f"/api/sessions/{person.session}/retry")).status_code == 200
        session = await person.gate("round1")
        assert [turn["phase"] for turn in session["turns"]] == _TURNS
        assert session["turns"][0] == stands["turns"][0]
        assert asked(server) == ["FACTS_STIPULATE", *_TURNS]


async def test_a_key_opens_as_many_sessions_a_day_as_it_may_over_all_gateways(platform: Stack) -> None:
    body = {"case_type": "civil", "jurisdiction": "KR", "title": "Another", "language": "en", "model": "scripted"}
    with Replica(platform, "gateway-1", "playmolt_gateway", "PLAYMOLT_PORT") as other:
        async with Person(platform.run.gateway) as person, Person(other.url) as same:
            same.headers = person.headers
            await person.open()
            for one, path, opening in (
                (person, "/api/sessions", body),
                (same, "/api/sessions", body),
                (same, "/api/jury/sessions", {"language": "en", "model": "scripted"}),
            ):
                midnight = DAY_SECONDS - time.time() % DAY_SECONDS
                refused = await one.post(path, opening)
                assert (refused.status_code, refused.json()["code"]) == (429, "budget_spent"), refused.text
                assert abs(int(refused.headers["retry-after"]) - midnight) < 60
            assert (await same.get(f"/api/sessions/{person.session}")).status_code == 200, "it goes on"
        async with Person(other.url) as another:
            await another.open()


async def test_the_day_of_the_platform_bounds_all_visitors(platform: Stack, server: FakeServer) -> None:
    roles = Roles()
    roles.first["JUDGE_R1"] = [spent("JUDGE_R1", PLATFORM_DAY_TOKENS)]
    server.otherwise = roles
    await accounts(platform, "DELETE FROM limits.budget WHERE account LIKE 'day:%' RETURNING account")
    async with Visitor(platform.run.gateway) as first, Visitor(platform.run.gateway) as second:
        for visitor, phase in ((first, "CLAIMANT_R1"), (second, "FACTS_STIPULATE")):
            await visitor.open(model="fake")
            await visitor.tell()
            failed = (await visitor.until(lambda session: session["failed"]))["failed"]
            assert (failed["phase"], failed["code"]) == (phase, "budget_spent")
        assert asked(server) == ["FACTS_STIPULATE", "JUDGE_R1"]
        opening = {"case_type": "civil", "jurisdiction": "KR", "title": "B", "language": "en", "model": "scripted"}
        refused = await second.post("/api/sessions", opening)
        assert (refused.status_code, refused.json()["code"]) == (429, "budget_spent"), "a token counts like a key"
        await next_day(platform)
        assert (await second.post(f"/api/sessions/{second.session}/retry")).status_code == 200
        await second.gate("round1")


async def test_a_juror_that_the_day_does_not_hold_uses_nothing_up(platform: Stack, server: FakeServer) -> None:
    bench = Bench()
    server.otherwise = bench
    async with Overseer(platform.run.gateway) as overseer:
        await overseer.open(model="fake")
        await overseer.to("persuasion")
        bench.first["chat:radical"] = [reply("I have heard you.", usage=(DAY_TOKENS - 1_000, 500))]
        assert (await overseer.chat("radical")).status_code == 200
        before, asked_before = (await overseer.has())["jurors"], asked(server)
        await overseer.refused(503, "unavailable", "chat/radical", {"text": "Listen."})
        assert (await overseer.has())["jurors"] == before
        assert asked(server) == asked_before
        assert (await told(overseer, "turn_failed"))["code"] == "budget_spent"

        await next_day(platform)
        assert (await overseer.chat("radical")).json()["rounds_left"] == 8
