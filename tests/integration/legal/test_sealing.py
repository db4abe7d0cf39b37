"""What a session tells is stored sealed, and opened for its owner and by tools that have the keys, alone."""

import asyncio
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
import rfc8785
from playmolt_cli.log.reading import with_database
from playmolt_cli.log.verifying import verified
from playmolt_core.vault.stream_key import from_text, open_record, record_place
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import record_hash

from tests import platforms
from tests.integration.jury.person import Overseer
from tests.integration.legal.person import Person
from tests.platforms import Stack

CLEAR = {"stream", "version", "position", "type", "schema_version", "metadata", "at", "salt", "prev_hash", "hash"}


def playmolt(running: Stack, *words: str, **environment: str) -> bytes:
    own = os.environ | {"DATABASE_URL": "", "NATS_URL": ""} | environment
    done = platforms.playmolt(*words, "--data", str(running.folder.path), environment=own)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout.encode()


def verdict(running: Stack, session: str, *options: str) -> str:
    return str(msgspec.json.decode(playmolt(running, "replay", session, *options, "--json"))["verdict"])


def lines(text: bytes, stream: str) -> list[dict[str, Any]]:
    records = [msgspec.json.decode(line) for line in text.splitlines()]
    return [record for record in records if record["stream"] == stream]


def is_opened(record: dict[str, Any]) -> None:
    """The line alone shows that its data is in what is stored, and what is stored in the chain."""
    sealed, place = record["sealed"], (record["stream"], record["version"], record["type"], record["schema_version"])
    data = open_record(from_text(record["seal_key"]), record_place(*place), sealed)
    assert rfc8785.dumps(record["data"]) == data
    is_chained(record | {"data": {"sealed": sealed}})


def is_chained(record: dict[str, Any]) -> None:
    stored = {name: record[name] for name in CLEAR - {"position", "hash"}}
    raw: dict[str, Any] = {name: canonical_json(record[name]) for name in ("data", "metadata")}
    assert record_hash(**stored | raw) == record["hash"]


async def finished(gateway: str) -> tuple[str, list[dict[str, Any]]]:
    """A legal session that is over, and its log as its owner reads it."""
    async with Person(gateway) as person:
        await person.open(title="A deposit")
        await person.tell()
        await person.argue()
        await person.finish()
        await person.until(lambda now: now["phase"] == "FINALIZE_DONE")
        log = await person.get(f"/api/sessions/{person.session}/log")
    return person.session, lines(log.content, person.session)


async def as_the_operator_reads(running: Stack, stream: str, after: int, wanted: int) -> list[dict[str, Any]]:
    headers, found = {"Authorization": f"Bearer {running.run.operator_key}"}, list[dict[str, Any]]()
    async with httpx.AsyncClient(base_url=running.run.gateway, headers=headers, timeout=30) as client:
        for _ in range(1000):
            page = (await client.get("/api/admin/log", params={"after": after})).json()
            found += [record for record in page["records"] if record["stream"] == stream]
            if len(found) >= wanted:
                break
            after = page["next_after"]
    return found


async def test_a_session_is_open_for_its_owner_and_with_the_keys_alone(
    running: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, own = await finished(running.run.gateway)
    assert [record["data"]["title"] for record in own if record["type"] == "session_opened"] == ["A deposit"]
    for record in own:
        assert set(record) == CLEAR | {"data", "sealed", "seal_key"}
        is_opened(record)
    stored = await as_the_operator_reads(running, session, own[0]["position"] - 1, len(own))
    for record in stored:
        assert set(record) == CLEAR | {"data"}
        assert not record["metadata"]["actor"]
        is_chained(record)
    assert [record["data"] for record in stored] == [{"sealed": record["sealed"]} for record in own]
    assert lines(playmolt(running, "log", "export"), session) == stored
    assert lines(playmolt(running, "log", "export", "--open"), session) == own
    newest = ("log", "tail", "-n", "1000", "--json")
    assert lines(playmolt(running, *newest), session) == stored
    assert lines(playmolt(running, *newest, "--open"), session) == own
    assert verdict(running, session, "--open") == "EXACT"
    replayed = msgspec.json.decode(playmolt(running, "replay", session, "--open", "--json"))
    _, *spoken = [event["output"] for event in replayed["events"] if event["type"] == "turn_done"]
    assert spoken == [record["data"]["output"] for record in own if record["type"] == "turn_recorded"]
    assert replayed["state"]["title"] == "A deposit"
    assert verdict(running, session) == "UNVERIFIED"
    with_keys = msgspec.json.decode(playmolt(running, "log", "verify", "--json"))
    monkeypatch.setenv("DATABASE_URL", "")
    data = running.folder.path
    in_processes = partial(verified, data=data, worth_processes=0)  # each has to open what it reads
    helped = await asyncio.to_thread(partial(with_database, data, in_processes, opened=True))
    assert msgspec.to_builtins(helped) == with_keys
    keyless = {"PLAYMOLT_SEAL_KEYS": str(tmp_path / "none")}
    with pytest.raises(AssertionError, match="--open needs the key file"):
        playmolt(running, "log", "export", "--open", **keyless)
    assert lines(playmolt(running, "log", "export", **keyless), session) == stored
    without = msgspec.json.decode(playmolt(running, "log", "verify", "--json", **keyless))
    assert (without["breaks"], without["diverged"]) == ([], 0)
    assert without["unverified"] > with_keys["unverified"]


async def test_a_jury_under_way_is_stored_sealed(running: Stack) -> None:
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open()
        await overseer.to("investigation")
    shown = lines(playmolt(running, "log", "export", "--running"), overseer.session)
    opened = lines(playmolt(running, "log", "export", "--running", "--open"), overseer.session)
    assert len(opened) > 1
    assert [record["data"] for record in shown] == [{"sealed": record["sealed"]} for record in opened]
    for record in opened:
        is_opened(record)


@pytest.mark.parametrize("engine", ["playmolt_legal", "playmolt_trial_engine"])
def test_an_engine_of_sessions_does_not_start_without_its_keys(engine: str, tmp_path: Path) -> None:
    for file in ("", str(tmp_path / "none")):
        own = os.environ | {"DATABASE_URL": "postgresql://127.0.0.1:1/none", "NATS_URL": "", "PLAYMOLT_SEAL_KEYS": file}
        done = subprocess.run([sys.executable, "-m", engine], capture_output=True, timeout=60, check=False, env=own)
        assert done.returncode == 1
        assert b"PLAYMOLT_SEAL_KEYS" in done.stdout + done.stderr
