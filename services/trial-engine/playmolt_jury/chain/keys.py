"""Whose keys sign. Nothing is stored: a session's keys follow from a secret and the session's id.

Each of them signs one transaction, with nonce 0: the session's opens the case, a juror's casts its vote. The chain
takes a nonce once, so after any crash or retry there is one contract and one vote per juror; and the contract's
address is known before it exists. Only a juror whose nonce was spent on no vote signs with the next.
"""

import hmac
from typing import NamedTuple

import rlp  # type: ignore[import-untyped]  # it has no types
from eth_keys.datatypes import PrivateKey
from eth_utils.crypto import keccak

from playmolt_jury.chain.port import Case


class Keys:
    """`secret` "" derives it from the deployer's key."""

    def __init__(self, deployer: str, secret: str = "") -> None:
        self.deployer = bytes.fromhex(deployer.removeprefix("0x"))
        self._secret = secret.encode() or hmac.digest(self.deployer, b"playmolt: secret of the juries", "sha256")

    def session(self, case: Case) -> bytes:
        """Opens the case."""
        return self._derived("session", case.session)

    def juror(self, case: Case, juror_id: str) -> bytes:
        if juror_id not in case.jurors:
            raise ValueError(f"{juror_id!r} is not a juror of {case.session}: {', '.join(case.jurors)}")
        return self._derived("juror", case.session, juror_id)

    def _derived(self, *names: str) -> bytes:
        # An id never contains a zero byte, so different lists of names never give the same bytes.
        return hmac.digest(self._secret, "\0".join(names).encode(), "sha256")


def address_of(key: bytes) -> str:
    """0x and lower-case hex."""
    return PrivateKey(key).public_key.to_address()


def contract_of(address: str, nonce: int) -> str:
    """The address of the contract that an account creates with its transaction of this nonce."""
    return "0x" + keccak(rlp.encode([bytes.fromhex(address[2:]), nonce]))[12:].hex()


def hash_of(raw: bytes) -> str:
    """The hash of a signed transaction."""
    return "0x" + keccak(raw).hex()


class Transaction(NamedTuple):
    """A transaction of the oldest kind, which every chain takes. `to` "" creates a contract."""

    nonce: int
    gas_price: int
    gas: int
    to: str
    value: int
    data: bytes


def signed(key: bytes, transaction: Transaction, chain_id: int) -> bytes:
    """Ready to send on one chain (EIP-155). The same transaction always gives the same bytes."""
    fields = [bytes.fromhex(each[2:]) if isinstance(each, str) else each for each in transaction]
    signature = PrivateKey(key).sign_msg_hash(keccak(rlp.encode([*fields, chain_id, 0, 0])))
    return bytes(rlp.encode([*fields, signature.v + 35 + 2 * chain_id, signature.r, signature.s]))
