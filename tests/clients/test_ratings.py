"""The program of `docs/ratings.md` computes every rating of a platform from what anyone may read."""

import asyncio
import json
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from playmolt.client import AsyncClient
from playmolt.loop import Bot
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.chain import chain_record
from playmolt_core.log.port import NewRecord, StreamAppend, Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.game_messages import GameSummary
from playmolt_schemas.rating import tenths_of_rating, tenths_of_uncertainty
from playmolt_schemas.records import ZERO_HASH, Metadata

from tests.integration.conftest import OWN_SERVERS
from tests.platforms import Stack

PAGE = Path(__file__).parents[2] / "docs" / "ratings.md"
SECONDS = 110
NPM, NODE = shutil.which("npm"), shutil.which("node")
Lines = dict[tuple[str, str, str], tuple[float, float, int]]
"""Mean, deviation and games by ladder, agent and version."""


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("ratings") / "data", environment=OWN_SERVERS) as running:
        yield running


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's program, and beside it the library in the page's version, kept beside this interpreter's packages."""
    text = PAGE.read_text("utf-8")
    (source,) = re.findall(r"^```js\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert source.count("\n") < 60
    (library,) = re.findall(r"npm install (openskill@\S+)", text)
    kept = Path(sys.prefix) / "npm" / library.replace("@", "-")
    if not (kept / "made").exists():
        kept.mkdir(parents=True, exist_ok=True)
        (kept / "package.json").write_text('{"private": true}')
        run(kept, NPM, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", library)
        (kept / "made").touch()
    folder = tmp_path_factory.mktemp("program")
    (folder / "node_modules").symlink_to(kept / "node_modules")
    (folder / "ratings.mjs").write_text(source, "utf-8")
    return folder / "ratings.mjs"


def run(folder: Path, *command: str | Path | None) -> str:
    assert all(command), "this test needs Node and npm on PATH"
    words = [str(word) for word in command]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def computed(program: Path, *of: str | Path) -> Lines:
    rows = [json.loads(line) for line in run(program.parent, NODE, program, *of).splitlines()]
    lines = {
        (row["ladder"], row["agent"], row["version"] or ""): (row["mu"], row["sigma"], row["games"]) for row in rows
    }
    assert len(lines) == len(rows)
    return lines


def says(choice: str) -> Bot:
    """An O/X bot that always chooses the same: equals are equal in all."""

    def bot(turn: Any) -> Mapping[str, Any]:
        if turn.actions[0].type == "first_choice":
            return {"type": "first_choice", "choice": choice, "comment": "as always"}
        return {"type": "switch", "use_switch": False, "comment": ""}

    return bot


def votes(verdict: str) -> Bot:
    def bot(turn: Any) -> Mapping[str, Any]:
        if turn.actions[0].type == "speak":
            return {"type": "speak", "text": "I say so."}
        return {"type": "vote", "verdict": verdict}

    return bot


async def play(clients: Sequence[AsyncClient], bots: Sequence[Bot], game: Any, pace: Any = "quick") -> str:
    """One public game of all clients, in the order of their seats; returns its id."""
    joined = [await client.join(game, pace=pace) for client in clients]
    assert len({one.game_id for one in joined}) == 1
    game_id = joined[0].game_id
    await asyncio.gather(*(client.play(bot, game, game_id=game_id) for client, bot in zip(clients, bots, strict=True)))
    return game_id


async def play_everything(stack: Stack) -> None:
    """Shared ranks, trials with and without convictions, two paces, two versions, house bots, unrated games."""
    house_key = stack.folder.house_key()
    clients = [AsyncClient(stack.run.gateway) for _ in range(6)]
    house = [AsyncClient(stack.run.gateway, house_key) for _ in range(4)]
    for number, client in enumerate(clients):
        await client.register(f"player {number}", version="1" if number % 2 else None)
    for number, client in enumerate(house):
        await client.register(f"house {number}", kind="house")
    for choices in ("OOXXX", "OXXXX", "OOOOO"):
        await play(clients[:5], [says(choice) for choice in choices], "ox")
    for number, verdict in enumerate(("GUILTY", "GUILTY", "NOT_GUILTY", "GUILTY")):
        order = clients[number:] + clients[:number]
        await play(order, [votes(verdict)] * 6, "trial")
    for client in clients[:2]:
        await client.update_me(version="2")
    await play(clients[1:], [says(choice) for choice in "OXOXX"], "ox")
    await play(clients[1:], [says(choice) for choice in "XOXOO"], "ox", "slow")
    await play(clients, [votes("GUILTY")] * 6, "trial", "slow")
    await clients[0].update_me(version=None)
    await play(clients, [votes("GUILTY")] * 6, "trial")
    await play([*clients[:2], *house[:3]], [says(choice) for choice in "OXXXO"], "ox")
    await play([clients[0], *house], [says(choice) for choice in "OXXXO"], "ox")
    opened = await clients[0].open_game("ox")
    joined = [opened, *[await client.join("ox", invite=opened.invite) for client in clients[1:5]]]
    await asyncio.gather(
        *(
            client.play(says(choice), "ox", game_id=seat.game_id)
            for client, choice, seat in zip(clients, "OXXXX", joined, strict=False)
        )
    )
    for client in (*clients, *house):
        await client.aclose()


async def logs(gateway: str) -> dict[str, list[dict[str, Any]]]:
    """The log of each finished game, as anyone may read it."""
    async with httpx.AsyncClient(base_url=gateway, timeout=SECONDS) as client:
        games = (await client.get("/api/games?phase=end&limit=1000")).json()["games"]
        texts = [(await client.get(f"/api/games/{game['game_id']}/log")).text for game in games]
    found = [[json.loads(line) for line in text.splitlines()] for text in texts]
    return {records[0]["stream"]: records for records in found}


def earlier(records: Sequence[Mapping[str, Any]], by: timedelta, *, rated: bool = True) -> Unit:
    """A game's events again as another game that ended earlier and arrives in the log now."""
    stream = f"{records[0]['stream'].partition('-')[0]}-{uuid.uuid4()}"
    said = {} if rated else {"game_started": {"rated": False, "unrated": "one_owner"}, "game_end": {"rated": False}}
    copies: list[NewRecord] = []
    for number, record in enumerate(records, 1):
        copies.append(
            chain_record(
                stream=stream,
                version=number,
                prev_hash=copies[-1].hash if copies else ZERO_HASH,
                at=datetime.fromisoformat(record["at"]) - by,
                event_type=record["type"],
                schema_version=record["schema_version"],
                data=canonical_json(record["data"] | said.get(record["type"], {})),
                metadata=Metadata(command_id=uuid.uuid4().hex),
                closes=number == len(records),
            )
        )
    seats = len(records[-1]["data"]["results"])
    summary = GameSummary("end", 0, seats, seats, over=True, pace=records[0]["data"]["config"].get("pace", "quick"))
    return Unit(streams=[StreamAppend(stream=stream, expected=0, prev_hash=ZERO_HASH, records=copies, summary=summary)])


async def stored(pool: Pool) -> Lines:
    rows = await pool.fetch("SELECT ladder, agent_id, version, mu, sigma, games FROM projection.rating")
    return {(ladder, agent, version): (mu, sigma, games) for ladder, agent, version, mu, sigma, games in rows}


def agree(found: Lines, expected: Lines) -> None:
    assert found.keys() == expected.keys()
    for key, (mu, sigma, games) in expected.items():
        assert found[key][:2] == pytest.approx((mu, sigma), abs=1e-9, rel=0), key
        assert found[key][2] == games, key


async def test_a_stranger_computes_every_rating_from_public_data(stack: Stack, program: Path, tmp_path: Path) -> None:
    await play_everything(stack)
    gateway = stack.run.gateway
    public = await logs(gateway)
    shared = [records for records in public.values() if "rank" in records[-1]["data"]["results"][0]]
    assert any(len({row["rank"] for row in records[-1]["data"]["results"]}) < 5 for records in shared)

    pool = await open_pool(stack.run.database_url)
    log = PostgresLog(pool)
    first = min(public.values(), key=lambda records: records[-1]["at"])
    trial = max((one for one in public.values() if one[0]["stream"].startswith("trial")), key=lambda one: one[-1]["at"])
    for late in (
        earlier(first, timedelta(days=3)),
        earlier(trial, timedelta(days=40, hours=7, microseconds=17)),
        earlier(trial, timedelta(days=2), rated=False),
    ):
        assert await log.append([late]) != [None]
    public = await logs(gateway)

    async with httpx.AsyncClient(base_url=gateway, timeout=SECONDS) as client:
        agents = {row["agent_id"] for records in public.values() for row in records[-1]["data"]["results"]}
        profiles = {agent: (await client.get(f"/api/agents/{agent}")).json() for agent in agents}
        trials = (await client.get("/api/games/types/trial")).json()
    expected = await stored(pool)
    await pool.close()
    assert {ladder for ladder, _, _ in expected} == {"ox", "ox_slow", "trial", "trial_slow"}
    assert max(len([key for key in expected if key[:2] == line[:2]]) for line in expected) == 2

    found = await asyncio.to_thread(computed, program, gateway)
    assert await asyncio.to_thread(computed, program, f"{gateway}/") == found
    agree(found, expected)
    whole, files = tmp_path / "all.jsonl", [tmp_path / f"{stream}.jsonl" for stream in public]
    for file, records in zip(files, public.values(), strict=True):
        file.write_text("".join(json.dumps(record) + "\n" for record in reversed(records)))
    whole.write_text("".join(file.read_text() for file in files))
    assert await asyncio.to_thread(computed, program, whole) == found
    assert await asyncio.to_thread(computed, program, *files) == found

    for agent, profile in profiles.items():
        for ladder, shown in profile["ratings"].items():
            mu, sigma, games = found.get((ladder, agent, profile["version"] or ""), (None, None, 0))
            if mu is not None and sigma is not None and shown["games"] == games:
                assert shown["rating"] == tenths_of_rating(mu) / 10
                assert 0 <= 10 * shown["uncertainty"] - tenths_of_uncertainty(sigma) < 10, "more if a day begins now"
    ends = [records[-1]["data"] for stream, records in public.items() if stream.startswith("trial")]
    counted = [end["verdict"] for end in ends if end.get("rated") is not False]
    games, convictions = len(counted), counted.count("GUILTY")
    assert len(ends) == games + 1
    assert (trials["games"], trials["conviction_rate"]) == (games, (10 + convictions) / (20 + games))

    withheld = await moderated(stack, public)
    assert withheld > len(public), "texts and names are withheld in many records"
    assert await asyncio.to_thread(computed, program, gateway) == found, "what the operator hides decides no rating"


async def moderated(stack: Stack, public: Mapping[str, Sequence[Mapping[str, Any]]]) -> int:
    """Hide what was said in each game, rename an agent and hide the name of another; gives the withheld records."""
    said = {"reveal", "speak", "speech"}
    spoken = [
        {"kind": "speech", "game_id": stream, "version": record["version"]}
        for stream, records in public.items()
        for record in records
        if record["type"] in said
    ]
    one, other = sorted({row["agent_id"] for records in public.values() for row in records[-1]["data"]["results"]})[:2]
    names = [("rename", {"kind": "name", "agent_id": one}), ("hide", {"kind": "name", "agent_id": other})]
    key = {"authorization": f"Bearer {stack.run.operator_key}"}
    async with httpx.AsyncClient(base_url=stack.run.gateway, headers=key, timeout=SECONDS) as operator:
        for decision, target in [*(("hide", each) for each in spoken[:: max(1, len(spoken) // 20)]), *names]:
            report = await operator.post("/api/reports", json={**target, "reason": "rude"})
            assert report.status_code == 202, report.text
            path = f"/api/admin/reports/{report.json()['id']}"
            decided = await operator.post(path, json={"decision": decision, "note": "rule 3"})
            assert decided.status_code == 200, decided.text
    return sum("withheld" in record for records in (await logs(stack.run.gateway)).values() for record in records)
