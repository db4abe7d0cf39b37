"""The tools of `/mcp` in the hands of three agents of others, each of which turns schemas into its own."""

import subprocess
from pathlib import Path

from playmolt_gateway.mcp.tools import tools

from tests.platforms import Stack

SECONDS = 200
SCRIPT = Path(__file__).with_name("mcp_tools.py")


def test_each_of_them_takes_every_tool_and_calls_one(platform: Stack, foreign_python: Path) -> None:
    called = subprocess.run(
        [foreign_python, SCRIPT, f"{platform.run.gateway}/mcp"],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert called.returncode == 0, called.stderr
    number = len(tools())
    assert called.stdout.splitlines() == [
        f"google_genai {number} by google-genai",
        f"openai_agents {number} by openai-agents",
        f"llama_index {number} by llama-index",
    ]
