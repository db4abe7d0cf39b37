"""The Secrets of a new deployment: drawn with Python alone, for just the logins there are."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from playmolt_cli.local.embedded.nats import USERS
from playmolt_core.db.logins import LOGINS
from playmolt_jury.chain import EMBEDDED_DEPLOYER_KEY

from deploy.k8s import credentials
from tests.deploy.manifests import K8S, Json

SCRIPT = K8S / "credentials.py"
ALONE = ("-I", "-S")  # no packages but Python's own, nothing of this folder


def printed(*arguments: str) -> dict[str, Json]:
    command = [sys.executable, *ALONE, str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd="/", check=True)
    return {one["metadata"]["name"]: one for one in json.loads(done.stdout)["items"]}


def test_it_needs_pythons_own_library_alone() -> None:
    found = printed()
    assert found.keys() == credentials.values().keys()
    assert {one["metadata"]["namespace"] for one in found.values()} == {"playmolt"}
    assert len(
        {value for one in found.values() for key, value in one["stringData"].items() if key != "username"}
    ) == sum(len(one["stringData"].keys() - {"username"}) for one in found.values()), "one was drawn twice"


def test_it_says_which_python_it_needs_in_one_line() -> None:
    older = (
        "import runpy, sys\n"
        "sys.version_info = (3, 9, 2, 'final', 0)\n"
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, *ALONE, "-c", older], capture_output=True, text=True, timeout=120, check=False
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "credentials.py: Python 3.9 is too old, 3.11 or newer is needed\n"


def test_the_logins_are_those_of_the_platform() -> None:
    assert ("migrations", *LOGINS) == credentials.LOGINS
    assert credentials.USERS == USERS


def test_the_signing_key_is_one_that_log_anchor_takes(tmp_path: Path) -> None:
    drawn = [credentials.signing_key() for _ in range(2)]
    assert len(set(drawn)) == 2
    assert all(isinstance(load_pem_private_key(pem.encode(), None), Ed25519PrivateKey) for pem in drawn)


@pytest.mark.parametrize("namespace", ["playmolt", "arena"])
def test_a_namespace_and_the_chain_of_the_dev_overlay(namespace: str) -> None:
    found = printed("--namespace", namespace, "--embedded-chain")
    assert {one["metadata"]["namespace"] for one in found.values()} == {namespace}
    assert found["trial-engine-chain"]["stringData"] == {
        "rpc-url": "http://chain:8545", "deployer-key": EMBEDDED_DEPLOYER_KEY,
    }  # fmt: skip
