"""A service imports what it needs, and not what happens to be installed beside it: its start is mostly imports."""

import subprocess
import sys

import pytest

SDK = "opentelemetry.sdk"
MODELS = ("jsonschema", "playmolt_core.llm.scripted.model")


@pytest.mark.parametrize(
    ("service", "needless"),
    [
        ("playmolt_gateway", ("rich", SDK, *MODELS)),
        ("playmolt_spectator", ("rich", SDK, "asyncpg", *MODELS)),
        ("playmolt_core.relay", ("rich", SDK, *MODELS)),
        ("playmolt_ox", ("rich", SDK, *MODELS)),
        ("playmolt_trial_engine", ("rich", SDK)),
        ("playmolt_legal", ("rich", SDK)),
        ("playmolt_agora", ("rich", SDK)),
    ],
)
def test_a_service_starts_without_what_it_may_not_need(service: str, needless: tuple[str, ...]) -> None:
    program = f"import {service}.__main__, sys; print(*({set(needless)} & {{*sys.modules}}))"
    assert _printed_by(program) == []


def test_a_command_starts_without_what_only_some_commands_compute_with() -> None:
    needless = {"numpy", "scipy", "openskill", "jsonschema", "reportlab"}
    assert _printed_by(f"import playmolt_cli.main, sys; print(*({needless} & {{*sys.modules}}))") == []


def _printed_by(program: str) -> list[str]:
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    return found.stdout.split()
