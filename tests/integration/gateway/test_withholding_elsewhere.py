"""What the operator hides in tournaments, in runs of experiments, and in sessions that their owners shared."""

import asyncio
import json
import os
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import pytest
from playmolt.client import Client
from playmolt.sessions import AsyncSessions
from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_cli.agora.follow import follow
from playmolt_cli.demo.legal import CASES, _form
from playmolt_cli.jury import overseer
from playmolt_cli.jury.page import JuryPage
from playmolt_cli.jury.table import JuryTable
from playmolt_cli.jury.texts import JuryTexts
from playmolt_schemas.games.jury import OpenJuryRequest
from playmolt_schemas.routes import jury, legal
from playmolt_schemas.text import WITHHELD
from rich.console import Console

from tests.browser.players import experiment
from tests.integration.gateway.rows import (
    OPERATOR_KEY,
    SECONDS,
    Guest,
    Json,
    Platform,
    Sse,
    accepted,
    eventually,
    refused,
)
from tests.integration.gateway.test_withholding import decide, differing, holding, restore

NAME = "Zwischenzug Cup"


def read(platform: Platform, paths: Sequence[str], caller: Guest | None = None) -> dict[str, bytes]:
    found = {}
    for path in paths:
        answer = (caller or platform.anonymous).get(path)
        assert answer.status_code == 200, (path, answer.text)
        found[path] = answer.content
    return found


def tournament(platform: Platform, **terms: Any) -> str:
    made = {"name": NAME, "game_type": "ox", "format": "swiss", "rounds": 1, "min_entrants": 2, "max_entrants": 9}
    return str(accepted(platform.operator.post("/api/tournaments", made | terms), 201)["id"])


def of_tournament(platform: Platform, cup: str) -> dict[str, bytes]:
    """Everything that anybody can read about a tournament."""
    paths = (f"/tournaments/{cup}", f"/api/tournaments/{cup}", "/feeds/tournaments.atom", "/tournaments")
    found = read(platform, paths)
    rows = accepted(platform.anonymous.get("/api/tournaments?limit=100"))["tournaments"]
    [found["row"]] = [json.dumps(row).encode() for row in rows if row["id"] == cup]
    for base in (f"{platform.gateway}/api/tournaments/{cup}/stream", f"{platform.spectator}/sse/games/{cup}"):
        with Sse(platform.http, f"{base}?after=0") as feed:
            said = []
            for version, event in feed:
                said.append(event)
                if version == accepted(platform.anonymous.get(f"/api/tournaments/{cup}"))["version"]:
                    break
            found[base] = "\n".join(said).encode()
    return found


def of_entry(found: dict[str, bytes], cup: str) -> str:
    """When the entry of a tournament changed."""
    entry = next(part for part in found["/feeds/tournaments.atom"].decode().split("<entry>") if cup in part)
    return re.findall(r"<updated>([^<]+)</updated>", entry)[0]


def test_the_name_of_a_tournament_is_hidden_renamed_and_given_back(platform: Platform) -> None:
    cup = tournament(platform)
    accepted(platform.operator.ask("PATCH", f"/api/tournaments/{cup}", content=json.dumps({"name": f"{NAME} II"})))
    before = of_tournament(platform, cup)
    assert len(holding(before, NAME)) >= 6
    # Times in feeds are of whole seconds.
    eventually(lambda: f"{datetime.now(UTC).isoformat()[:19]}Z" > of_entry(before, cup), "the next second")
    report = decide(platform, "hide", kind="name", game_id=cup)
    after = of_tournament(platform, cup)
    assert holding(after, NAME) == []
    assert json.loads(after["row"])["name"] == WITHHELD
    assert of_entry(after, cup) > of_entry(before, cup), "the newest change of the entry is the decision"
    assert NAME.encode() in platform.command("log", "export", "--running").stdout.encode(), "the log keeps it"
    assert platform.command("log", "verify").returncode == 0
    restore(platform, report)
    assert differing(before, of_tournament(platform, cup)) == set()
    decide(platform, "rename", kind="name", game_id=cup)
    assert json.loads(of_tournament(platform, cup)["row"])["name"] == f"tournament-{cup[-6:]}"
    missing = {"kind": "name", "game_id": f"{cup[:-4]}0000", "reason": "rude"}
    refused(platform.anonymous.post("/api/reports", missing), 404, "not_found")


