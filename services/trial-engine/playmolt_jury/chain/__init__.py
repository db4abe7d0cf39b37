"""The chain the jury votes on: the contract, an adapter for any node, an embedded node, and the check of a session.

Light to import: `connect` and `read_chain` bring in what signs and speaks only when a jury votes.
"""

import asyncio
import hashlib
import importlib
import re
import threading
from functools import cache
from typing import Any

from playmolt_jury.chain.port import (
    Case,
    CaseMissing,
    Chain,
    ChainFault,
    ChainUnavailable,
    DeployedContract,
    MinedVote,
    Reverted,
    Verdict,
)
from playmolt_jury.chain.verify import NoVerdict, compare, contract_of, withheld

EMBEDDED_DEPLOYER_KEY = "0x" + hashlib.sha256(b"playmolt: deployer of the embedded chain").hexdigest()
"""Holds all money of an embedded chain. Anyone can know it; that chain listens on this machine alone."""
EMBEDDED_DEPLOYER = "0x90c1d6bf51359689c1a82c32b4e940fb2ca849ce"
"""The address of that key, for who starts such a chain."""
_KEY = re.compile(r"0x[0-9a-fA-F]{64}")


def deployer_key(rpc_url: str, configured: str) -> str:
    """The key that pays: the embedded chain's own when `rpc_url` is empty, else the configured one.

    ValueError, in one line for the operator, when there is none or it is no key.
    """
    if not rpc_url:
        return EMBEDDED_DEPLOYER_KEY
    if not configured:
        raise ValueError(
            "EVM_RPC_URL is set and PLAYMOLT_EVM_DEPLOYER_KEY is not: set it to the private key (0x and 64 hex digits)"
            " of an account that holds money on that chain; it deploys the juries and funds their votes"
        )
    if not _KEY.fullmatch(configured):
        raise ValueError("PLAYMOLT_EVM_DEPLOYER_KEY is not a private key: it is 0x and 64 hex digits")
    return configured


__all__ = [
    "EMBEDDED_DEPLOYER",
    "EMBEDDED_DEPLOYER_KEY",
    "Case",
    "CaseMissing",
    "Chain",
    "ChainFault",
    "ChainUnavailable",
    "DeployedContract",
    "MinedVote",
    "NoVerdict",
    "Reverted",
    "Verdict",
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
