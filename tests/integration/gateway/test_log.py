"""The event log and the commands: records, hash, receipts, exports beside a running `up`, roles and users."""

import asyncio
import hashlib
import json
import re
from typing import Any

import asyncpg
import nats
import pytest
import rfc8785
from nats.aio.client import Client
from playmolt_core.bus.connection import delivered
from playmolt_schemas import subjects

from tests.integration.gateway.rows import Json, Platform, Table, accepted
from tests.integration.processes import environment_of

RECORD = [
    "stream", "version", "position", "type", "schema_version", "data", "metadata", "at", "salt", "prev_hash", "hash",
]  # fmt: skip


class Played(Table):
    """A finished game with the receipts of its actions, in order."""

    def __init__(self, table: Table) -> None:
        super().__init__(table.game_id, table)
        self.receipts: list[str] = []

    def does(self, seat: Any, body: Json) -> Json:
        answer = super().does(seat, body)
        self.receipts.append(answer["hash"])
        return answer


@pytest.fixture(scope="module")
def ox(shared_platform: Platform) -> Played:
    """A finished O/X game."""
    shared_platform.clear()
    played = Played(shared_platform.table("ox"))
    played.ox(*["OOOOX"] * 5)
    return played


@pytest.fixture(scope="module")
def trial(shared_platform: Platform) -> Played:
    """A finished trial."""
    shared_platform.clear()
    played = Played(shared_platform.table("trial"))
    played.trial("GUILTY", "NOT_GUILTY", "GUILTY")
    return played


def recomputed(record: Json) -> str:
    """The record's hash as api.md defines it, by another implementation of RFC 8785."""
    covered = {name: value for name, value in record.items() if name not in ("hash", "position")}
    return hashlib.sha256(record["prev_hash"].encode() + rfc8785.dumps(covered)).hexdigest()


@pytest.mark.parametrize("game", ["ox", "trial"])
def test_a_finished_game_s_log_can_be_checked_by_anyone(
    platform: Platform, game: str, request: pytest.FixtureRequest
) -> None:
    played: Played = request.getfixturevalue(game)
    records = platform.records(played.game_id)
    previous = "0" * 64
    for version, record in enumerate(records, 1):
        assert list(record) == RECORD
        assert (record["stream"], record["version"], record["prev_hash"]) == (played.game_id, version, previous)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", record["at"])
        assert re.fullmatch("[0-9a-f]{32}", record["salt"])
        assert recomputed(record) == record["hash"]
        previous = record["hash"]
    assert len({record["salt"] for record in records}) == len(records)
    positions = [record["position"] for record in records]
    assert positions == sorted(set(positions))
    actions = ("first_choice_submitted", "switch_submitted") if game == "ox" else ("speak", "vote_submitted")
    acted = [record for record in records if record["type"] in actions]
    assert [record["hash"] for record in acted] == played.receipts
    assert all(record["metadata"]["actor"] == record["data"]["agent_id"] for record in acted)
    assert all({"command_id", "correlation", "causation"} <= set(record["metadata"]) for record in acted)
    assert records[-1]["metadata"]["state_hash"]
    first = records[0]
    assert isinstance(first["data"]["seed"], str)
    assert first["data"]["rules_version"]
    assert first["data"]["content_version"]
    assert "phase_deadline_seconds" in first["data"]["config"]


@pytest.mark.parametrize("game", ["ox", "trial"])
def test_the_log_and_the_public_events_have_the_same_versions_and_times(
    platform: Platform, game: str, request: pytest.FixtureRequest
) -> None:
    played: Played = request.getfixturevalue(game)
    events = platform.events(played.game_id)
    records = platform.records(played.game_id)
    assert [(e["version"], e["at"], e["type"]) for e in events] == [(r["version"], r["at"], r["type"]) for r in records]


def test_a_traced_request_is_found_in_the_log(platform: Platform) -> None:
    table = platform.table("ox")
    trace = f"00-{'ab' * 16}-{'cd' * 8}-01"
    body = json.dumps({"type": "first_choice", "choice": "O", "comment": "traced"})
    answer = table[0].ask("POST", f"/api/games/{table.game_id}/actions", content=body, headers={"traceparent": trace})
    receipt = accepted(answer)["hash"]
    record = next(r for r in platform.records(table.game_id, platform.operator) if r["hash"] == receipt)
    assert "ab" * 16 in record["metadata"]["trace"]


def test_positions_count_the_whole_log_without_a_hole(platform: Platform, ox: Played, trial: Played) -> None:
    after, positions = 0, []
    while records := accepted(platform.operator.get("/api/admin/log", after=after, limit=1000))["records"]:
        positions += [record["position"] for record in records]
        after = positions[-1]
    assert positions == list(range(1, len(positions) + 1))


# Commands


def test_verify_counts_and_finds_no_fault(platform: Platform, ox: Played) -> None:
    done = platform.command("log", "verify", "--json")
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert {"streams", "events", "exact", "unverified", "diverged"} <= set(counts)
    assert counts["diverged"] == 0
    assert counts["exact"] >= 1
    assert counts["streams"] == counts["exact"] + counts["unverified"]


