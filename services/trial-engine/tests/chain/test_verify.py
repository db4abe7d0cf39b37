"""The log of a session against what the chain holds."""

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from chain_nodes import JURORS
from msgspec.structs import replace
from playmolt_jury.chain import MinedVote, NoVerdict, Verdict, compare, contract_of
from playmolt_jury.chain.verify import Endings
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import ZERO_HASH, Record, record_hash

CONTRACT = "0x" + "c0" * 20
GUILTY = JURORS[:3]
STANCES = dict(zip(JURORS, (70, 70, 51, 50, 0), strict=True))
"""Where they stand when the vote begins."""
ENDINGS: Endings = {
    ("d", "bad_end"): ("guilty", "nothing"), ("d", "good_end"): ("not_guilty", "nothing"),
    ("d", "late_end"): ("guilty", "something"),
}  # fmt: skip
TranscriptEntry = tuple[str, dict[str, Any]]


def records_of(entries: list[TranscriptEntry]) -> list[Record]:
    """Entries as a stream has them, hashes and all."""
    made: list[Record] = []
    for version, (kind, data) in enumerate(entries, 1):
        fields: dict[str, Any] = {
            "stream": "jury-1",
            "version": version,
            "type": kind,
            "schema_version": 1,
            "data": canonical_json(data),
            "metadata": canonical_json({"command_id": f"{version:032x}"}),
            "at": "2026-03-01T00:00:00.000000Z",
            "salt": "5a" * 16,
            "prev_hash": made[-1].hash if made else ZERO_HASH,
        }
        raw = {name: msgspec.Raw(value) if isinstance(value, bytes) else value for name, value in fields.items()}
        made.append(Record(**raw, position=version + 100, hash=record_hash(**fields)))
    return made


def address(juror: str) -> str:
    return f"0x{JURORS.index(juror) + 1:040x}"


def transaction(juror: str) -> str:
    return f"0x{JURORS.index(juror) + 1:064x}"


def opened() -> dict[str, Any]:
    file: dict[str, Any] = {
        "name": "", "speaker_power": "0.5", "topic_weights": {}, "weakness": {"trigger_keywords": []},
        "personality": [], "role_prompt": "",
    }  # fmt: skip
    stances = dict(zip(JURORS, (70, 40, 51, 50, 0), strict=True))
    return {
        "owner": "a", "name": "Ada", "seed": "7", "rules_version": 2, "content_version": "v1", "language": "en",
        "model": "scripted", "jurors": [{"id": juror, "initial_stance": at, **file} for juror, at in stances.items()],
        "evidence": [{"id": "E1", "locked": False, "topics": []}], "topics": [], "case": "shipped", "pack_digest": "d",
        "rules": {},
    }  # fmt: skip


def moved(juror: str, before: int, after: int) -> dict[str, Any]:
    change = {"cause": "chat", "by": "overseer", "before": before, "after": after, "parts": []}
    return {"juror_id": juror, **change}


def vote(juror: str, guilty: bool, sent: str) -> dict[str, Any]:
    return {"juror_id": juror, "guilty": guilty, "stance": STANCES[juror], "tx_hash": sent}


class Session:
    """A session whose log and chain agree; each test bends one of them."""

    def __init__(self) -> None:
        self.votes = {juror: (juror in GUILTY, transaction(juror)) for juror in JURORS}
        opening: list[TranscriptEntry] = [
            ("jury_opened", opened()),
            ("evidence_read", {"evidence_id": "E1"}),
            ("stance_changed", moved("radical", 40, 70)),
            ("phase_changed", {"from": "persuasion", "to": "deliberation"}),
            ("phase_changed", {"from": "deliberation", "to": "vote"}),
        ]
        self.log_hash = "0x" + records_of(opening)[-1].hash
        casts: list[TranscriptEntry] = [
            ("vote_cast", vote(juror, guilty, sent) | {"diverged": juror == "ophiuchus"})
            for juror, (guilty, sent) in self.votes.items()
        ]
        self.read: dict[str, Any] = {
            "verdict": "guilty",
            "guilty": 3,
            "not_guilty": 2,
            "votes": [
                vote(juror, guilty, sent) | {"address": address(juror)} for juror, (guilty, sent) in self.votes.items()
            ],
            "contract": CONTRACT,
            "chain_id": 20_557,
            "log_hash": self.log_hash,
        }
        self.entries = [*opening, *casts, ("verdict_read", self.read), ("ended", {"ending": "bad_end"})]
        self.chain = Verdict(
            contract=CONTRACT,
            chain_id=20_557,
            log_hash=self.log_hash,
            deadline=1_800_000_000,
            guilty=True,
            guilty_votes=3,
            not_guilty_votes=2,
            votes=tuple(
                MinedVote(juror_id="", address=address(juror), guilty=guilty, tx_hash=sent)
                for juror, (guilty, sent) in self.votes.items()
            ),
        )

    def faults(self) -> list[str]:
        return compare(records_of(self.entries), self.chain, ENDINGS)


