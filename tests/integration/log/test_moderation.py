"""The operator's decisions: in the log and in the tables that follow from it, in the gateway's own role."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import msgspec
import pytest
from playmolt_cli.games import deciders
from playmolt_core.db.accounts import NewAgent, PgAccounts
from playmolt_core.db.moderation import Ban, Decision, DecisionRecord, HiddenText, PgModeration
from playmolt_core.db.owners import OwnerAccount, PgOwners
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.game.decider import Refused
from playmolt_core.log.moderation import decide, moderation_breaks, rebuild_moderation
from playmolt_core.log.ownership import PgOwnership
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.verify import verify
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code
from playmolt_schemas.identifiers import moderation_of
from playmolt_schemas.stored import ox, trial

from core.tests.log.log_contract import Game, statuses, unit
from core.tests.waiting import wait_until
from tests.integration.log.test_owners import agent_id, command, key

ADA, BOB = agent_id(1), agent_id(2)
GAME, OTHER, UNKNOWN = (f"ox-00000000-0000-4000-8000-00000000000{number}" for number in (1, 2, 3))
TRIAL = "trial-00000000-0000-4000-8000-000000000001"
OWNER = "owner-00000000-0000-4000-8000-000000000001"
NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)


def decision(kind: Any, field: Any, **parts: Any) -> Decision:
    return Decision(kind=kind, field=field, at=parts.pop("at", NOON), **parts)


def hide(version: int, agent: str | None = None, game: str = GAME) -> Decision:
    return decision("hide", "speech", game_id=game, version=version, agent_id=agent)


def choice(agent: str, comment: str) -> ox.FirstChoiceSubmitted:
    return ox.FirstChoiceSubmitted(agent_id=agent, name="A", round=1, choice="O", comment=comment)


def revealed(*comments: tuple[str, str]) -> ox.Revealed:
    choices = tuple(ox.PublicChoice(agent_id=agent, name="A", choice="O", comment=text) for agent, text in comments)
    return ox.Revealed(round=1, choices=choices, distribution=ox.Distribution(o=2, x=0))


def switch(agent: str, comment: str) -> ox.SwitchSubmitted:
    return ox.SwitchSubmitted(agent_id=agent, name="A", round=1, switched=False, comment=comment)


def speech(agent: str, text: str) -> trial.Spoke:
    return trial.Spoke(agent_id=agent, name="A", role="DEFENSE", text=text, phase="opening", round=1)


SAID = [choice(ADA, "ada"), choice(BOB, "bob"), revealed((ADA, "ada"), (BOB, "bob")), switch(ADA, "no")]


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_gateway", size=8)
    yield pool
    await pool.close()


@pytest.fixture
async def all_rights(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, size=4)
    yield pool
    await pool.close()


@pytest.fixture
async def log(all_rights: Pool, pool: Pool) -> PostgresLog:
    """A log with a game of O/X and a trial, whose agents have accounts."""
    log = PostgresLog(all_rights)
    accounts = PgAccounts(pool)
    await accounts.create_agent(ADA, NewAgent("Ada the Rude"), key("ada"))
    await accounts.create_agent(BOB, NewAgent("Bob"), key("bob"))
    await PgOwners(pool).create(OwnerAccount(OWNER, "Rude & Co", contact=None), key("owner"), [])
    game, other = Game(GAME), Game(TRIAL)
    for event in SAID:
        added = game.adds(1, kind=event.type, data=canonical_json(event))
        assert statuses(await log.append([unit(added)])) == ["appended"]
    spoken = other.adds(1, kind="speak", data=canonical_json(speech(ADA, "rude")))
    assert statuses(await log.append([unit(spoken)])) == ["appended"]
    return log


async def records(database_url: str) -> list[tuple[str, dict[str, Any]]]:
    """All decisions in the log."""
    connection = await asyncpg.connect(database_url)
    rows = await connection.fetch(
        "SELECT type, data FROM log.event WHERE stream LIKE 'moderation-%' ORDER BY at, version"
    )
    await connection.close()
    return [(kind, msgspec.json.decode(data)) for kind, data in rows]


async def hidden(pool: Pool) -> list[HiddenText]:
    return [row for row in await PgModeration(pool).since(0, 9) if isinstance(row, HiddenText)]


async def decided(pool: Pool, wanted: Decision) -> DecisionRecord:
    made = await decide(pool, wanted)
    assert isinstance(made, DecisionRecord), made
    return made


async def test_a_hidden_speech_is_in_the_log_without_its_text_or_the_reason(
    log: PostgresLog, pool: Pool, database_url: str
) -> None:
    del log
    wanted = msgspec.structs.replace(hide(1, game=TRIAL), note="against rule 3", by="operator")
    made = await decided(pool, wanted)
    assert made == DecisionRecord(moderation_of(NOON), 1)
    assert await records(database_url) == [
        ("speech_hidden", {"game_id": TRIAL, "versions": [1], "agent_id": ADA, "by": "operator"})
    ]
    moderation = PgModeration(pool)
    assert [(one.version, one.agent_id, one.hidden) for one in await hidden(pool)] == [(1, ADA, True)]
    (notice,) = await moderation.notices([ADA], 9)
    assert (notice.kind, notice.game_id, notice.note) == ("speech_hidden", TRIAL, "against rule 3")


async def test_a_repeat_has_no_second_effect_and_restore_takes_it_back(
    log: PostgresLog, pool: Pool, database_url: str
) -> None:
    del log
    both = await asyncio.gather(*(decided(pool, hide(1, game=TRIAL)) for _ in range(2)))
    assert sorted(made.changed for made in both) == [False, True]
    restore = decision("restore", "speech", game_id=TRIAL, version=1)
    assert (await decided(pool, restore)).changed
    assert not (await decided(pool, restore)).changed
    assert [kind for kind, _ in await records(database_url)] == ["speech_hidden", "speech_restored"]
    (row,) = await hidden(pool)
    assert (row.hidden, row.revision) == (False, 2)


@pytest.mark.parametrize("version", [1, 3])
async def test_a_comment_is_hidden_where_it_was_made_and_where_it_was_revealed(
    log: PostgresLog, pool: Pool, version: int
) -> None:
    del log
    assert (await decided(pool, hide(version, ADA))).changed
    found = await hidden(pool)
    assert sorted((one.version, one.agent_id) for one in found) == [(1, ADA), (3, ADA)]
    assert not (await decided(pool, hide(4 - version, ADA))).changed, "the same comment by its other record"


async def test_a_record_with_texts_of_several_can_be_hidden_whole(log: PostgresLog, pool: Pool) -> None:
    del log
    await decided(pool, hide(3))
    assert sorted((one.version, one.agent_id) for one in await hidden(pool)) == [
        (1, ""), (2, ""), (3, ""),
    ]  # fmt: skip


async def test_a_record_is_restored_for_all_authors_at_once(log: PostgresLog, pool: Pool, all_rights: Pool) -> None:
    del log
    await decided(pool, hide(3, ADA))
    await decided(pool, hide(3, BOB))
    assert (await decided(pool, decision("restore", "speech", game_id=GAME, version=3))).changed
    assert [row for row in await hidden(pool) if row.hidden] == []
    assert {row.revision for row in await hidden(pool)} == {3}
    assert await moderation_breaks(all_rights) == []
    assert (await decided(pool, hide(3, ADA))).changed
    assert await moderation_breaks(all_rights) == []


async def test_only_a_text_that_is_public_can_be_hidden(log: PostgresLog, pool: Pool, database_url: str) -> None:
    game = Game(OTHER)
    early = choice(ADA, "early")
    await log.append([unit(game.adds(1, kind=early.type, data=canonical_json(early)))])
    for wanted in (hide(1, game=OTHER), hide(9), hide(4, BOB), hide(1, game=UNKNOWN), hide(1, game="legal-1")):
        refused = await decide(pool, wanted)
        assert isinstance(refused, Refused)
        assert refused.code is Code.NOT_FOUND
    for wrong in (decision("hide", "speech", game_id=GAME), decision("ban", "name", agent_id=ADA)):
        refused = await decide(pool, wrong)
        assert isinstance(refused, Refused)
        assert refused.code is Code.INVALID_REQUEST
    for field in ("agent", "name"):
        unknown = await decide(pool, decision("restore", field, agent_id="agent-none"))
        assert isinstance(unknown, Refused)
        assert unknown.code is Code.NOT_FOUND
    assert await records(database_url) == []


async def test_a_name_is_replaced_and_given_back(log: PostgresLog, pool: Pool, database_url: str) -> None:
    del log
    accounts = PgAccounts(pool)
    before = (await accounts.callers([key("ada")]))[key("ada")]
    assert (await decided(pool, decision("rename", "agent", agent_id=ADA))).changed
    renamed = (await accounts.callers([key("ada")]))[key("ada")]
    assert (renamed.name, renamed.handle) == ("agent-000001", "agent-000001")  # type: ignore[union-attr]
    assert key("ada") in await accounts.void_keys(60), "gateways forget the old name"
    assert not (await decided(pool, decision("rename", "name", agent_id=ADA))).changed
    assert (await decided(pool, decision("hide", "name", agent_id=ADA))).changed
    hidden = (await accounts.callers([key("ada")]))[key("ada")]
    assert (hidden.name, hidden.handle) == ("[withheld]", "agent-000001")  # type: ignore[union-attr]
    assert (await decided(pool, decision("restore", "name", agent_id=ADA))).changed
    assert (await accounts.callers([key("ada")]))[key("ada")] == before
    assert not (await decided(pool, decision("restore", "name", agent_id=ADA))).changed
    assert [kind for kind, _ in await records(database_url)] == ["renamed", "name_hidden", "name_restored"]
    assert "Rude" not in repr(await records(database_url))


async def test_the_name_of_an_owner_is_replaced_and_given_back(log: PostgresLog, pool: Pool) -> None:
    del log
    owners = PgOwners(pool)
    await decided(pool, decision("rename", "name", owner_id=OWNER))
    assert await owners.names([OWNER]) == {OWNER: "owner-000001"}
    await decided(pool, decision("restore", "name", owner_id=OWNER))
    assert await owners.names([OWNER]) == {OWNER: "Rude & Co"}


async def test_bans_of_an_agent_and_of_its_owner_are_two(log: PostgresLog, pool: Pool) -> None:
    del log
    moderation, accounts = PgModeration(pool), PgAccounts(pool)
    await PgOwnership(pool).claim(OWNER, key("ada"), command(), "")
    soon, later = (datetime.now(UTC) + timedelta(hours=hours) for hours in (1, 2))
    subjects = [ADA, BOB, OWNER]
    assert await moderation.bans(subjects) == {}
    await decided(pool, decision("ban", "agent", agent_id=ADA, until=soon))
    assert await moderation.bans(subjects) == {ADA: Ban(ADA, soon)}
    await decided(pool, decision("ban", "owner", owner_id=OWNER, until=later))
    assert await moderation.bans(subjects) == {ADA: Ban(ADA, soon), OWNER: Ban(OWNER, later)}
    assert {key("ada"), key("owner")} <= set(await accounts.void_keys(60))
    await decided(pool, decision("ban", "agent", agent_id=ADA))
    assert await moderation.bans([ADA]) == {ADA: Ban(ADA, None)}
    assert not (await decided(pool, decision("ban", "agent", agent_id=ADA))).changed
    await decided(pool, decision("restore", "agent", agent_id=ADA))
    await decided(pool, decision("restore", "owner", owner_id=OWNER))
    assert await moderation.bans(subjects) == {}


async def test_a_ban_ends_by_itself(log: PostgresLog, pool: Pool) -> None:
    del log
    moderation = PgModeration(pool)
    await decided(pool, decision("ban", "agent", agent_id=ADA, until=datetime.now(UTC) + timedelta(seconds=0.3)))

    async def over() -> bool:
        return await moderation.bans([ADA]) == {}

    await wait_until(over)


async def test_each_month_has_a_stream_and_no_decision_is_older_than_the_one_before(
    log: PostgresLog, pool: Pool, all_rights: Pool
) -> None:
    december = datetime(2026, 12, 1, tzinfo=UTC)
    first = await decided(pool, decision("ban", "agent", agent_id=ADA))
    second = await decided(pool, decision("ban", "agent", agent_id=BOB, at=december))
    slow = await decided(pool, decision("restore", "agent", agent_id=BOB, at=december - timedelta(seconds=1)))
    assert [(made.stream, made.version) for made in (first, second, slow)] == [
        (moderation_of(NOON), 1), (moderation_of(december), 1), (moderation_of(december), 2),
    ]  # fmt: skip
    checked = await verify(log, deciders())
    assert [one.problem for one in checked.breaks if one.stream.startswith("moderation")] == []
    assert checked.exact == 2
    assert await moderation_breaks(all_rights) == []


TAMPERED = [
    ("DELETE FROM log.hidden", "hidden text of"),
    ("UPDATE account.renamed SET handle = 'Rude'", "name of"),
    ("UPDATE account.ban SET until = now()", "ban of"),
    ("INSERT INTO account.ban VALUES ('agent-9', true, null, 7)", "ban of agent-9"),
]


@pytest.mark.parametrize(("change", "problem"), TAMPERED)
async def test_changed_tables_are_found_and_rebuilt_from_the_log(
    log: PostgresLog, pool: Pool, all_rights: Pool, change: str, problem: str
) -> None:
    del log
    await decided(pool, hide(3, ADA))
    await decided(pool, decision("rename", "agent", agent_id=ADA))
    await decided(pool, decision("ban", "agent", agent_id=BOB))
    async with all_rights.transaction() as connection:
        await connection.execute(change)
    breaks = await moderation_breaks(all_rights)
    assert breaks
    assert all(problem in one.problem for one in breaks)
    assert await rebuild_moderation(all_rights) == 3
    assert await moderation_breaks(all_rights) == []
    assert (await PgAccounts(pool).callers([key("ada")]))[key("ada")].name == "agent-000001"


async def test_a_gateway_that_is_killed_leaves_event_and_row_or_neither(
    log: PostgresLog, pool: Pool, all_rights: Pool, database_url: str
) -> None:
    """Killed while the decision waits for the counter of the log, its last step."""
    del log
    holder = await asyncpg.connect(database_url)
    killer = await asyncpg.connect(database_url)
    async with holder.transaction():
        await holder.execute("SELECT position FROM log.head FOR UPDATE")
        deciding = asyncio.create_task(decide(pool, hide(3, ADA)))

        async def killed() -> bool:
            return bool(await killer.fetchval(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE query LIKE '%log.moderate(%' AND wait_event_type = 'Lock'"
            ))  # fmt: skip

        await wait_until(killed)
        assert isinstance((await asyncio.gather(deciding, return_exceptions=True))[0], Exception)
    await holder.close()
    await killer.close()
    assert await records(database_url) == []
    assert await hidden(pool) == []
    assert (await decided(pool, hide(3, ADA))).changed
    assert await moderation_breaks(all_rights) == []


async def test_services_read_decisions_and_cannot_make_them(database_url: str) -> None:
    for role in ("playmolt_engine", "playmolt_relay", "playmolt_reader"):
        pool = await open_pool(database_url, role=role)
        assert await PgModeration(pool).since(0, 9) == []
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await decide(pool, hide(1))
        await pool.close()
