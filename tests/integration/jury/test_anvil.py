"""A jury that votes on a chain outside: a real Anvil, named by EVM_RPC_URL."""

import asyncio
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from playmolt_cli.local.stack import Stack
from playmolt_cli.main import cli

from tests.integration.jury.person import Overseer

_CHAIN = Path(__file__).parents[3] / "services" / "trial-engine" / "tests" / "chain" / "conftest.py"


def _fixtures() -> Any:
    """The chain's own tests know how an Anvil is had; their folder's name is no module's."""
    spec = importlib.util.spec_from_file_location("jury_chain_fixtures", _CHAIN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


_chain = _fixtures()
npm, anvil = _chain.npm, _chain.anvil


async def test_a_jury_votes_on_a_chain_outside(stack: Callable[..., Stack], anvil: Any) -> None:
    running = stack(EVM_RPC_URL=anvil.url, PLAYMOLT_EVM_DEPLOYER_KEY=anvil.key)
    assert "evm-1" not in running.run.processes
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open()
        await overseer.to("vote")
        answer = await overseer.post("vote")
        assert answer.status_code == 200, answer.text
        verdict = answer.json()
        assert verdict["chain_id"] == int(anvil.ask("eth_chainId"), 16)
        for vote in verdict["votes"]:
            mined = anvil.ask("eth_getTransactionReceipt", vote["tx_hash"])
            assert (mined["status"], mined["from"], mined["to"]) == ("0x1", vote["address"], verdict["contract"])
        assert {receipt["status"] for receipt in anvil.transactions()} == {"0x1"}, "no transaction ever reverts"
        told = ["verify-verdict", overseer.session, "--data", str(running.folder.path)]
        unnamed = await asyncio.to_thread(CliRunner().invoke, cli, told, env={"DATABASE_URL": "", "EVM_RPC_URL": ""})
        assert unnamed.exit_code == 2, "nobody said where the chain is"
        for named in ([*told, "--rpc", anvil.url], told):
            own = {"DATABASE_URL": "", "EVM_RPC_URL": anvil.url}
            checked = await asyncio.to_thread(CliRunner().invoke, cli, named, env=own)
            assert checked.exit_code == 0, checked.output
