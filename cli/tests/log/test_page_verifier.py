"""The verifier in JavaScript on docs/event-log.md, over games that were played to their end."""

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playmolt_core.game.decider import Act, Create, Join, Resign
from playmolt_core.log.copies.export import json_lines
from playmolt_core.log.memory import MemoryLog

from cli.tests.conftest import Writer

PAGE = (Path(__file__).parents[3] / "docs" / "event-log.md").read_text("utf-8")
GAMES = 4
NODE = shutil.which("node") or "node"
Spoil = Callable[[bytes], bytes]


async def play(log: MemoryLog, number: int) -> None:
    """A game in which seats choose at random, and in every second one somebody resigns."""
    chance = random.Random(number)
    writer = Writer(log, f"ox-00000000-0000-7000-8000-{number:012}")
    await writer.send(Create(seed=str(10**30 + number), config={}))
    agents = [f"agent-{place}" for place in range(5)]
    for agent in agents:
        await writer.send(Join(agent_id=agent, name=f"Größe {agent}"))
    unswitched = set(agents)
    for round_ in range(5):
        for agent in agents:
            action: dict[str, Any] = {"type": "first_choice", "choice": chance.choice("OX"), "comment": "\u2028 판사"}
            await writer.send(Act(agent_id=agent, action=action))
        for agent in agents:
            switch = agent in unswitched and chance.random() < 0.3
            unswitched -= {agent} if switch else set()
            await writer.send(Act(agent_id=agent, action={"type": "switch", "use_switch": switch}))
        if number % 2 and round_ in (1, 3):
            await writer.send(Resign(agent_id=agents.pop()))


@pytest.fixture
async def verify(log: MemoryLog, tmp_path: Path) -> Callable[[Spoil], subprocess.CompletedProcess[str]]:
    for number in range(GAMES):
        await play(log, number)
    lines = b"".join([piece async for piece in json_lines(log, running=True)])
    program = tmp_path / "verify.mjs"
    program.write_text(*re.findall(r"```js\n(.*?)```", PAGE, re.DOTALL), encoding="utf-8")

    def run(spoil: Spoil) -> subprocess.CompletedProcess[str]:
        copy = tmp_path / "log.jsonl"
        copy.write_bytes(spoil(lines))
        return subprocess.run([NODE, program, copy], capture_output=True, text=True, timeout=60, check=False)

    return run


def test_games_that_were_played_hold(verify: Callable[[Spoil], subprocess.CompletedProcess[str]]) -> None:
    found = verify(lambda lines: lines)
    assert (found.returncode, found.stdout) == (0, f"{GAMES} streams hold\n"), found.stderr


def test_a_changed_record_is_named(verify: Callable[[Spoil], subprocess.CompletedProcess[str]]) -> None:
    found = verify(lambda lines: lines.replace("판사".encode(), "판정".encode(), 1))
    assert found.returncode == 1
    assert "ox-00000000-0000-7000-8000-000000000000 9" in found.stderr


def test_a_missing_record_is_named(verify: Callable[[Spoil], subprocess.CompletedProcess[str]]) -> None:
    found = verify(lambda lines: b"\n".join(lines.split(b"\n")[1:]))
    assert found.returncode == 1
    assert "ox-00000000-0000-7000-8000-000000000000 2" in found.stderr