@pytest.fixture
def session() -> Session:
    return Session()


def test_a_log_and_its_chain_agree(session: Session) -> None:
    assert session.faults() == []
    assert contract_of(records_of(session.entries)) == CONTRACT


def test_an_ending_of_another_pack_may_have_the_id_of_a_shipped_one(session: Session) -> None:
    session.entries[-1] = ("ended", {"ending": "good_end"})
    assert len(session.faults()) == 1
    session.entries[0] = ("jury_opened", opened() | {"pack_digest": "another"})
    assert not [fault for fault in session.faults() if "good_end" in fault]


def test_before_the_verdict_there_is_nothing_to_compare(session: Session) -> None:
    begun = records_of(session.entries[:7])

    with pytest.raises(NoVerdict, match="verdict_read"):
        compare(begun, session.chain)
    with pytest.raises(NoVerdict):
        contract_of(begun)


def cast(session: Session, juror: str) -> dict[str, Any]:
    return next(data for kind, data in session.entries if kind == "vote_cast" and data["juror_id"] == juror)


def seat(session: Session, juror: str) -> dict[str, Any]:
    found: dict[str, Any] = next(vote for vote in session.read["votes"] if vote["juror_id"] == juror)
    return found


def bend_cast(session: Session) -> None:
    cast(session, "radical")["guilty"] = False


def bend_both_in_the_log(session: Session) -> None:
    cast(session, "radical")["guilty"] = False
    seat(session, "radical")["guilty"] = False


def bend_transaction(session: Session) -> None:
    for vote in (cast(session, "radical"), seat(session, "radical")):
        vote["tx_hash"] = "0x" + "99" * 32


def leave_out_of_the_log(session: Session) -> None:
    session.entries.remove(("vote_cast", cast(session, "radical")))
    session.read["votes"].remove(seat(session, "radical"))


def leave_out_of_the_verdict(session: Session) -> None:
    session.read["votes"].remove(seat(session, "radical"))


def leave_out_of_the_casts(session: Session) -> None:
    session.entries.remove(("vote_cast", cast(session, "radical")))


def not_on_the_chain(session: Session) -> None:
    missing = replace(session.chain.votes[0], guilty=None, tx_hash="")
    session.chain = replace(session.chain, votes=(missing, *session.chain.votes[1:]))


def another_verdict(session: Session) -> None:
    session.read["verdict"] = "not_guilty"


def another_tally(session: Session) -> None:
    session.read["guilty"], session.read["not_guilty"] = 4, 1


def still_open(session: Session) -> None:
    session.chain = replace(session.chain, guilty=None)


def another_hash_on_the_chain(session: Session) -> None:
    session.chain = replace(session.chain, log_hash="0x" + "00" * 32)
    session.read["log_hash"] = "0x" + "00" * 32


def another_hash_in_the_verdict(session: Session) -> None:
    session.read["log_hash"] = "0x" + "00" * 32


def another_transcript(session: Session) -> None:
    session.entries[0] = ("jury_opened", opened() | {"language": "zh"})


def no_vote_phase(session: Session) -> None:
    del session.entries[4]


def another_contract(session: Session) -> None:
    session.read["contract"] = "0x" + "c1" * 20


def another_chain(session: Session) -> None:
    session.chain = replace(session.chain, chain_id=1)


def swap_two_voters(session: Session) -> None:
    swapped = {"radical": "philosopher", "philosopher": "radical"}
    casts = [data for kind, data in session.entries if kind == "vote_cast"]
    for voted in (*casts, *session.read["votes"]):
        voted["juror_id"] = swapped.get(voted["juror_id"], voted["juror_id"])


def swap_two_seats_in_the_verdict(session: Session) -> None:
    votes = session.read["votes"]
    votes[3], votes[4] = votes[4], votes[3]


def name_a_seat_twice(session: Session) -> None:
    session.read["votes"].insert(0, dict(seat(session, "radical")))


def another_stance_in_the_cast(session: Session) -> None:
    cast(session, "philosopher")["stance"] = 99


def another_stance_in_the_verdict(session: Session) -> None:
    seat(session, "philosopher")["stance"] = 1


def a_vote_that_no_stance_explains(session: Session) -> None:
    session.entries[2] = ("stance_changed", moved("radical", 40, 50))
    for voted in (cast(session, "radical"), seat(session, "radical")):
        voted["stance"] = 50


def the_ending_of_another_verdict(session: Session) -> None:
    session.entries[-1] = ("ended", {"ending": "good_end"})


def the_ending_of_more_found_out(session: Session) -> None:
    session.entries[-1] = ("ended", {"ending": "late_end"})


