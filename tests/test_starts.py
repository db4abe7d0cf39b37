"""A service or a command imports only what it needs, because imports take most of the time of its start."""

import subprocess
import sys

import pytest

SDK = "opentelemetry.sdk"
NUMERIC = ("numpy", "scipy", "polars", "pyarrow", "vl_convert", "jinja2", "pypdf", "fpdf", "resvg_py", "fontTools")
MODELS = ("jsonschema", "playmolt_core.llm.scripted.model")


@pytest.mark.parametrize(
    ("services", "needless"),
    [
        (("playmolt_core.relay", "playmolt_ox", "playmolt_gateway"), ("rich", SDK, "standardwebhooks", *MODELS)),
        (("playmolt_spectator",), ("rich", SDK, "asyncpg", *MODELS)),
        (("playmolt_trial_engine", "playmolt_legal"), ("rich", SDK)),
        (("playmolt_agora_runner",), ("rich", SDK, *NUMERIC)),
        (("playmolt_agora.service",), ("rich", SDK, "asyncpg", *NUMERIC)),
    ],
)
def test_a_service_starts_without_what_it_may_not_need(services: tuple[str, ...], needless: tuple[str, ...]) -> None:
    """Services with the same forbidden modules are imported in one process, one after another."""
    found = f"[module for module in {needless} if module in sys.modules]"
    program = "\n".join(
        f"import {name}.__main__; print(*('{name}: ' + module for module in {found}))" for name in services
    )
    assert _printed_by(program) == []


def test_a_command_starts_without_what_only_some_commands_need() -> None:
    needless = {"numpy", "scipy", "openskill", "jsonschema", "reportlab", "asyncio", "asyncpg", "msgspec", "nats"}
    assert _printed_by(f"import playmolt_cli.main; print(*({needless} & {{*sys.modules}}))") == []


def _printed_by(program: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{program}"], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.split()
