"""The rules of JuryVoting, on a chain whose clock the test holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from eth_abi.abi import decode, encode
from eth_typing import Address
from eth_utils.crypto import keccak
from playmolt_devchain.ledger import CHAIN_ID, Call, CallReverted, Ledger, Mined
from playmolt_jury.chain import contract, keys
from playmolt_jury.chain.contract import GUILTY, NOT_GUILTY, OPEN, ContractSnapshot

LOG_HASH = bytes(range(32))
RICH = b"\1" * 32
JURORS = [bytes([n]) * 32 for n in range(2, 7)]
OUTSIDER = b"\x09" * 32
START = 1_800_000_000
DEADLINE = START + 1_000


def raw(text: str) -> Address:
    return Address(bytes.fromhex(text.removeprefix("0x")))


class Court:
    """A case on a chain of its own. `now` is the chain's clock."""

    def __init__(self, folder: Path) -> None:
        self.now = START
        self.ledger = Ledger(folder, raw(keys.address_of(RICH)), lambda: self.now)
        self.jurors = [keys.address_of(key) for key in JURORS]
        self.address = ""

    def opened(self, wei: int = 5 * 10**18) -> "Court":
        mined = self.send(RICH, "", contract.creation(self.jurors, LOG_HASH, DEADLINE), wei)
        assert mined.receipt.state_root == b"\1"
        self.address = keys.contract_of(keys.address_of(RICH), 0)
        return self

    def send(self, key: bytes, to: str, data: bytes, value: int = 0) -> Mined:
        sender = raw(keys.address_of(key))
        nonce = self.ledger.state(None).get_nonce(sender)
        transaction = keys.Transaction(nonce, self.ledger.price, 3_000_000, to, value, data)
        mined = self.ledger.mined(self.ledger.send(keys.signed(key, transaction, CHAIN_ID)))
        assert mined is not None
        return mined

    def vote(self, juror: int, guilty: bool) -> Mined:
        mined = self.send(JURORS[juror], self.address, contract.vote_call(guilty))
        assert mined.receipt.state_root == b"\1", "the vote was refused"
        return mined

    def refusal(self, key: bytes, data: bytes, to: str | None = None, value: int = 0) -> str:
        """The error that a call would be refused with; sent all the same, it changes nothing."""
        target = self.address if to is None else to
        call = Call(raw(keys.address_of(key)), raw(target), data, value, 3_000_000)
        with pytest.raises(CallReverted) as refused:
            self.ledger.call(call, None)
        return contract.error_name(refused.value.output)

    def read(self) -> ContractSnapshot:
        """As somebody without any account reads, in the block to come."""
        nobody = raw("0x" + "ee" * 20)
        return contract.snapshot_of(
            self.ledger.call(Call(nobody, raw(self.address), contract.reading_call(), 0, 1_000_000), None)
        )

    def view(self, signature: str, *types: str) -> tuple[object, ...]:
        call = Call(raw("0x" + "ee" * 20), raw(self.address), keccak(text=signature)[:4], 0, 1_000_000)
        return tuple(decode(types, self.ledger.call(call, None)))


@pytest.fixture
def court(tmp_path: Path) -> Iterator[Court]:
    made = Court(tmp_path)
    yield made
    made.ledger.close()


def topics(mined: Mined) -> list[bytes]:
    return [log.topics[0].to_bytes(32, "big") for log in mined.receipt.logs]


VOTED = keccak(text="Voted(address,bool)")
FINALIZED = keccak(text="Finalized(bool,uint256,uint256)")
FINALIZE = keccak(text="finalize()")[:4]


def test_a_new_case_is_open_and_holds_the_hash_of_the_log(court: Court) -> None:
    read = court.opened().read()

    assert read.log_hash == LOG_HASH
    assert (read.outcome, read.guilty, read.not_guilty) == (OPEN, 0, 0)
    assert list(read.jurors) == court.jurors
    assert read.ballots == (OPEN,) * 5
    assert read.deadline == DEADLINE


def test_what_is_sent_along_is_shared_out_among_the_jurors(court: Court) -> None:
    before = [court.ledger.state(None).get_balance(raw(juror)) for juror in court.jurors]
    court.opened(wei=1_003)
    after = [court.ledger.state(None).get_balance(raw(juror)) for juror in court.jurors]

    assert [new - old for new, old in zip(after, before, strict=True)] == [203, 200, 200, 200, 200]


