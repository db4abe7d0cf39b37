"""The chain the jury votes on: the contract, an adapter for any node, an embedded node, and the check of a session.

Cheap to import: `connect` and `read_chain` load the libraries for signing and JSON-RPC on first use.
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
    Chain,
    ChainFault,
    ChainUnavailable,
    DeployedContract,
    MinedVote,
    MissingCase,
    Reverted,
    Verdict,
)
from playmolt_jury.chain.verify import NoVerdict, compare, contract_of, withheld, without_chain

EMBEDDED_DEPLOYER_KEY = "0x" + hashlib.sha256(b"playmolt: deployer of the embedded chain").hexdigest()
"""Owns all funds of an embedded chain. It is public; that chain listens on this machine only."""
EMBEDDED_DEPLOYER = "0x90c1d6bf51359689c1a82c32b4e940fb2ca849ce"
"""The address of that key."""
_KEY = re.compile(r"0x[0-9a-fA-F]{64}")


def deployer_key(rpc_url: str, configured: str) -> str:
    """The key that pays: that of the embedded chain if `rpc_url` is empty, otherwise the configured one.

    ValueError with a message for the operator if it is missing or invalid.
    """
    if not rpc_url:
        return EMBEDDED_DEPLOYER_KEY
    if not configured:
        raise ValueError(
            "EVM_RPC_URL is set and PLAYMOLT_EVM_DEPLOYER_KEY is not: set it to the private key (0x and 64 hex digits)"
            " of an account that holds money on that chain; it deploys the juries and funds their votes"
        )
    if not _KEY.fullmatch(configured):
        raise ValueError("PLAYMOLT_EVM_DEPLOYER_KEY is not a private key: set 0x and 64 hex digits")
    return configured


__all__ = [
    "EMBEDDED_DEPLOYER",
    "EMBEDDED_DEPLOYER_KEY",
    "Case",
    "Chain",
    "ChainFault",
    "ChainUnavailable",
    "DeployedContract",
    "MinedVote",
    "MissingCase",
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
    "without_chain",
]


async def connect(url: str, key: str, secret: str = "", confirmations: int = 0) -> Chain:
    """The chain behind a JSON-RPC node; sends no request yet. `key` is the result of `deployer_key`. The jurors' keys
    are derived from `secret`, or from `key` if it is empty. `confirmations` as for `JsonRpcChain`."""
    chain_of = (await _loaded("jsonrpc")).JsonRpcChain
    # The client of a first chain imports its transport and reads certificates.
    chain: Chain = await asyncio.to_thread(chain_of, url, key, secret, confirmations=confirmations)
    return chain


async def read_chain(url: str, address: str) -> Verdict:
    """Read a case by its contract's address, without a key. The votes' `juror_id` is "": a contract knows addresses.

    ChainUnavailable when the node is unavailable, ChainFault when the address has no JuryVoting of this build.
    """
    verdict: Verdict = await (await _loaded("reading")).read_chain(url, address)
    return verdict


@cache
def preload() -> None:
    """Starts loading the chain libraries in a thread, once, so that a vote does not wait for imports."""
    name = f"{__name__}.jsonrpc"
    threading.Thread(target=importlib.import_module, args=(name,), name="preload chain", daemon=True).start()


async def _loaded(module: str) -> Any:
    # The imports take about a second.
    return await asyncio.to_thread(importlib.import_module, f"{__name__}.{module}")
