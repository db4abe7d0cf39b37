"""Finds the chain that juries vote on."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from playmolt_cli.local import probe
from playmolt_cli.local.embedded import child, free_port
from playmolt_cli.local.embedded.child import PYTHON
from playmolt_cli.local.folder import Folder, Run
from playmolt_cli.local.services import CHAIN_MODULE, chain_arguments, environment
from playmolt_cli.settings import CliSettings
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

CHAIN: Final = "evm-1"
"""The embedded chain's name among the children of `up`."""
_READY_SECONDS: Final = 30.0
_STOP_SECONDS: Final = 10.0


@contextmanager
def chain_url(rpc: str | None, data: Path | None) -> Iterator[str]:
    """The URL of a JSON-RPC node: the one given, that of the data folder, or EVM_RPC_URL.

    `data` takes precedence over EVM_RPC_URL, which takes precedence over the default folder. Without a running `up`,
    the folder's chain is started temporarily. Raises Failure if there is none.
    """
    settings = read_settings()
    outside = rpc or ("" if data is not None else settings.evm_rpc_url)
    if outside:
        yield outside
        return
    folder = Folder(data or settings.data)
    run = folder.run()
    if run is not None:
        yield node_of(run)
    elif folder.chain.exists():
        with _started(folder) as url:
            yield url
    elif settings.evm_rpc_url:
        yield settings.evm_rpc_url
    else:
        raise Failure(f"No chain in {folder.path}. Set its node with --rpc or EVM_RPC_URL.")


def node_of(run: Run) -> str:
    """The node used by a running `up`: its own, or EVM_RPC_URL. Raises Failure if unknown."""
    url = run.health.get(CHAIN, "").removesuffix("/healthz") or read_settings().evm_rpc_url
    if not url:
        raise Failure(f"The `up` at {run.gateway} uses an external chain. Set its node with --rpc or EVM_RPC_URL.")
    return url


@contextmanager
def _started(folder: Folder) -> Iterator[str]:
    url = f"http://127.0.0.1:{(port := free_port())}"
    command = [*PYTHON, "-m", CHAIN_MODULE, *chain_arguments(folder.chain, port)]
    env = environment(CliSettings()) | {"EVM_FUNDED_KEY": folder.chain_key()}
    log = folder.log(CHAIN)
    process = child.spawn(command, log=log, environment=env)
    try:
        until = time.monotonic() + _READY_SECONDS
        while not probe.ready(f"{url}/healthz").ready:
            if process.poll() is not None or time.monotonic() > until:
                raise Failure(f"The chain in {folder.chain} does not start. See its log: {log}")
            time.sleep(0.05)
        yield url
    finally:
        child.end(process, signal.SIGTERM, _STOP_SECONDS)