@pytest.mark.parametrize("guilty", range(6))
def test_three_of_five_make_it_guilty(court: Court, guilty: int) -> None:
    court.opened()
    mined = [court.vote(juror, juror < guilty) for juror in range(5)]

    read = court.read()
    assert read.outcome == (GUILTY if guilty >= 3 else NOT_GUILTY)
    assert (read.guilty, read.not_guilty) == (guilty, 5 - guilty)
    assert court.view("tally()", "uint256", "uint256") == (guilty, 5 - guilty)
    assert court.view("verdict()", "uint8") == (read.outcome,)
    assert [topics(each) for each in mined] == [[VOTED]] * 4 + [[VOTED, FINALIZED]]
    assert mined[4].receipt.logs[1].data == encode(["bool", "uint256", "uint256"], [guilty >= 3, guilty, 5 - guilty])


def test_three_guilty_votes_do_not_close_a_case_that_others_may_still_vote_in(court: Court) -> None:
    court.opened()
    for juror in range(3):
        court.vote(juror, True)
    assert court.read().outcome == OPEN

    court.vote(3, False)
    court.vote(4, False)
    assert court.read().outcome == GUILTY


def test_an_outsider_cannot_vote_and_who_opened_the_case_is_one(court: Court) -> None:
    court.opened()

    assert court.refusal(OUTSIDER, contract.vote_call(True)) == "NotAJuror"
    assert court.refusal(RICH, contract.vote_call(True)) == "NotAJuror"


@pytest.mark.parametrize("second", [True, False])
def test_a_vote_stands_and_there_is_no_second(court: Court, second: bool) -> None:
    court.opened().vote(0, True)

    assert court.refusal(JURORS[0], contract.vote_call(second)) == "AlreadyVoted"
    refused = court.send(JURORS[0], court.address, contract.vote_call(second))
    assert refused.receipt.state_root == b""
    assert (court.read().guilty, court.read().not_guilty) == (1, 0)


def test_the_last_second_counts_and_the_next_does_not(court: Court) -> None:
    court.opened()
    court.now = DEADLINE
    court.vote(0, True)
    court.now = DEADLINE + 1

    assert court.refusal(JURORS[1], contract.vote_call(True)) == "Closed"
    assert court.read().outcome == NOT_GUILTY


@pytest.mark.parametrize("cast", [0, 3, 4])
def test_a_case_that_misses_votes_at_its_deadline_is_not_guilty(court: Court, cast: int) -> None:
    court.opened()
    for juror in range(cast):
        court.vote(juror, True)
    assert court.refusal(OUTSIDER, FINALIZE) == "StillOpen"

    court.now = DEADLINE + 1
    mined = court.send(RICH, court.address, FINALIZE)

    assert topics(mined) == [FINALIZED]
    assert mined.receipt.logs[0].data == encode(["bool", "uint256", "uint256"], [False, cast, 0])
    assert court.read().outcome == NOT_GUILTY
    assert court.refusal(OUTSIDER, FINALIZE) == "AlreadyFinalized"


def test_a_verdict_stays_after_the_deadline(court: Court) -> None:
    court.opened()
    for juror in range(5):
        court.vote(juror, True)
    court.now = DEADLINE + 1

    assert court.read().outcome == GUILTY
    assert court.refusal(OUTSIDER, FINALIZE) == "AlreadyFinalized"
    assert court.refusal(JURORS[0], contract.vote_call(False)) == "AlreadyVoted"


def test_a_case_cannot_be_opened_with_a_juror_twice_or_none_or_too_late(court: Court) -> None:
    twice = [*court.jurors[:4], court.jurors[0]]
    nobody = [*court.jurors[:4], "0x" + "00" * 20]

    assert court.refusal(RICH, contract.creation(twice, LOG_HASH, DEADLINE), to="") == "BadJuror"
    assert court.refusal(RICH, contract.creation(nobody, LOG_HASH, DEADLINE), to="") == "BadJuror"
    assert court.refusal(RICH, contract.creation(court.jurors, LOG_HASH, court.now), to="") == "DeadlinePassed"


def test_the_code_of_a_case_is_the_committed_one(court: Court) -> None:
    code = court.opened().ledger.state(None).get_code(raw(court.address))

    assert "0x" + code.hex() == contract.deployed_code(5)


def test_a_case_takes_no_money_after_its_opening(court: Court) -> None:
    court.opened()

    assert court.send(RICH, court.address, b"", value=1).receipt.state_root == b""
    assert court.ledger.state(None).get_balance(raw(court.address)) == 0