def test_a_renamed_entrant_has_its_name_nowhere_in_its_tournament(platform: Platform) -> None:
    cup = tournament(platform, name="A cup")
    rude = platform.guest("Zugzwangerl")
    accepted(rude.post(f"/api/tournaments/{cup}/join"))
    before = of_tournament(platform, cup)
    assert len(holding(before, rude.name)) >= 4
    report = decide(platform, "rename", kind="name", agent_id=rude.id)
    assert holding(of_tournament(platform, cup), rude.name) == []
    restore(platform, report)
    assert differing(before, of_tournament(platform, cup)) == set()


PLAN: Json = {
    "name": "hidden words", "seed": "5", "models": ["scripted-social"], "languages": ["en"],
    "phases": {"phase1": {"runs": 1, "turns": 2}},
}  # fmt: skip


def test_what_a_model_said_in_a_run_is_hidden(platform: Platform) -> None:
    lock = experiment(platform.gateway, OPERATOR_KEY, PLAN)
    with ExperimentsClient(platform.gateway, OPERATOR_KEY) as client:
        follow(client, lock, Console(quiet=True))
        run = client.runs(lock).runs[0].run
    said = next(event for event in platform.events(run) if event["type"] == "agent_acted" and event["content"])
    text, version = said["content"], said["version"]
    spoken = [event["version"] for event in platform.events(run) if event.get("content") == text]

    def shown() -> dict[str, bytes]:
        ends = ("state", "events?limit=1000", f"state?at={version}", f"state?at={version}&seat={said['agent_id']}")
        found = read(platform, [*(f"/api/games/{run}/{end}" for end in ends), f"/watch/{run}", f"/embed/{run}"])
        found |= read(platform, [f"/watch/{run}/picture.svg?v={version}", f"/api/games/{run}/replay.html"])
        found["ws"] = "\n".join(platform.watched(f"/ws/games/{run}?after=0")[0]).encode()
        with Sse(platform.http, f"{platform.gateway}/api/games/{run}/stream?after=0") as feed:
            found["stream"] = "\n".join(event for _, event in feed).encode()
        return found

    before = shown()
    assert len(holding(before, text)) >= 4
    reports = [decide(platform, "hide", game_id=run, version=each) for each in spoken]
    after = shown()
    assert holding(after, json.dumps(text)[1:-1]) == []
    assert WITHHELD in str(platform.events(run)[version - 1])
    assert text in str(platform.records(run, platform.operator)[version - 1]), "the operator's log keeps it"
    transcript = platform.command("agora", "transcript", run, "--prompts").stdout
    assert (text in transcript, WITHHELD in transcript) == (False, True)
    assert platform.command("log", "verify").returncode == 0
    for report in reports:
        restore(platform, report)
    assert differing(before, shown()) == set()
    silent = next(event for event in platform.events(run) if event["type"] == "epoch_started")["version"]
    nothing = {"kind": "speech", "game_id": run, "version": silent, "reason": "rude"}
    refused(platform.anonymous.post("/api/reports", nothing), 404, "not_found")


class Shared:
    """A session that its owner shared, and the owner."""

    def __init__(self, platform: Platform, session: str, url: str, owner: Guest) -> None:
        self.platform = platform
        self.session = session
        self.path = urlsplit(url).path
        self.owner = owner

    def shown(self) -> dict[str, bytes]:
        return read(self.platform, [self.path, f"{self.path}?lang=ko"])

    @property
    def picture(self) -> str:
        return f"{self.path}/picture.svg"

    def reported(self, version: int) -> Any:
        body = {"kind": "speech", "game_id": self.session, "version": version, "reason": "rude"}
        return self.platform.anonymous.post("/api/reports", body)

    def hidden(self, version: int) -> str:
        report = str(accepted(self.reported(version), 202)["id"])
        decision = {"decision": "hide", "note": "house rule"}
        accepted(self.platform.operator.post(f"/api/admin/reports/{report}", decision))
        return report


