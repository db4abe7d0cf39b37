"""A jury that votes on a chain outside: a real Anvil, named by EVM_RPC_URL."""

import asyncio
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from playmolt_cli.main import cli
from playmolt_jury.chain.contract import vote_call

from tests.integration.jury.person import Overseer
from tests.platforms import Stack

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
_VOTE = "0x" + vote_call(True)[:4].hex()
npm, anvil = _chain.npm, _chain.anvil


async def test_a_jury_votes_on_a_chain_outside(stack: Callable[..., Stack], anvil: Any) -> None:
    running = stack(EVM_RPC_URL=anvil.url, PLAYMOLT_EVM_DEPLOYER_KEY=anvil.key)
    assert "evm-1" not in running.run.processes
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open()
        await overseer.to("vote")
        verdict = await overseer.votes()
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

        # The chain begins anew under the next vote.
        await overseer.open()
        await overseer.to("vote")
        anvil.ask("evm_setAutomine", False)
        voting = asyncio.create_task(overseer.post("vote"))
        await _until_sent(anvil)
        anvil.kill()
        anvil.start()
        failed = (await overseer.until(lambda session: session["failed"]))["failed"]
        assert (failed["phase"], failed["code"]) == ("vote", "chain_changed")
        assert (await voting).status_code in (202, 503)
        goes_on = ["jury", "play", "--session", overseer.session, "--auto", "--json", "--url", running.run.gateway,
                   "--key", overseer.headers["Authorization"].removeprefix("Bearer ")]  # fmt: skip
        played = await asyncio.to_thread(CliRunner().invoke, cli, goes_on, env={"PLAYMOLT_DATA": ""})
        assert played.exit_code == 0, played.output
        assert (await overseer.has())["failed"] is None
        verdict = await overseer.has("verdict")
        sent = {vote["tx_hash"] for vote in verdict["votes"]}
        assert sent <= {receipt["transactionHash"] for receipt in anvil.transactions() if receipt["status"] == "0x1"}
        await overseer.refused(409, "nothing_to_retry", "retry")
        told = ["verify-verdict", overseer.session, "--data", str(running.folder.path), "--rpc", anvil.url]
        checked = await asyncio.to_thread(CliRunner().invoke, cli, told, env={"DATABASE_URL": ""})
        assert checked.exit_code == 0, checked.output


async def _until_sent(anvil: Any) -> None:
    """Mine what comes before the votes, until one waits, which then never comes into a block.

    A block is mined only for a transaction that waits: a vote that is sent meanwhile would come into an empty one.
    """
    async with asyncio.timeout(150):
        while not any(sent["input"].startswith(_VOTE) for sent in _waiting(anvil)):
            if any(not sent["input"].startswith(_VOTE) for sent in _waiting(anvil)):
                anvil.ask("evm_mine")
            await asyncio.sleep(0.2)


def _waiting(anvil: Any) -> list[dict[str, Any]]:
    return [sent for of_one in anvil.ask("txpool_content")["pending"].values() for sent in of_one.values()]