@pytest.mark.parametrize(
    ("bend", "fault"),
    [
        (swap_two_voters, "place 2 is radical at .*02 by event 1 and the chain, and philosopher at .*02 in the verd"),
        (swap_two_seats_in_the_verdict, "place 4 is opportunist at"),
        (name_a_seat_twice, "place 6 is unassigned by event 1"),
        (another_stance_in_the_cast, "the stance of philosopher is 99 when cast, but was 0"),
        (another_stance_in_the_verdict, "the stance of philosopher is 1 in the verdict, but was 0"),
        (a_vote_that_no_stance_explains, "radical's vote is guilty in .* not follow from its stance 50"),
        (the_ending_of_another_verdict, "good_end is for not_guilty .* not for guilty with nothing"),
        (the_ending_of_more_found_out, "late_end is for guilty with something"),
        (bend_cast, "radical's vote is"),
        (bend_both_in_the_log, "not guilty in .* in the log and guilty in .* on the chain"),
        (bend_transaction, "in the log and .* on the chain"),
        (leave_out_of_the_log, "the chain has a vote"),
        (leave_out_of_the_verdict, "does not name the vote of radical"),
        (leave_out_of_the_casts, "never cast"),
        (not_on_the_chain, "the chain has none"),
        (another_verdict, "says not_guilty, the chain says guilty"),
        (another_tally, "counts 4 guilty and 1"),
        (still_open, "still open"),
        (another_hash_on_the_chain, "when the vote began"),
        (another_hash_in_the_verdict, "it holds"),
        (another_transcript, "when the vote began"),
        (no_vote_phase, "no phase_changed to vote"),
        (another_contract, "the log names"),
        (another_chain, "on 1"),
    ],
)
def test_every_difference_is_reported(session: Session, bend: Callable[[Session], None], fault: str) -> None:
    bend(session)

    assert any(re.search(fault, found) for found in session.faults())


@pytest.mark.parametrize("version", [1, 7, 11])
def test_a_record_changed_after_it_was_stored_breaks_the_log(session: Session, version: int) -> None:
    records = records_of(session.entries)
    data = json.loads(bytes(records[version - 1].data))
    records[version - 1] = replace(records[version - 1], data=msgspec.Raw(canonical_json({**data, "more": 1})))

    assert compare(records, session.chain) == [f"log: record {version} was changed: the hash chain breaks there"]


def test_a_record_that_is_missing_breaks_the_log(session: Session) -> None:
    records = records_of(session.entries)

    assert "record 1 was changed" in compare(records[1:], session.chain)[0]


def test_a_log_that_stops_before_its_ending_differs(session: Session) -> None:
    whole = records_of(session.entries)
    last = next(place for place, record in enumerate(whole) if record.type == "ended")
    assert compare(whole[:last], session.chain, ENDINGS) == [
        "log: it stops before the ending; the last records are missing"
    ]


def test_a_juror_whose_vote_came_too_late_is_a_vote_in_neither(session: Session) -> None:
    session.entries[6] = ("vote_missed", {"juror_id": "radical"})
    seat(session, "radical").update(guilty=None, tx_hash="")
    missing = replace(session.chain.votes[1], guilty=None, tx_hash="")
    votes = (session.chain.votes[0], missing, *session.chain.votes[2:])
    session.chain = replace(session.chain, votes=votes, guilty=False, guilty_votes=2)
    session.read.update(verdict="not_guilty", guilty=2)
    session.entries[-1] = ("ended", {"ending": "good_end"})

    assert session.faults() == []


def test_a_juror_that_never_made_up_its_mind_is_a_vote_in_neither(session: Session) -> None:
    session.entries.remove(("vote_cast", cast(session, "philosopher")))
    seat(session, "philosopher").update(guilty=None, tx_hash="")
    missing = replace(session.chain.votes[4], guilty=None, tx_hash="")
    votes = (*session.chain.votes[:4], missing)
    session.chain = replace(session.chain, votes=votes, guilty=False, not_guilty_votes=1)
    session.read.update(verdict="not_guilty", not_guilty=1)
    session.entries[-1] = ("ended", {"ending": "good_end"})

    assert session.faults() == []


def test_an_ending_that_the_story_no_longer_has_is_not_judged(session: Session) -> None:
    session.entries[-1] = ("ended", {"ending": "of another edition"})

    assert session.faults() == []


def test_of_votes_that_were_cast_twice_the_newest_of_the_newest_case_count(session: Session) -> None:
    opened_at = {"contract": CONTRACT, "chain_id": 1, "tx_hash": "0x1", "log_hash": "0x2"}
    stale = ("vote_cast", vote(JURORS[0], True, "0xgone") | {"diverged": False})
    first_vote = next(index for index, (kind, _) in enumerate(session.entries) if kind == "vote_cast")
    session.entries[first_vote:first_vote] = [
        ("contract_deployed", opened_at),
        ("vote_cast", vote("radical", False, "0xgone") | {"diverged": False}),
        ("contract_deployed", opened_at),
        stale,
    ]
    assert session.faults() == []
