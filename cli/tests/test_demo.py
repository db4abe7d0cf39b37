"""The demo, as `make demo` runs it: every game there is, played to the end on real servers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.strip()]


@pytest.mark.timeout(420)
def test_the_demo_plays_every_game_to_the_end_and_leaves_nothing_behind(folder: Path) -> None:
    environment = {**os.environ, "DATABASE_URL": "", "NATS_URL": "", "TMPDIR": str(folder)}
    command = [sys.executable, "-m", "playmolt_cli", "demo", "--once"]
    played = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False, env=environment)
    assert played.returncode == 0, played.stdout[-4000:] + played.stderr[-4000:]
    assert "trial  The trial ends: " in played.stdout
    assert "ox     The game ends; " in played.stdout
    assert "legal  — Your turn: More facts? —" in played.stdout
    assert "legal  가드레일 적용 (원고·검사 측 · 1라운드): 단정적 조언" in played.stdout
    assert {"criminal-ko.docx", "civil-en.pdf"} <= {Path(line.split()[0]).name for line in lines(played.stdout)}
    assert "0 unverified, 0 diverged, 0 breaks" in played.stdout
    assert "Leaderboard" in played.stdout
    assert list(folder.iterdir()) == []
