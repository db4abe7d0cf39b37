"""`python -m playmolt_devchain --folder DIR --port N --funded ADDRESS`: a node, by default on this machine alone.

Alternatively set EVM_FOLDER, EVM_HOST, EVM_PORT and EVM_FUNDED, or the account's private key in EVM_FUNDED_KEY.
Prints its URL and chain id when it listens; SIGTERM stops it.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from eth_keys.datatypes import PrivateKey
from eth_typing import Address
from eth_utils.address import is_hex_address
from eth_utils.conversions import to_bytes
from eth_utils.exceptions import ValidationError
from playmolt_core.ops.connections import Bounds, ConnectionLimiter
from playmolt_core.ops.http_protocol import BoundedProtocol, HttpServer
from playmolt_core.ops.process import listening

from playmolt_devchain.ledger import CHAIN_ID, Ledger
from playmolt_devchain.methods import Methods
from playmolt_devchain.server import MAX_CONNECTIONS, App
from playmolt_devchain.store import StoreTaken

HOST = "127.0.0.1"


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until SIGTERM or SIGINT. Returns 1 when folder or port are unavailable; exits with 2 for bad arguments."""
    parser = argparse.ArgumentParser(prog="python -m playmolt_devchain", description="An EVM node for one machine.")
    parser.add_argument("--folder", default=os.environ.get("EVM_FOLDER", ""), help="folder of the chain")
    parser.add_argument("--host", default=os.environ.get("EVM_HOST", HOST), help="listening address; :: for all")
    parser.add_argument("--port", type=int, default=os.environ.get("EVM_PORT", "0"), help="port; 0 for a free one")
    parser.add_argument(
        "--funded", default=os.environ.get("EVM_FUNDED", ""), help="the account that owns all funds of a new chain"
    )
    given = parser.parse_args(arguments)
    if not given.folder:
        parser.error("the folder is missing: use --folder DIR or EVM_FOLDER")
    funded = given.funded or _address_of(os.environ.get("EVM_FUNDED_KEY", ""))
    if not is_hex_address(funded):
        parser.error(
            "the funded account is missing or invalid: use --funded ADDRESS or EVM_FUNDED (0x and 40 hex digits), "
            "or EVM_FUNDED_KEY"
        )
    if not 0 <= given.port <= 65535:
        parser.error(f"invalid port {given.port}: use 0 to 65535")
    try:
        with listening(given.host, given.port) as opened:
            return _serve(Path(given.folder), Address(to_bytes(hexstr=funded)), opened)
    except OSError as error:
        return _say(f"cannot serve the chain: {error}")


def _serve(folder: Path, funded: Address, opened: socket.socket) -> int:
    try:
        ledger = Ledger(folder, funded)
    except StoreTaken as error:
        return _say(str(error))
    host, port, *_ = opened.getsockname()
    sys.stdout.write(f"EVM chain {CHAIN_ID} on http://{_in_url(host)}:{port}, block {ledger.height}\n")
    sys.stdout.flush()
    asyncio.run(_serve_until_signal(App(Methods(ledger)), opened))
    ledger.close()
    return 0


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def _serve_until_signal(app: App, opened: socket.socket) -> None:
    # One engine or one machine uses it, so one address may have all connections.
    limiter = ConnectionLimiter(Bounds(total=MAX_CONNECTIONS, per_address=MAX_CONNECTIONS))
    config = uvicorn.Config(
        app,
        http=type("ChainProtocol", (BoundedProtocol,), {"limiter": limiter}),
        lifespan="off",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=5,
        ws="none",
    )
    server = HttpServer(config)
    for signum in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signum, server.stop)
    await server.serve(sockets=[opened])


def _address_of(key: str) -> str:
    # The key is read from the environment only: command lines are visible to other users.
    try:
        return PrivateKey(bytes.fromhex(key.removeprefix("0x"))).public_key.to_address()
    except (ValueError, ValidationError):
        return ""


def _say(fault: str) -> int:
    sys.stderr.write(fault + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
