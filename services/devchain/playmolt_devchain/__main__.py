"""`python -m playmolt_devchain --folder DIR --port N --funded ADDRESS`: a node, by default on this machine alone.

EVM_FOLDER, EVM_HOST, EVM_PORT and EVM_FUNDED say the same; EVM_FUNDED_KEY may hold the account's private key instead.
It prints its URL and chain id once it listens; SIGTERM ends it.
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
    """Serve until told to stop. 2 for bad arguments, 1 when folder or port cannot be had."""
    parser = argparse.ArgumentParser(prog="python -m playmolt_devchain", description="An EVM node for one machine.")
    parser.add_argument("--folder", default=os.environ.get("EVM_FOLDER", ""), help="where the chain is kept")
    parser.add_argument("--host", default=os.environ.get("EVM_HOST", HOST), help="where it listens; :: is everywhere")
    parser.add_argument("--port", type=int, default=os.environ.get("EVM_PORT", "0"), help="0 takes a free one")
    parser.add_argument("--funded", default=os.environ.get("EVM_FUNDED", ""), help="the account that holds all money")
    given = parser.parse_args(arguments)
    if not given.folder:
        parser.error("say where the chain is kept: --folder DIR or EVM_FOLDER")
    funded = given.funded or _address_of(os.environ.get("EVM_FUNDED_KEY", ""))
    if not is_hex_address(funded):
        parser.error("say whose the money is: --funded ADDRESS or EVM_FUNDED, 0x and 40 hex digits, or EVM_FUNDED_KEY")
    if not 0 <= given.port <= 65535:
        parser.error(f"{given.port} is no port: 0 to 65535")
    try:
        with listening(given.host, given.port) as opened:
            return _serve(Path(given.folder), Address(to_bytes(hexstr=funded)), opened)
    except OSError as error:
        return _say(f"the chain cannot be served: {error}")


def _serve(folder: Path, funded: Address, opened: socket.socket) -> int:
    try:
        ledger = Ledger(folder, funded)
    except StoreTaken as error:
        return _say(str(error))
    host, port, *_ = opened.getsockname()
    sys.stdout.write(f"EVM chain {CHAIN_ID} on http://{_in_url(host)}:{port}, block {ledger.height}\n")
    sys.stdout.flush()
    asyncio.run(_serve_until_told(App(Methods(ledger)), opened))
    ledger.close()
    return 0


def _in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host


async def _serve_until_told(app: App, opened: socket.socket) -> None:
    # It is asked by one engine, or from one machine: one address may have all.
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
    # A key stands in the environment alone: anybody may read a command line.
    try:
        return PrivateKey(bytes.fromhex(key.removeprefix("0x"))).public_key.to_address()
    except (ValueError, ValidationError):
        return ""


def _say(fault: str) -> int:
    sys.stderr.write(fault + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
