"""The demo, as `make demo` runs it: every game there is, played to the end on real servers; and what is left of that
to try in a second locale."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from playmolt_cli.demo.legal import CASES
from playmolt_cli.local.stack import Stack

from core.tests.counting_proxy import CountingProxy

SECONDS = 900


def _playmolt(
    environment: Mapping[str, str], encoding: str, *words: str, folder: Path | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "playmolt_cli", *words],
        capture_output=True, encoding=encoding, timeout=SECONDS, check=False, env={**os.environ, **environment},
        cwd=folder,
    )  # fmt: skip


@pytest.fixture(scope="module")
def korean_locale(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """ko_KR.EUC-KR, made here: few machines still have it."""
    made = tmp_path_factory.mktemp("locales") / "ko_KR.EUC-KR"
    localedef = shutil.which("localedef") or pytest.fail("localedef comes with libc-bin; install it")
    subprocess.run([localedef, "-i", "ko_KR", "-f", "EUC-KR", made], check=True, capture_output=True, timeout=60)
    return {"LOCPATH": str(made.parent), "LC_ALL": made.name, "PYTHONUTF8": "0"}


OWN_SERVERS = {"DATABASE_URL": "", "NATS_URL": ""}
POSIX = {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}
"""Files, names and children as in POSIX, and a terminal that is strict besides."""


@pytest.mark.timeout(SECONDS + 20)
def test_the_demo_plays_every_game_to_the_end_and_leaves_nothing_behind(
    korean_locale: dict[str, str], folder: Path
) -> None:
    """In an encoding that is not UTF-8, below a path with Hangul in it, where the environment names a proxy.

    It is called, as the installed command is, in a folder in which a person keeps a file with the name of a library.
    """
    home = folder / "홈 폴더"
    home.mkdir(mode=0o755)
    (folder / "queue.py").write_text("raise RuntimeError('this is a bot')\n", "utf-8")
    with CountingProxy() as proxy:
        own = {**OWN_SERVERS, "TMPDIR": str(home), **korean_locale, **proxy.variables(), "no_proxy": "", "NO_PROXY": ""}
        played = _playmolt(own, "euc_kr", "demo", "--once", folder=folder)
    assert proxy.hosts == [], "nothing on this machine is asked through a proxy"
    assert played.returncode == 0, played.stdout[-4000:] + played.stderr[-4000:]
    assert "Traceback" not in played.stdout + played.stderr
    assert "ended with" not in played.stdout, "no process had to be started again"
    assert "0 unverified, 0 diverged, 0 breaks" in played.stdout
    assert "trial  The trial ends: " in played.stdout
    assert "ox     The game ends; " in played.stdout
    assert "Your turn: More facts?" in played.stdout
    assert "legal  가드레일 적용 (원고·검사 측 · 1라운드): 단정적 자문" in played.stdout
    assert "criminal-ko.docx " in played.stdout
    assert "civil-en.pdf " in played.stdout
    assert "Leaderboard" in played.stdout
    assert list(home.iterdir()) == []


@pytest.mark.timeout(SECONDS + 20)
def test_a_terminal_that_knows_ascii_alone_stops_no_platform_and_no_command(folder: Path) -> None:
    """Every process starts there and writes its files. What differs from the demo above is what a terminal shows."""
    case, facts, data = CASES[0].opening, folder / "facts.json", folder / "data"
    facts.write_text(json.dumps(dict(CASES[0].facts), ensure_ascii=False), "utf-8")
    opening = ("--case-type", case.case_type, "--jurisdiction", case.jurisdiction, "--language", case.language)
    shown = ""
    with CountingProxy() as proxy, Stack(data, environment={**OWN_SERVERS, **POSIX, **proxy.variables()}) as stack:
        for words in (
            ("legal", "new", *opening, "--title", "A card"), ("legal", "facts", "--file", str(facts)),
            ("legal", "gate", "--show"), ("log", "verify"), ("doctor",),
        ):  # fmt: skip
            own = {**OWN_SERVERS, **POSIX, **proxy.variables()}
            done = _playmolt(own, "ascii", *words, "--data", str(data))
            assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
            shown += done.stdout + done.stderr
    assert proxy.hosts == [], "nothing on this machine is asked through a proxy"
    assert "Traceback" not in shown + stack.log.read_text("utf-8")
    assert "ended with" not in stack.log.read_text("utf-8"), "no process had to be started again"
    assert "???? ??" in shown, "it shows what it cannot write"
    assert "0 DIVERGED" in shown
