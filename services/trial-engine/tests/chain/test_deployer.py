"""Which key pays, and what an operator is told who gave none."""

import subprocess
import sys

import pytest
from playmolt_jury.chain import EMBEDDED_DEPLOYER, EMBEDDED_DEPLOYER_KEY, deployer_key
from playmolt_jury.chain.keys import address_of

URL = "https://sepolia.example"
KEY = "0x" + "1a" * 32


def test_the_embedded_chain_has_its_own() -> None:
    assert deployer_key("", "") == EMBEDDED_DEPLOYER_KEY
    assert deployer_key("", KEY) == EMBEDDED_DEPLOYER_KEY


def test_the_embedded_deployer_is_the_address_of_its_key() -> None:
    assert address_of(bytes.fromhex(EMBEDDED_DEPLOYER_KEY[2:])) == EMBEDDED_DEPLOYER


def test_any_other_chain_needs_one() -> None:
    assert deployer_key(URL, KEY) == KEY
    with pytest.raises(ValueError, match="PLAYMOLT_EVM_DEPLOYER_KEY") as missing:
        deployer_key(URL, "")
    assert "\n" not in str(missing.value)


@pytest.mark.parametrize("configured", ["x", KEY[2:], KEY[:-1], KEY + "0", "0x" + "zz" * 32])
def test_what_is_not_a_key_is_not_repeated_in_the_message(configured: str) -> None:
    with pytest.raises(ValueError, match="64 hex digits") as wrong:
        deployer_key(URL, configured)
    assert configured == "x" or configured not in str(wrong.value)


def test_until_a_jury_votes_nothing_of_the_chain_is_imported() -> None:
    heavy = {"eth", "eth_abi", "eth_keys", "httpx2", "rlp"}
    asked = f"import sys, playmolt_jury.chain; print(sorted({heavy} & {{*sys.modules}}))"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, timeout=60, check=True)

    assert done.stdout == "[]\n"
