"""JuryVoting as committed: its code, and its calls as bytes. Built by `contracts/build.mjs`."""

import json
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from eth_abi.abi import decode, encode
from eth_abi.exceptions import DecodingError
from eth_utils.crypto import keccak

from playmolt_jury.chain.port import JURIES

_WORD = 32
_WORDS_BEFORE_JURORS, _WORDS_A_JUROR = 7, 3
OPEN, GUILTY, NOT_GUILTY = range(3)
"""The contract's Outcome; its Ballot has the same values, with None for Open."""


class ContractSnapshot(NamedTuple):
    """The contract's Reading, field for field."""

    log_hash: bytes
    deadline: int
    time: int
    opened_in: int
    outcome: int
    guilty: int
    not_guilty: int
    jurors: tuple[str, ...]
    ballots: tuple[int, ...]
    voted_in: tuple[int, ...]


@cache
def artifact() -> dict[str, Any]:
    """The committed build: `abi`, `bytecode`, `deployedBytecode` for five jurors, and `others` for other numbers."""
    found: dict[str, Any] = json.loads(files("playmolt_jury.chain").joinpath("JuryVoting.json").read_text("utf-8"))
    return found


def deployed_code(jurors: int) -> str:
    """The code that every case of so many jurors has on the chain, 0x and hex."""
    return str(_build(jurors)["deployedBytecode"])


def creation(jurors: list[str], log_hash: bytes, deadline: int) -> bytes:
    """The data of the transaction that opens a case."""
    arguments = encode([f"address[{len(jurors)}]", "bytes32", "uint256"], [jurors, log_hash, deadline])
    return bytes.fromhex(_build(len(jurors))["bytecode"][2:]) + arguments


def _build(jurors: int) -> dict[str, Any]:
    found = artifact()
    build: dict[str, Any] = found["others"].get(str(jurors), found)
    return build


def vote_call(guilty: bool) -> bytes:
    return _keccak("vote(bool)")[:4] + encode(["bool"], [guilty])


def reading_call() -> bytes:
    return _keccak("reading()")[:4]


def snapshot_of(output: bytes) -> ContractSnapshot:
    """Parses the output of `reading()`; ValueError if it is invalid."""
    jurors = (len(output) // _WORD - _WORDS_BEFORE_JURORS) // _WORDS_A_JUROR
    if jurors not in JURIES:
        raise ValueError(f"not the output of JuryVoting.reading(): {len(output)} bytes")
    lists = f"address[{jurors}],uint8[{jurors}],uint256[{jurors}]"
    try:
        (fields,) = decode([f"(bytes32,uint256,uint256,uint256,uint8,uint256,uint256,{lists})"], output)
    except DecodingError as error:
        raise ValueError(f"not the output of JuryVoting.reading(): {error}") from None
    return ContractSnapshot(*fields)


def topic(event: str) -> str:
    """An event's first topic by its signature, as `Voted(address,bool)`."""
    return "0x" + _keccak(event).hex()


@cache
def _errors() -> dict[bytes, str]:
    entries = (entry for entry in artifact()["abi"] if entry["type"] == "error")
    return {
        _keccak(f"{entry['name']}({','.join(field['type'] for field in entry['inputs'])})")[:4]: str(entry["name"])
        for entry in entries
    }


def error_name(output: bytes) -> str:
    """The error that a call reverted with; "" for one that is not the contract's."""
    return _errors().get(output[:4], "")


def _keccak(text: str) -> bytes:
    return keccak(text=text)
