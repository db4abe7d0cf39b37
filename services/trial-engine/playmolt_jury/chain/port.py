"""What the jury asks of a chain (jury.md, Vote), and what it gets. Light to import: no library of the chain's is."""

from typing import Final, Protocol

import msgspec

JURIES: Final = (3, 5, 7, 9)
"""Possible numbers of jurors; each has its own build of the contract."""
OPEN_SECONDS = 7 * 24 * 3600
"""How long a case accepts votes by default."""


class ChainUnavailable(Exception):
    """The chain is unreachable, slow, or the deployer's account is empty. A later retry of the same call resumes it."""


class ChainFault(RuntimeError):
    """The chain or its node misbehaved: a bug, or the wrong chain. A retry does not help."""


class MissingCase(ChainFault):
    """A deployed case is not on the chain: the chain was reset, reorganised, or replaced."""


class Reverted(ChainFault):
    """A contract refused a call. `error` is the name of its error (`AlreadyVoted`), "" when it gave none we know."""

    def __init__(self, error: str, detail: str) -> None:
        super().__init__(f"the contract refused: {error or 'no reason given'} ({detail})")
        self.error = error


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One session's vote. `log_hash`: 64 hex digits, the hash of the last record before the first vote; `jurors`: the
    juror ids in the order of the log; `chain_id`: of the chain it was opened on, 0 before that."""

    session: str
    log_hash: str
    jurors: tuple[str, ...]
    chain_id: int = 0

    def __post_init__(self) -> None:
        if len(self.jurors) not in JURIES or len(set(self.jurors)) != len(self.jurors):
            raise ValueError(f"a case has {', '.join(map(str, JURIES))} different jurors, not {list(self.jurors)}")
        if len(bytes.fromhex(self.log_hash.removeprefix("0x"))) != 32:
            raise ValueError(f"log_hash is 32 bytes in hex, not {self.log_hash!r}")


class DeployedContract(msgspec.Struct, frozen=True, kw_only=True):
    """The contract of a case. `address` and `tx_hash`: 0x and lower-case hex."""

    address: str
    tx_hash: str
    chain_id: int


class MinedVote(msgspec.Struct, frozen=True, kw_only=True):
    """A juror's vote as the chain has it. `juror_id` is "" where it cannot be known; `guilty` is None and `tx_hash` ""
    while there is none, and for ever if the case closed without it. `tx_hash` alone is "" if the node read by
    `read_chain` no longer has the event."""

    juror_id: str
    address: str
    guilty: bool | None
    tx_hash: str


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A case as read from the chain. `guilty` is None while votes may still come; `log_hash` as stored there.

    `votes` are the jurors' in the order of the case. All hex is 0x and lower case; `deadline` is Unix time.
    """

    contract: str
    chain_id: int
    log_hash: str
    deadline: int
    guilty: bool | None
    guilty_votes: int
    not_guilty_votes: int
    votes: tuple[MinedVote, ...]


class Chain(Protocol):
    """Where juries vote. Every call reads the chain first, so it can be retried after a crash and from any process
    with one effect. All raise ChainUnavailable."""

    async def deploy(self, case: Case) -> DeployedContract:
        """Open the case, once."""
        ...

    async def vote(self, case: Case, juror_id: str, guilty: bool) -> MinedVote:
        """Cast a juror's vote in a deployed case; returns the vote on the chain, which may be an earlier one.

        MissingCase when the case is not on the chain.
        """
        ...

    async def verdict(self, case: Case) -> Verdict:
        """Read a deployed case. MissingCase as for `vote`; ChainUnavailable while too few blocks hold its last vote."""
        ...

    async def close(self) -> None: ...
