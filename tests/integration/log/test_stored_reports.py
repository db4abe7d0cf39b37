"""Reports in Postgres, in the roles of the gateway and the relay."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from playmolt_core.db.cursors import BadCursor
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.db.reports import NewReport, PgReports
from playmolt_schemas.limits import REPORT_DAYS

SPEECH = NewReport(kind="speech", game_id="ox-1", version=7, agent_id="agent-1", reason="a slur")
COMMANDS = [f"{number:032x}" for number in range(10)]


@pytest.fixture
async def pool(database_url: str) -> AsyncIterator[Pool]:
    pool = await open_pool(database_url, role="playmolt_gateway", size=8)
    yield pool
    await pool.close()


@pytest.fixture
def reports(pool: Pool) -> PgReports:
    return PgReports(pool)


async def test_equal_reports_at_once_are_one_row(reports: PgReports) -> None:
    ids = await asyncio.gather(*(reports.add(f"report-{n}", SPEECH, COMMANDS[n], "") for n in range(6)))
    assert len(set(ids)) == 1
    found = await reports.report(str(ids[0]))
    assert found
    assert (found.count, found.decision, found.kind, found.version) == (6, None, "speech", 7)
    assert await reports.report("report-none") is None


async def test_reports_of_two_tournaments_for_one_reason_are_two(reports: PgReports) -> None:
    """A name that was seen in two games is one; the name of a tournament is named by its game_id."""
    cups = [NewReport(kind="name", game_id=f"tournament-{n}", reason="a slur") for n in (1, 2)]
    seen = [NewReport(kind="name", game_id=f"ox-{n}", agent_id="agent-1", reason="a slur") for n in (1, 2)]
    ids = [await reports.add(f"report-{n}", new, COMMANDS[n], "") for n, new in enumerate((*cups, *seen))]
    assert ids == ["report-0", "report-1", "report-2", "report-2"]


async def test_a_repeated_command_counts_once_also_at_once(reports: PgReports) -> None:
    ids = await asyncio.gather(*(reports.add(f"report-{n}", SPEECH, COMMANDS[0], "ab" * 32) for n in range(6)))
    assert len(set(ids)) == 1
    found = await reports.report(str(ids[0]))
    assert found
    assert found.count == 1
    assert await reports.add("report-9", SPEECH, COMMANDS[0], "cd" * 32) is None


async def test_a_decided_report_takes_no_more(reports: PgReports) -> None:
    """An equal report after the decision is a new one."""
    await reports.add("report-1", SPEECH, COMMANDS[1], "")
    decided = await reports.decide("report-1", "dismiss", "no slur", None)
    assert decided
    assert (decided.decision, decided.note, decided.until) == ("dismiss", "no slur", None)
    assert await reports.add("report-2", SPEECH, COMMANDS[2], "") == "report-2"
    assert await reports.decide("report-3", "dismiss", "", None) is None


async def test_an_answer_is_kept_under_its_command(reports: PgReports) -> None:
    assert await reports.answered(COMMANDS[0], "ab" * 32) == b""
    assert await reports.answered(COMMANDS[0], "ab" * 32) == b""
    await reports.keep(COMMANDS[0], b"{}")
    assert await reports.answered(COMMANDS[0], "ab" * 32) == b"{}"
    assert await reports.answered(COMMANDS[0], "cd" * 32) is None


async def test_a_list_is_newest_first_and_has_pages(reports: PgReports) -> None:
    for number in range(5):
        new = NewReport(kind="agent", agent_id=f"agent-{number}", reason="spam")
        await reports.add(f"report-{number}", new, COMMANDS[number], "")
    await reports.decide("report-2", "hide", "a note", None)
    first, cursor = await reports.reports("open", 3, None)
    assert [one.id for one in first] == ["report-4", "report-3", "report-1"]
    rest, end = await reports.reports("open", 3, cursor)
    assert ([one.id for one in rest], end) == (["report-0"], None)
    assert [one.id for one in (await reports.reports("decided", 3, None))[0]] == ["report-2"]
    assert len((await reports.reports(None, 9, None))[0]) == 5
    with pytest.raises(BadCursor):
        await reports.reports(None, 9, "eyJ9")


async def test_decided_reports_are_erased_after_their_days(reports: PgReports, pool: Pool, database_url: str) -> None:
    """With what their repeats are known by. Open ones stay."""
    for number in range(3):
        new = NewReport(kind="agent", agent_id=f"agent-{number}", reason="spam")
        await reports.add(f"report-{number}", new, COMMANDS[number], "ab" * 32)
    await pool.value("UPDATE account.report SET at = at - interval '400 days'")
    for number in (1, 2):
        await reports.decide(f"report-{number}", "dismiss", "fine", None)
    aged = "UPDATE account.report SET decided_at = decided_at - make_interval(days => $1, mins => 1) WHERE id = $2"
    await pool.value(aged, REPORT_DAYS, "report-1")
    await pool.value(aged, REPORT_DAYS - 1, "report-2")
    relay = await open_pool(database_url, role="playmolt_relay")
    assert await PgReports(relay).sweep() == 1
    assert await PgReports(relay).sweep() == 0
    await relay.close()
    assert [one.id for one in (await reports.reports(None, 9, None))[0]] == ["report-2", "report-0"]
    assert await pool.value("SELECT count(*) FROM account.report_key") == 2
