"""The demo, as `make demo` runs it: every game there is, played to the end on real servers."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


def _play(folder: Path, environment: Mapping[str, str], encoding: str = "utf-8") -> subprocess.CompletedProcess[str]:
    own = {**os.environ, "DATABASE_URL": "", "NATS_URL": "", "TMPDIR": str(folder), **environment}
    return subprocess.run(
        [sys.executable, "-m", "playmolt_cli", "demo", "--once"],
        capture_output=True, encoding=encoding, timeout=400, check=False, env=own,
    )  # fmt: skip


@pytest.fixture(scope="module")
def korean_locale(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """ko_KR.EUC-KR, made here: few machines still have it."""
    made = tmp_path_factory.mktemp("locales") / "ko_KR.EUC-KR"
    localedef = shutil.which("localedef") or pytest.fail("localedef comes with libc-bin; install it")
    subprocess.run([localedef, "-i", "ko_KR", "-f", "EUC-KR", made], check=True, capture_output=True, timeout=60)
    return {"LOCPATH": str(made.parent), "LC_ALL": made.name, "PYTHONUTF8": "0"}


# Files, names and children as in POSIX, and a terminal that is strict besides.
POSIX = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}


@pytest.mark.timeout(420)
def test_the_demo_plays_every_game_to_the_end_and_leaves_nothing_behind(
    korean_locale: dict[str, str], folder: Path
) -> None:
    """In an encoding that is not UTF-8, below a path with Hangul in it."""
    home = folder / "홈 폴더"
    home.mkdir(mode=0o755)
    played = _play(home, korean_locale, "euc_kr")
    _ended_well(played)
    assert "trial  The trial ends: " in played.stdout
    assert "ox     The game ends; " in played.stdout
    assert "Your turn: More facts?" in played.stdout
    assert "legal  가드레일 적용 (원고·검사 측 · 1라운드): 단정적 자문" in played.stdout
    assert "criminal-ko.docx " in played.stdout
    assert "civil-en.pdf " in played.stdout
    assert "Leaderboard" in played.stdout
    assert list(home.iterdir()) == []


@pytest.mark.timeout(420)
def test_a_terminal_that_knows_ascii_alone_stops_no_demo(folder: Path) -> None:
    played = _play(folder, POSIX, "ascii")
    _ended_well(played)
    assert "???? ??" in played.stdout, "it shows what it cannot write"


def _ended_well(played: subprocess.CompletedProcess[str]) -> None:
    assert played.returncode == 0, played.stdout[-4000:] + played.stderr[-4000:]
    assert "Traceback" not in played.stdout + played.stderr
    assert "ended with" not in played.stdout, "no process had to be started again"
    assert "0 unverified, 0 diverged, 0 breaks" in played.stdout
