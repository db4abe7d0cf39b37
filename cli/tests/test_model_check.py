"""`doctor --models` asks each model whether it is there, answers and calls tools."""

from pathlib import Path

from click.testing import CliRunner
from playmolt_cli.main import cli
from playmolt_cli.model_check import check_models
from playmolt_core.llm.catalogue import Catalogue

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, reply, status


def by_model(asked: ReceivedRequest) -> Canned:
    """Each name is a model of another kind."""
    model = asked.body["model"]
    if model == "missing":
        return status(404, "model not found", error="model_not_found")
    if "tools" not in asked.body and "lookup_evidence" not in str(asked.body["messages"]):
        return reply("ready")
    if model == "native":
        return reply(tool_calls=[("lookup_evidence", {"id": "E1"})])
    if model == "spelt" and "tools" not in asked.body:
        return reply('{"tool": "lookup_evidence", "arguments": {"id": "E1"}}')
    return reply("I cannot look anything up.")


async def test_each_model_is_asked_for_words_and_for_a_tool() -> None:
    async with FakeServer() as server:
        server.otherwise = by_model
        entries = {name: server.entry(alias=name, model=name) for name in ("native", "spelt", "wordy", "missing")}
        found = {each.alias: each for each in await check_models(Catalogue(entries), {})}
    assert {alias: (each.answers, each.calls) for alias, each in found.items()} == {
        "native": (True, True), "spelt": (True, True), "wordy": (True, False), "missing": (False, None),
    }  # fmt: skip
    assert "the prompt describes" in found["spelt"].detail
    assert "calls no tool" in found["wordy"].detail
    assert "model not found" in found["missing"].detail


def test_a_catalogue_that_cannot_be_read_is_a_finding(tmp_path: Path) -> None:
    catalogue = tmp_path / "models.toml"
    catalogue.write_text("[models.a]\n")
    environment = {
        "DATABASE_URL": "",
        "NATS_URL": "",
        "PLAYMOLT_MODELS": str(catalogue),
        "PLAYMOLT_DATA": str(tmp_path),
        "PLAYMOLT_PORT": "9",
    }
    result = CliRunner().invoke(cli, ["doctor", "--models"], env=environment)
    assert result.exit_code == 1
    assert "FAULT  models" in result.output