def test_export_leaves_running_games_out(platform: Platform, ox: Played) -> None:
    table = platform.table("ox")
    table.does(table[0], {"type": "first_choice", "choice": "O", "comment": "under way"})
    done = platform.command("log", "export")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert all(list(record) == RECORD for record in records)
    positions = [record["position"] for record in records]
    assert positions == sorted(positions)
    assert [r for r in records if r["stream"] == ox.game_id] == platform.records(ox.game_id)
    assert table.game_id not in {record["stream"] for record in records}
    assert "under way" not in done.stdout
    target = platform.stack.folder.path.parent / "everything.jsonl"
    done = platform.command("log", "export", "--running", "--out", str(target))
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    everything = [json.loads(line) for line in target.read_text().splitlines()]
    assert [record["position"] for record in everything] == list(range(1, len(everything) + 1))
    assert table.game_id in {record["stream"] for record in everything}
    tail = platform.command("log", "tail")
    assert tail.returncode == 0
    assert table.game_id not in tail.stdout


def test_replay_tells_a_game_and_shows_a_moment(platform: Platform, ox: Played) -> None:
    done = platform.command("replay", ox.game_id)
    assert done.returncode == 0, done.stderr
    assert "EXACT" in done.stdout
    done = platform.command("replay", ox.game_id, "--at", "13", "--json")
    assert done.returncode == 0, done.stderr
    told_by_json = json.loads(done.stdout)
    assert told_by_json["state"] == platform.anonymous.state(ox.game_id, at=13)
    assert told_by_json["events"] == platform.events(ox.game_id)[:13]
    assert told_by_json["verdict"] == "UNVERIFIED"


def test_doctor_finds_nothing_wrong(platform: Platform) -> None:
    done = platform.command("doctor", "--json")
    assert done.returncode == 0, done.stdout
    json.loads(done.stdout)


def test_house_bots_play_to_the_end(platform: Platform) -> None:
    done = platform.command("bots", "ox", "--n", "5", "--json")
    assert done.returncode == 0, done.stderr
    [game] = {seat["game_id"] for seat in json.loads(done.stdout)}
    assert platform.anonymous.state(game)["phase"] == "end"


# Roles and users


def test_the_spectator_knows_no_database(platform: Platform) -> None:
    known = environment_of(platform.stack, "spectator-1")
    assert not known.get("DATABASE_URL")
    assert not [
        name for name, value in known.items() if "postgres" in value.lower() and name.startswith(("PG", "PLAY"))
    ]
    assert known["PLAYMOLT_NATS_USER"] == "spectator"
    assert "PLAYMOLT_OPERATOR_KEY" not in known


async def refusal(connection: Client, errors: list[Exception]) -> None:
    """Wait until the server has said that this is not allowed."""
    await delivered(connection, 60)
    async with asyncio.timeout(60):
        while not any("permissions violation" in str(error).lower() for error in errors):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("secret", ["events.>", "events.ox.*.*", "actions.>", "actions.ox.*", "sealed.>", ">", "$JS.>"])
async def test_the_spectator_s_user_may_not_listen_to_secrets(platform: Platform, secret: str) -> None:
    known = environment_of(platform.stack, "spectator-1")
    errors: list[Exception] = []

    async def note(error: Exception) -> None:
        errors.append(error)

    connection = await nats.connect(
        platform.stack.run.nats_url, user=known["PLAYMOLT_NATS_USER"], password=known["PLAYMOLT_NATS_PASSWORD"],
        error_cb=note, allow_reconnect=False, connect_timeout=60,
    )  # fmt: skip
    try:
        await connection.subscribe("spectate.>")
        await delivered(connection, 60)
        assert errors == []
        await connection.subscribe(secret)
        await refusal(connection, errors)
    finally:
        await connection.close()


async def test_the_spectator_s_user_may_not_act(platform: Platform) -> None:
    known = environment_of(platform.stack, "spectator-1")
    errors: list[Exception] = []

    async def note(error: Exception) -> None:
        errors.append(error)

    connection = await nats.connect(
        platform.stack.run.nats_url, user=known["PLAYMOLT_NATS_USER"], password=known["PLAYMOLT_NATS_PASSWORD"],
        error_cb=note, allow_reconnect=False, connect_timeout=60, inbox_prefix=b"_INBOX",
    )  # fmt: skip
    try:
        for subject in (subjects.action("ox", "lobby"), subjects.spectate("ox", "x"), subjects.event("ox", "x", "y")):
            errors.clear()
            await connection.publish(subject, b"forged")
            await refusal(connection, errors)
    finally:
        await connection.close()


async def test_every_service_has_its_own_user(platform: Platform) -> None:
    names = [name for name in platform.stack.run.processes if name not in ("postgres", "nats", "evm-1", "house-1")]
    users = [environment_of(platform.stack, name)["PLAYMOLT_NATS_USER"] for name in names]
    passwords = {environment_of(platform.stack, name)["PLAYMOLT_NATS_PASSWORD"] for name in names}
    assert len(set(users)) == len(users) == len(passwords)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM log.event", "UPDATE log.event SET type = 'x'", "TRUNCATE log.record",
        "INSERT INTO log.outcome (stream, command_id, fingerprint, body) VALUES ('a', gen_random_uuid(), '', '{}')",
        "DROP TABLE log.record", "SELECT FROM log.record_0_game_0", "SELECT * FROM account.agent",
    ],
)  # fmt: skip
async def test_an_engine_s_role_can_only_append_and_read(platform: Platform, statement: str) -> None:
    connection = await asyncpg.connect(platform.stack.run.database_url)
    try:
        await connection.execute("SET ROLE playmolt_engine")
        await connection.fetch("SELECT * FROM log.event LIMIT 1")
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_the_gateway_s_role_reads_no_game(platform: Platform) -> None:
    connection = await asyncpg.connect(platform.stack.run.database_url)
    try:
        await connection.execute("SET ROLE playmolt_gateway")
        for table in ("log.event", "log.stream", "log.outcome"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(f"SELECT * FROM {table} LIMIT 1")
    finally:
        await connection.close()
