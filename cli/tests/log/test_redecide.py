"""`log check --redecide`: what would today's rules make of what was played?"""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from playmolt_cli.games import deciders
from playmolt_cli.log.redecide import GameDifference, RedecisionReport, RulesVersions, redecide
from playmolt_cli.main import cli
from playmolt_core.game.decider import Command, EndGame, Refused
from playmolt_core.game.withholding import Withheld
from playmolt_core.log.copies.export import json_lines
from playmolt_core.log.memory import MemoryLog
from playmolt_ox.rules import Ox
from playmolt_schemas.codes import Code
from playmolt_schemas.records import Record
from playmolt_schemas.text import WITHHELD
from typing_extensions import override

RUNNING = "ox-00000000-0000-7000-8000-000000000001"
ENDED = "ox-00000000-0000-7000-8000-000000000002"
Store = Callable[..., Awaitable[None]]


class NobodyEnds(Ox):
    """Rules of a next version, under which an operator cannot end a game."""

    rules_version = Ox.rules_version + 1

    @override
    def decide(self, state: object, command: Command, at: object) -> object:  # type: ignore[override]
        if isinstance(command, EndGame):
            return Refused(Code.INVALID_REQUEST, "No.")
        return super().decide(state, command, at)  # type: ignore[arg-type]


async def test_rules_that_did_not_change_decide_everything_as_it_was(log: MemoryLog, store: Store) -> None:
    await store(ENDED, ended=True)
    await store(RUNNING, ended=False)
    assert await redecide(log, deciders(), lambda _: None) == RedecisionReport(
        2, 2, [], {"ox": RulesVersions(Ox.rules_version, Ox.rules_version)}
    )


async def test_a_game_that_would_not_have_ended_is_reported_with_its_event(log: MemoryLog, store: Store) -> None:
    await store(ENDED, ended=True)
    await store(RUNNING, ended=False)
    found = await redecide(log, {**deciders(), "ox": NobodyEnds()}, lambda _: None)
    last = GameDifference(ENDED, "ox", 11, events=True, results=True, points=False)
    assert found == RedecisionReport(
        2, 1, [last], {"ox": RulesVersions(stored=Ox.rules_version, now=NobodyEnds.rules_version)}
    )


async def test_a_game_that_today_s_rules_cannot_read_differs(log: MemoryLog, store: Store) -> None:
    await store(ENDED, ended=True)
    rules = Ox()
    rules.events = {key: reader for key, reader in rules.events.items() if key[0] != "game_started"}
    [difference] = (await redecide(log, {**deciders(), "ox": rules}, lambda _: None)).differ
    assert (difference.game_id, difference.events) == (ENDED, True)


async def test_the_command_tells_a_changed_rule_and_exits_1(
    log: MemoryLog, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store(ENDED, ended=True)
    copy = tmp_path / "log.jsonl"
    copy.write_bytes(b"".join([piece async for piece in json_lines(log, deciders())]))
    same = CliRunner().invoke(cli, ["log", "check", "--redecide", "--json", str(copy)])
    assert (same.exit_code, json.loads(same.stdout)) == (
        0, {"games": 1, "same": 1, "differ": [], "rules": {"ox": dict.fromkeys(("stored", "now"), Ox.rules_version)}}
    )  # fmt: skip
    submit = Ox.submit

    def refusing(self: Ox, state: Any, seat: Any, action: Any) -> Any:
        refused = Refused(Code.INVALID_ACTION, "Give another reason.")
        return refused if action["comment"] == "because" else submit(self, state, seat, action)

    monkeypatch.setattr(Ox, "submit", refusing)
    told = CliRunner().invoke(cli, ["log", "check", "--redecide", "--json", str(copy)])
    [difference] = json.loads(told.stdout)["differ"]
    assert told.exit_code == 1
    assert difference == {
        "game_id": ENDED, "game": "ox", "version": 9, "events": True, "results": False, "points": False,
    }  # fmt: skip
    shown = CliRunner().invoke(cli, ["log", "check", "--redecide", str(copy)])
    assert (shown.exit_code, "1 games decided again, 0 the same" in shown.stdout) == (1, True)


async def test_of_a_public_copy_withheld_events_are_named_and_all_others_judged(
    log: MemoryLog, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store(ENDED, ended=True)
    copy, hidden = tmp_path / "public.jsonl", Withheld()
    lines = b"".join([piece async for piece in json_lines(log, deciders())]).splitlines()
    hidden.hide(ENDED, 9, "agent-0", hidden=True)
    shown = [hidden.record(Ox(), msgspec.json.decode(line, type=Record)) for line in lines]
    copy.write_bytes(b"\n".join(map(msgspec.json.encode, shown)))

    def checked() -> tuple[int, Any]:
        done = CliRunner().invoke(cli, ["log", "check", "--redecide", "--json", str(copy)])
        return done.exit_code, json.loads(done.stdout)

    withheld = [{"game_id": ENDED, "game": "ox", "versions": [9]}]
    status, same = checked()
    assert (status, same["same"], same["differ"], same["withheld"]) == (0, 1, [], withheld)
    read = CliRunner().invoke(cli, ["log", "check", "--redecide", str(copy)])
    assert f"WITHHELD {ENDED} event 9: cannot be decided again" in read.stdout

    folded = CliRunner().invoke(cli, ["log", "check", str(copy)])
    assert (folded.exit_code, "1 have withheld records" in folded.stdout) == (0, True)

    submit = Ox.submit

    def refusing(self: Ox, state: Any, seat: Any, action: Any) -> Any:
        bad = action["comment"] in refused
        return Refused(Code.INVALID_ACTION, "Give another reason.") if bad else submit(self, state, seat, action)

    monkeypatch.setattr(Ox, "submit", refusing)
    refused = {WITHHELD}
    assert checked()[0] == 0, "a rule that refuses the placeholder says nothing about the text"
    refused = {WITHHELD, "because"}
    status, differing = checked()
    assert (status, [each["version"] for each in differing["differ"]], differing["withheld"]) == (1, [10], withheld)
