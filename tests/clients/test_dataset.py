"""A dataset of games that were played, read by others' programs: what it has, and what it leaves out."""

import hashlib
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest
from playmolt import Turn
from playmolt.client import Client

from tests.clients.parquet_values import differences
from tests.platforms import Done, Stack, playmolt

HERE = Path(__file__).parent
SECONDS = 200
PERSON, VERSION = "Kim Alice", "alice-of-busan"
SAID = "a sentence that only this person says"
QUOTE = f"Kim Alice told us: {SAID}. I agree."


class Played(NamedTuple):
    """Two finished public games with a person in each, and a private one."""

    stack: Stack
    public: dict[str, str]
    private: str
    person: str


def bot(person: bool) -> Callable[[Turn], dict[str, Any]]:
    text = SAID if person else QUOTE

    def play(turn: Turn) -> dict[str, Any]:
        kind = turn.actions[0].type
        if kind == "first_choice":
            return {"type": kind, "choice": "O", "comment": text}
        if kind == "switch":
            return {"type": kind, "use_switch": False, "comment": "ok"}
        return {"type": kind, "text": text} if kind == "speak" else {"type": kind, "verdict": "GUILTY"}

    return play


def play(clients: list[Client], game: str, game_id: str | None = None) -> str:
    """The id of a game that these clients played to its end; the first is the person."""
    ids: list[str] = []

    def sit(number: int, client: Client) -> None:
        ids.append(client.play(bot(number == 0), game, game_id=game_id).game_id)

    threads = [threading.Thread(target=sit, args=each) for each in enumerate(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(SECONDS)
    assert len(set(ids)) == 1
    return ids[0]


@pytest.fixture(scope="module")
def played(platform: Stack) -> Iterator[Played]:
    clients = [Client(platform.run.gateway) for _ in range(6)]
    person = clients[0].register(PERSON, kind="person", version=VERSION).id
    for number, client in enumerate(clients[1:]):
        client.register(f"bot {number}", version="1")
    public = {"ox": play(clients[:5], "ox"), "trial": play(clients, "trial")}
    private = clients[0].open_game("ox")
    for client in clients[1:5]:
        client.join("ox", invite=private.invite)
    yield Played(platform, public, play(clients[:5], "ox", private.game_id), person)
    for client in clients:
        client.close()


def build(played: Played, out: Path, *more: str, days: int = 1, **environment: str) -> Done:
    today = datetime.now(UTC).date()
    since, until = today - timedelta(days=1), today + timedelta(days=days)
    data = str(played.stack.folder.path)
    return playmolt(
        "dataset", "build", "--from", str(since), "--to", str(until), "--out", str(out), "--data", data, *more,
        environment=environment,
    )  # fmt: skip


@pytest.fixture(scope="module")
def dataset(played: Played, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("datasets") / "games"
    done = build(played, out, PLAYMOLT_DATASET_LICENSE="CC-BY-4.0")
    assert done.returncode == 0, done.stderr
    return out


def rows_of(dataset: Path, game: str, game_id: str | None = None) -> list[dict[str, Any]]:
    """The rows of a game type, or of one game."""
    rows = [row for path in sorted((dataset / game).iterdir()) for row in pl.read_parquet(path).to_dicts()]
    return [row for row in rows if game_id in (None, row["game_id"])]


def test_it_has_the_public_games_that_ended_and_leads_back_to_the_log(played: Played, dataset: Path) -> None:
    manifest = json.loads((dataset / "manifest.json").read_text())
    hashes = {game["id"]: game["hash"] for game in manifest["games"]}
    assert set(played.public.values()) <= set(hashes)
    assert played.private not in hashes
    with Client(played.stack.run.gateway) as client:
        for game_id in played.public.values():
            assert hashes[game_id] == client.log(game_id)[-1].hash
    for file in manifest["files"]:
        body = (dataset / file["path"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(body).hexdigest()
        assert file["rows"] == len(pl.read_parquet(body))
    for game, identifier in played.public.items():
        rows = rows_of(dataset, game, identifier)
        assert [row["version"] for row in rows] == sorted(row["version"] for row in rows)
        assert {"agent_joined", "game_started", "game_end"} <= {row["type"] for row in rows}


def test_a_person_has_no_name_and_no_words(played: Played, dataset: Path) -> None:
    for game, identifier in played.public.items():
        rows = rows_of(dataset, game, identifier)
        text = "\n".join(row["data"] for row in rows)
        for secret in (PERSON, "Alice", VERSION, SAID, played.person, "kim-alice"):
            assert secret not in text, secret
        people = {row["agent_id"] for row in rows if (row["agent_id"] or "").startswith("person-")}
        assert len(people) == 1
        joined = [json.loads(row["data"]) for row in rows if row["type"] == "agent_joined"]
        [person] = [one for one in joined if one["kind"] == "person"]
        assert {person["agent_id"], person["name"], person["handle"]} == people
        assert "bot 1" in text, "agents are shown"
        assert "owner" not in text


def test_the_same_range_gives_the_same_bytes(played: Played, dataset: Path, tmp_path: Path) -> None:
    assert build(played, tmp_path / "again", PLAYMOLT_DATASET_LICENSE="CC-BY-4.0").returncode == 0
    paths = sorted(path.relative_to(dataset) for path in dataset.rglob("*") if path.is_file())
    assert paths == sorted(
        path.relative_to(tmp_path / "again") for path in (tmp_path / "again").rglob("*") if path.is_file()
    )
    for path in paths:
        assert (tmp_path / "again" / path).read_bytes() == (dataset / path).read_bytes(), path


@pytest.mark.parametrize("published", [False, True])
def test_mlcroissant_takes_its_metadata_without_a_warning_and_reads_its_records(
    foreign_python: Path, played: Played, dataset: Path, tmp_path: Path, published: bool
) -> None:
    metadata = "croissant.json"
    if published:
        shutil.copytree(dataset, played.stack.folder.path.parent / "datasets" / "games")
        metadata = f"{played.stack.run.gateway}/datasets/games/croissant.json"
    done = subprocess.run(
        [foreign_python, HERE / "croissant_reader.py", metadata], cwd=dataset, capture_output=True, text=True,
        timeout=SECONDS, check=False, env={**os.environ, "CROISSANT_CACHE": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = {one["name"]: one["rows"] for one in map(json.loads, done.stdout.splitlines())}
    for game in played.public:
        rows = [row for name in sorted(found) if name.startswith(f"{game}/") for row in found[name]]
        assert [(row["game_id"], row["version"], row["data"]) for row in rows] == [
            (row["game_id"], str(row["version"]), row["data"]) for row in rows_of(dataset, game)
        ]


@pytest.mark.parametrize(("name", "said"), [("CC-BY-4.0", "https://spdx.org/licenses/CC-BY-4.0"), ("", "No licence")])
def test_the_licence_is_the_operators(played: Played, tmp_path: Path, name: str, said: str) -> None:
    assert build(played, tmp_path / "games", PLAYMOLT_DATASET_LICENSE=name).returncode == 0
    assert json.loads((tmp_path / "games" / "croissant.json").read_text())["license"].startswith(said)
    assert (f"license: {name}\n" in (tmp_path / "games" / "CITATION.cff").read_text()) is bool(name)


def test_wrong_use_is_refused_and_leaves_nothing(played: Played, tmp_path: Path) -> None:
    assert build(played, tmp_path / "games", days=-5).returncode == 2
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").write_text("kept")
    assert build(played, full).returncode == 2
    assert [path.name for path in tmp_path.iterdir()] == ["full"]
    assert [path.name for path in full.iterdir()] == ["mine"]
    assert build(played, tmp_path / "games", PLAYMOLT_DATASET_LICENSE="free for all").returncode == 2


def test_a_day_without_games_is_an_empty_dataset(played: Played, tmp_path: Path) -> None:
    data = str(played.stack.folder.path)
    out = tmp_path / "none"
    days = ("--from", "2020-01-01", "--to", "2020-01-02")
    done = playmolt("dataset", "build", *days, "--out", str(out), "--data", data, environment={})
    assert done.returncode == 0
    assert json.loads((out / "manifest.json").read_text()) == {"files": [], "games": []}
    shutil.rmtree(out)


def test_every_reader_of_parquet_finds_equal_values(foreign_python: Path, dataset: Path) -> None:
    assert differences(foreign_python, sorted(dataset.rglob("*.parquet"))) == []
