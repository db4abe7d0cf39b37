"""Which key pays for juries. Light to import."""

import hashlib
import re

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
