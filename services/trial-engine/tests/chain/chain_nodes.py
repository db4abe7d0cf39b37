"""Chain nodes as child processes, and the cases for votes."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
from playmolt_cli.local.embedded import free_port
from playmolt_cli.local.services import CHAIN_MODULE, Process
from playmolt_jury.chain import EMBEDDED_DEPLOYER, EMBEDDED_DEPLOYER_KEY
from playmolt_jury.chain.port import Case

from tests import platforms

ANVIL_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
"""The key of account 0 of every Anvil, which Anvil prints when it starts."""
JURORS = ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
_START_SECONDS = 90


def case(session: str, log_hash: str = "ab" * 32) -> Case:
    return Case(session=session, log_hash=log_hash, jurors=JURORS)


class Node:
    """A node as a child process, which can be killed and started again on its port."""

    def __init__(self, launch: Callable[[Sequence[str]], Process], key: str, port: int = 0) -> None:
        """`launch` starts the program with the given options."""
        self._launch = launch
        self.options: Sequence[str] = ()
        self.key = key
        self.port = port or free_port()
        self.process: Process | None = None
        self._receipts: list[list[dict[str, Any]]] = []
        self.earlier = 0
        """Number of transactions of earlier tests on a shared node."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Node":
        self.process = self._launch(["--port", str(self.port), *self.options])
        self._receipts = []
        self.client = httpx2.Client(timeout=60, trust_env=False, verify=False)
        try:
            self._await_answer(self.process)
        except BaseException:
            self.kill()
            raise
        return self

    def _await_answer(self, process: Process) -> None:
        until = time.monotonic() + _START_SECONDS
        while True:
            assert process.poll() is None, "the node ended"
            with suppress(httpx2.HTTPError):
                self.ask("eth_chainId")
                return
            assert time.monotonic() < until, "the node does not answer"
            time.sleep(0.05)

    def kill(self) -> None:
        assert self.process is not None
        self.client.close()
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def stop(self) -> int:
        assert self.process is not None
        self.client.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def post(self, body: bytes) -> tuple[int, Any]:
        answer = self.client.post(self.url, content=body, headers={"Content-Type": "application/json"})
        return answer.status_code, answer.json()

    def answer(self, method: str, *params: Any) -> dict[str, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        answer: dict[str, Any] = self.post(body.encode())[1]
        return answer

    def ask(self, method: str, *params: Any) -> Any:
        answer = self.answer(method, *params)
        assert "error" not in answer, answer
        return answer["result"]

    def transactions(self) -> list[dict[str, Any]]:
        """The receipts of all transactions."""
        for number in range(len(self._receipts), int(self.ask("eth_blockNumber"), 16) + 1):
            sent = self.ask("eth_getBlockByNumber", hex(number), False)["transactions"]
            self._receipts.append([self.ask("eth_getTransactionReceipt", each) for each in sent])
        return [receipt for block in self._receipts for receipt in block]


def embedded(folder: Path) -> Node:
    kept = ["--folder", str(folder), "--funded", EMBEDDED_DEPLOYER]
    log, environment = folder.with_suffix(".log"), platforms.environment_of_forks()

    def launch(options: Sequence[str]) -> Process:
        return platforms.start("devchain", CHAIN_MODULE, [*kept, *options], log=log, environment=environment)

    return Node(launch, EMBEDDED_DEPLOYER_KEY)


def anvil_node(npm: Path, *options: str) -> Node:
    """An Anvil without the wrapper of its package, which would start the program as a child."""
    (program,) = (npm / "node_modules" / "@foundry-rs").glob("anvil-*/bin/anvil*")

    def launch(more: Sequence[str]) -> Process:
        return subprocess.Popen([str(program), "--silent", *options, *more], stdout=subprocess.DEVNULL)

    return Node(launch, ANVIL_KEY)
