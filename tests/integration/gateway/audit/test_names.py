"""The names that the audit gave to what operators rely on, and what they say of a game that was played."""

import json
import re
import stat
from pathlib import Path

import httpx
import pytest
from click.testing import CliRunner, Result
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from playmolt_cli.main import cli
from playmolt_core.settings import parse_rate
from playmolt_gateway.settings import DEFAULT_ACTION_RATE, DEFAULT_RATE, GatewaySettings

from tests.integration.gateway.rows import Platform, Table

ROOT = Path(__file__).parents[4]
SETTINGS = (ROOT / "docs/settings.md").read_text("utf-8")
LIMITS = [
    ("PLAYMOLT_RATE_LIMIT", DEFAULT_RATE),
    ("PLAYMOLT_ACTION_RATE_LIMIT", DEFAULT_ACTION_RATE),
    ("PLAYMOLT_REGISTRATION_LIMIT", GatewaySettings().registration_limit),
]


def command(platform: Platform, *words: str) -> Result:
    """A `playmolt` command beside the running `up`, without a process of its own."""
    given = [*words, "--data", str(platform.stack.folder.path)]
    return CliRunner().invoke(cli, given, env={"DATABASE_URL": "", "NATS_URL": ""})


@pytest.fixture(scope="module")
def played(audited: Platform) -> Table:
    audited.clear()
    table = audited.table("ox")
    table.ox(*["OOOOX"] * 5)
    return table


@pytest.mark.parametrize(("variable", "default"), LIMITS)
def test_a_limit_has_a_default_and_is_documented(variable: str, default: str) -> None:
    assert parse_rate(default)
    assert re.search(rf"^\| `{variable}` \| str \| `{default}` \|", SETTINGS, re.MULTILINE)


def test_the_reader_finds_its_logins(audited: Platform) -> None:
    place = audited.stack.folder.path / "reader.json"
    found = json.loads(place.read_text("utf-8"))
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert set(found) == {"database_url", "nats"}
    assert set(found["nats"]) == {"url", "user", "password"}


def test_faults_of_the_chain_and_mends_are_counted_and_alerted(audited: Platform, played: Table) -> None:
    del played
    url = audited.stack.run.health["relay-1"].replace("readyz", "metrics")
    figures = httpx.get(url, trust_env=False, timeout=60).text
    assert re.search(r'^playmolt_log_chain_faults_total\{game="ox"\} 0$', figures, re.MULTILINE)
    assert re.search(r'^playmolt_feed_mends_total\{stream="SPECTATE"\} 0$', figures, re.MULTILINE)
    alerts = (ROOT / "deploy/k8s/monitoring/alerts.yaml").read_text("utf-8")
    assert "alert: LogChainBroken" in alerts
    assert "alert: FeedMended" in alerts


def test_an_anchor_is_signed_and_one_that_was_edited_is_told(audited: Platform, played: Table, tmp_path: Path) -> None:
    place, key = tmp_path / "anchors.jsonl", tmp_path / "key.pem"
    made = command(audited, "log", "anchor", "--out", str(place), "--key", str(key))
    assert made.exit_code == 0, made.output
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    load_pem_private_key(key.read_bytes(), None)
    assert command(audited, "log", "verify", "--anchors", str(place)).exit_code == 0
    text = place.read_text("utf-8")
    edited = text.replace(
        f'"{played.game_id}",', f'"{played.game_id[:-1]}{"1" if played.game_id[-1] == "0" else "0"}",'
    )
    assert edited != text
    place.write_text(edited, "utf-8")
    assert command(audited, "log", "verify", "--anchors", str(place)).exit_code == 1


def test_every_command_is_decided_again_to_the_same(audited: Platform, played: Table) -> None:
    done = command(audited, "log", "check", "--redecide", "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0, done.stdout
    assert set(found) == {"games", "same", "differ", "rules"}
    assert found["games"] == found["same"] >= 1
    assert found["differ"] == []
    assert set(found["rules"]["ox"]) == {"stored", "now"}
    assert played.game_id


def test_an_export_that_lost_a_game_is_broken(audited: Platform, played: Table, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    assert command(audited, "log", "export", "--out", str(out)).exit_code == 0
    kept = [
        line for line in out.read_text("utf-8").splitlines(keepends=True) if f'"stream":"{played.game_id}"' not in line
    ]
    out.write_text("".join(kept), "utf-8")
    broken = command(audited, "log", "verify", str(out))
    assert broken.exit_code == 1
    assert played.game_id in broken.output