@pytest.fixture
def verdict(platform: Platform) -> Iterator[Shared]:
    """A jury session with a verdict."""
    with open(os.devnull, "w", encoding="utf-8") as nowhere, Client(platform.gateway) as client:
        visit = client.visit()
        session = client.call(jury.OPEN, body=OpenJuryRequest(language="en", model="scripted"))
        page = JuryPage(Console(file=nowhere), JuryTexts("en"))
        overseer.play(JuryTable(client, page, session, patience=SECONDS), "guilty")
        url = client.call(jury.SHARE, session.id).url
        yield Shared(platform, session.id, url, Guest(platform.http, visit.token))


def test_a_speech_of_a_shared_jury_is_hidden_in_page_picture_transcript_and_log(verdict: Shared) -> None:
    platform = verdict.platform
    log = f"/api/jury/sessions/{verdict.session}/log"
    records = [json.loads(line) for line in verdict.owner.get(log).text.splitlines()]
    speech = next(record for record in records if record["type"] == "speech")
    text = speech["data"]["text"]

    def shown() -> dict[str, bytes]:
        session = f"/api/jury/sessions/{verdict.session}"
        own = read(platform, [f"{session}/transcript?format=md", session], verdict.owner)
        key = f"Bearer {verdict.owner.key}"
        with Sse(platform.http, f"{platform.gateway}{session}/stream?after=0", Authorization=key) as feed:
            own["stream"] = "\n".join(event for _, event in feed).encode()
        return verdict.shown() | own | read(platform, [f"{verdict.path}/log.jsonl", verdict.picture])

    before = shown()
    assert len(holding(before, text)) >= 3
    refused(verdict.reported(99_999), 404, "not_found")
    report = verdict.hidden(speech["version"])
    after = shown()
    assert holding(after, text) == []
    assert WITHHELD.encode() in after[verdict.path]
    hidden = json.loads(after[f"{verdict.path}/log.jsonl"].splitlines()[speech["version"] - 1])
    assert ("data.text" in hidden["withheld"], hidden["hash"]) == (True, speech["hash"])
    with platform.socket("/ws/lobby") as lobby:
        assert verdict.session not in str(lobby.recv(timeout=SECONDS)), "the lobby does not learn of a session"
    assert platform.command("log", "verify").returncode == 0
    restore(platform, report)
    assert differing(before, shown()) == set()


def test_a_shared_report_with_a_hidden_text_is_withheld_whole(platform: Platform) -> None:
    shared = asyncio.run(_reported(platform))
    before = shared.shown()
    report = shared.hidden(2)
    after = shared.shown()
    title = re.findall(r"<title>(.*?)</title>", before[shared.path].decode())[0]
    assert holding(after, title) == []
    assert WITHHELD.encode() in after[shared.path]
    assert platform.anonymous.get(shared.picture).status_code == 404
    restore(platform, report)
    assert differing(before, shared.shown()) == set()
    assert shared.owner.ask("DELETE", f"/api/sessions/{shared.session}/share").status_code == 204
    refused(shared.reported(2), 404, "not_found")


async def _reported(platform: Platform) -> Shared:
    case = CASES[0]
    async with AsyncSessions(platform.gateway) as client:
        visit = await client.visit()
        session = await client.call(legal.OPEN_SESSION, body=case.opening)
        await client.call(legal.POST_FACTS, session.id, body=case.facts)
        async for message in client.follow(session.id):
            if message["type"] == "gate_opened":
                form = _form(case, await client.call(legal.READ_SESSION, session.id))
                await client.call(legal.POST_STEERING, session.id, body=form)
        shared = await client.call(legal.SHARE_SESSION, session.id, body={})
    return Shared(platform, session.id, shared.url, Guest(platform.http, visit.token))
