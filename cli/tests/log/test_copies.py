"""Copies of the log: what is missing or was changed is named, and the exit status is 1."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from playmolt_cli.games import deciders
from playmolt_cli.main import cli
from playmolt_core.log.copies.export import json_lines
from playmolt_core.log.copies.manifest import ManifestBuilder, beside, write_manifest
from playmolt_core.log.memory import MemoryLog
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import ZERO_HASH, record_hash

ENDED = "ox-00000000-0000-7000-8000-000000000002"
OTHER = "ox-00000000-0000-7000-8000-000000000003"
RUNNING = "ox-00000000-0000-7000-8000-000000000001"
Store = Callable[..., Awaitable[None]]
Change = Callable[[list[dict[str, Any]]], list[dict[str, Any]]]


@pytest.fixture
async def copy(log: MemoryLog, store: Store, tmp_path: Path) -> Path:
    """An export of two games that ended and of one that runs, with its manifest."""
    for stream in (ENDED, OTHER):
        await store(stream, ended=True)
    await store(RUNNING, ended=False)
    path, listing = tmp_path / "log.jsonl", ManifestBuilder()
    path.write_bytes(b"".join([piece async for piece in json_lines(log, deciders(), running=True, listing=listing)]))
    write_manifest(listing.finish(), beside(path))
    return path


def changed(path: Path, change: Change) -> None:
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(json.dumps(record) + "\n" for record in change(records)), encoding="utf-8")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def rehashed(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The records with a chain that holds again: what somebody does who can write every hash anew."""
    ends: dict[str, str] = {}
    for record in records:
        record["prev_hash"] = ends.get(record["stream"], ZERO_HASH)
        fields = {name: value for name, value in record.items() if name not in ("hash", "position")}
        body = {name: canonical_json(fields[name]) for name in ("data", "metadata")}
        record["hash"] = ends[record["stream"]] = record_hash(**(fields | body))
    return records


def test_a_whole_copy_holds_and_each_of_its_games_is_reported(copy: Path) -> None:
    assert run("log", "verify", copy).exit_code == 0
    assert run("replay", ENDED, "--log", copy).exit_code == 0
    assert run("replay", RUNNING, "--log", copy).exit_code == 0


def test_a_copy_that_another_tool_wrote_is_the_same(copy: Path) -> None:
    changed(copy, lambda records: records)
    assert run("log", "verify", copy).exit_code == 0


def without_a_game(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["stream"] != OTHER]


def without_an_end(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if (record["stream"], record["type"]) != (OTHER, "game_aborted")]


def without_state_hashes(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for record in records:
        if record["stream"] == OTHER:
            record["metadata"].pop("state_hash", None)
    return rehashed(records)


def forged(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for record in records:
        if (record["stream"], record["type"]) == (OTHER, "first_choice_submitted"):
            record["data"]["comment"] = "forged"
    return rehashed(records)


def edited(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    next(each for each in records if each["stream"] == OTHER and each["version"] == 2)["data"]["name"] = "Mallory"
    return records


def a_hash_edited(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    [*_, last] = [record for record in records if record["stream"] == OTHER]
    last["hash"] = "0" * 64
    return records


def one_missing(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if (record["stream"], record["version"]) != (OTHER, 3)]


BREAKS = [without_a_game, without_an_end, without_state_hashes, forged, edited, a_hash_edited, one_missing]


@pytest.mark.parametrize("change", BREAKS)
@pytest.mark.parametrize("listed", [True, False], ids=["with its manifest", "without"])
def test_a_break_is_named_with_its_stream(copy: Path, change: Change, listed: bool) -> None:
    changed(copy, without_what_runs if not listed else lambda records: records)
    changed(copy, change)
    if not listed:
        beside(copy).unlink()
    unseen = not listed and change is without_a_game
    found = run("log", "verify", copy)
    assert (found.exit_code, f"BREAK  {OTHER} " in found.stdout) == ((0, False) if unseen else (1, True))
    told = run("replay", ENDED, "--log", copy)
    assert (told.exit_code, f"BREAK  {OTHER} " in told.stdout) == ((0, False) if unseen else (1, True))
    if not unseen:
        mine = run("replay", OTHER, "--log", copy, "--json")
        assert (mine.exit_code, json.loads(mine.stdout)["verdict"]) == (1, "DIVERGED")


def without_what_runs(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [record for record in records if record["stream"] != RUNNING]


def test_without_a_manifest_a_game_that_does_not_end_is_not_whole(copy: Path) -> None:
    beside(copy).unlink()
    found = run("log", "verify", copy)
    assert (found.exit_code, f"BREAK  {RUNNING} " in found.stdout) == (1, True)


def test_a_copy_that_ends_in_the_middle_of_a_line_is_broken(copy: Path) -> None:
    copy.write_bytes(copy.read_bytes()[:-20])
    found = run("log", "verify", copy)
    assert (found.exit_code, f"BREAK  {RUNNING} " in found.stdout) == (1, True)


def test_a_manifest_that_is_none_is_a_break(copy: Path) -> None:
    beside(copy).write_text("[]")
    assert run("log", "verify", copy).exit_code == 1


def test_a_manifest_that_lists_another_order_does_not_fit(copy: Path) -> None:
    changed(copy, lambda records: sorted(records, key=lambda record: (record["stream"], record["version"])))
    found = run("log", "verify", copy)
    assert (found.exit_code, found.stdout.count("BREAK")) == (1, 1)


def test_a_seat_of_a_game_that_is_over_is_told_what_it_knew(copy: Path) -> None:
    own = json.loads(run("replay", ENDED, "--log", copy, "--seat", "Agent 1", "--json").stdout)
    told = json.loads(run("replay", ENDED, "--log", copy, "--json").stdout)
    assert own["events"] != told["events"]
    assert "because" in json.dumps(own["events"])
    assert run("replay", ENDED, "--log", copy, "--seat", "nobody").exit_code == 2
    assert run("replay", RUNNING, "--log", copy, "--seat", "Agent 1").exit_code == 2
