"""The chain the jury votes on: the contract, an adapter for any node, an embedded node, and the check of a session.

Light to import: `connect` and `read_chain` bring in what signs and speaks only when a jury votes.
"""

import asyncio
import importlib
import threading
from functools import cache
from typing import Any

from playmolt_jury.chain.deployer import EMBEDDED_DEPLOYER_KEY, deployer_key
from playmolt_jury.chain.port import Case, CaseGone, Chain, ChainAway, ChainFault, Deployed, Reverted, Verdict, Voted
from playmolt_jury.chain.verify import NoVerdict, compare, contract_of, withheld

__all__ = [
    "EMBEDDED_DEPLOYER_KEY",
    "Case",
    "CaseGone",
    "Chain",
    "ChainAway",
    "ChainFault",
    "Deployed",
    "NoVerdict",
    "Reverted",
    "Verdict",
    "Voted",
    "compare",
    "connect",
    "contract_of",
    "deployer_key",
    "preload",
    "read_chain",
    "withheld",
]


async def connect(url: str, key: str, secret: str = "", confirmations: int = 0) -> Chain:
    """The chain behind a JSON-RPC node; says nothing to it yet. `key` as `deployer_key` gives it; `secret`, which
    the jurors' keys follow from, is derived from it when empty. `confirmations` as for `JsonRpcChain`."""
    chain: Chain = (await _loaded("jsonrpc")).JsonRpcChain(url, key, secret, confirmations=confirmations)
    return chain


async def read_chain(url: str, address: str) -> Verdict:
    """Read a case by its contract's address, without a key. The votes' `juror_id` is "": a contract knows addresses.

    ChainAway when the node cannot be had, ChainFault when no JuryVoting of this source stands there.
    """
    verdict: Verdict = await (await _loaded("reading")).read_chain(url, address)
    return verdict


@cache
def preload() -> None:
    """Begins to load what signs and speaks, once, beside everything else: a vote shall not wait for its imports."""
    name = f"{__name__}.jsonrpc"
    threading.Thread(target=importlib.import_module, args=(name,), name="preload chain", daemon=True).start()


async def _loaded(module: str) -> Any:
    # A second of imports, beside the loop.
    return await asyncio.to_thread(importlib.import_module, f"{__name__}.{module}")
