"""A session told afterwards: in the order in which one reads, every transaction in full, secret notes sealed."""

import re
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import msgspec
import pytest
from playmolt_core.game.decider import Refused, Viewer
from playmolt_core.log.chain import chain_record
from playmolt_jury import rules
from playmolt_jury.chain.port import MinedVote, Verdict
from playmolt_jury.chain.verify import compare, withheld
from playmolt_jury.events import StanceChanged
from playmolt_jury.transcript import formats
from playmolt_jury.transcript.scene import scene
from playmolt_jury.transcript.shared_log import shared_log
from playmolt_jury.transcript.transcript import Transcript, in_reading_order, transcript
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.codes import Code
from playmolt_schemas.records import ZERO_HASH, Metadata, OpenedRecord, Record
from playmolt_schemas.routes import sharing
from playmolt_schemas.stored.event import Event
from playmolt_schemas.stored.jury import JurorSaid, OverseerSaid, VerdictRead

SECRET = "Think of the girl who waits at the harbour."
SAID = "Doubt <must> decide."


def events_of(session: Any) -> Sequence[Event]:
    return tuple(event for event, _, _ in session.log)


@pytest.fixture
def played(performances: Callable[..., Any]) -> Any:
    """A session to its ending, with words to a juror and a secret note."""
    session = performances().to("persuasion")
    session.chat("radical", SAID)
    session.to("deliberation").call("jury_notes", {"juror_id": "sympathizer", "text": SECRET})
    return session.to("ended")


def told(session: Any) -> Transcript:
    shown = session.jury.shown_verdict(session.state)
    return transcript(session.state, session.jury.material(session.state), events_of(session), shown)


def records(session: Any, owner: str = "agent-1") -> list[Record]:
    """The log as an engine stores it: only the first record names its owner."""
    stored: list[Record] = []
    before = ZERO_HASH
    for version, (event, at, _) in enumerate(session.log, 1):
        metadata = Metadata(command_id="c", actor=owner if version == 1 else "")
        sealed = chain_record(
            "jury-1", version, before, at, event.type, event.schema_version, canonical_json(event), metadata,
            event.closes,
        )  # fmt: skip
        before = sealed.hash
        fields = {name: getattr(sealed, name) for name in ("version", "type", "schema_version", "salt", "prev_hash")}
        stored.append(
            Record(
                stream="jury-1",
                position=version,
                data=msgspec.Raw(sealed.data),
                metadata=msgspec.Raw(sealed.metadata),
                at=f"{at:%Y-%m-%dT%H:%M:%S.%f}Z",
                hash=sealed.hash,
                **fields,
            )
        )
    return stored


def test_words_answer_and_reaction_appear_in_this_order(played: Any) -> None:
    found = [type(event) for event in in_reading_order(events_of(played))]
    said = found.index(OverseerSaid)
    assert found[said:].index(JurorSaid) < found[said:].index(StanceChanged)
    assert sorted(map(str, found)) == sorted(str(type(event)) for event in events_of(played))


@pytest.mark.parametrize("render", [formats.render_md, formats.render_html])
def test_a_text_shows_each_vote_in_full_and_no_note(played: Any, render: Callable[[Transcript], str]) -> None:
    text = render(told(played))
    verdict = played.state.verdict
    for vote in verdict.votes:
        assert vote.tx_hash in text
        assert vote.address in text
    assert verdict.contract in text
    assert verdict.log_hash in text
    assert SECRET not in text
    assert played.state.owner not in text


def test_an_explorer_is_linked_for_each_transaction_and_address_and_named_in_answer_and_message(played: Any) -> None:
    explorer, state = "https://explorer.example", played.state
    jury = rules.jury(shown=rules.DefaultView(evm_explorer=explorer))
    shown = jury.shown_verdict(state)
    assert shown is not None
    assert msgspec.to_builtins(shown)["explorer"] == explorer
    text = transcript(state, jury.material(state), events_of(played), shown)
    pages = {f"{explorer}/address/{shown.contract}", f"{explorer}/tx/{text.deployed}"}
    pages |= {f"{explorer}/tx/{vote.tx_hash}" for vote in shown.votes}
    pages |= {f"{explorer}/address/{vote.address}" for vote in shown.votes}
    assert set(re.findall(r'href="([^"]+)"', formats.body_html(text))) == pages
    assert set(re.findall(r"\]\(<([^>]+)>\)", formats.render_md(text))) == pages
    read = next(event for event in events_of(played) if isinstance(event, VerdictRead))
    message = jury.public(read, Viewer(agent_id=state.owner), state)
    assert msgspec.to_builtins(message)["explorer"] == explorer


def test_without_an_explorer_nothing_is_linked(played: Any) -> None:
    assert "explorer" not in msgspec.to_builtins(played.jury.shown_verdict(played.state))
    assert "href" not in formats.body_html(told(played))


def test_what_was_said_cannot_become_markup(played: Any) -> None:
    assert SAID not in formats.render_html(told(played))
    assert escape(SAID) in formats.render_html(told(played))
    assert r"Doubt \<must\> decide." in formats.render_md(told(played))


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_a_page_is_marked_with_the_language_of_its_session(performances: Callable[..., Any], language: str) -> None:
    text = told(performances(language).to("ended"))
    assert text.language == language
    page = formats.render_html(text)
    assert re.findall(r'\slang="([^"]*)"', page) == [language]
    assert page.index(f'<html lang="{language}">') < page.index("<title>")


def test_a_shared_log_lacks_the_notes_and_the_owner_and_nothing_else(played: Any) -> None:
    stored = records(played)
    shared = list(shared_log(stored))
    written = b"\n".join(msgspec.json.encode(record) for record in shared).decode()
    assert SECRET not in written
    assert '"agent-1"' not in written
    whole = [record for record in shared if not record.withheld]
    assert withheld(shared) == len(shared) - len(whole) > 0
    kept = {record.version: record.data for record in stored}
    assert all(bytes(record.data) == bytes(kept[record.version]) for record in whole)
    assert {record.type for record in shared if record.withheld} == {
        "jury_opened", "turn_started", "note_sent", "stance_changed",
    }  # fmt: skip


def test_a_record_of_a_shared_log_that_was_changed_is_found(played: Any) -> None:
    shared = list(shared_log(records(played)))
    place, said = next((at, record) for at, record in enumerate(shared) if record.type == "overseer_said")
    shared[place] = msgspec.structs.replace(said, data=msgspec.Raw(bytes(said.data).replace(b"Doubt", b"Proof")))
    broken = f"log: record {place + 1} was changed: the hash chain breaks there"
    assert broken in compare(shared, read_chain(played))
    untouched = compare(list(shared_log(records(played))), read_chain(played))
    assert not [line for line in untouched if "chain breaks" in line]


def read_chain(session: Any) -> Verdict:
    """The case as a chain has it: what the session says of it."""
    said = session.state.verdict
    votes = tuple(
        MinedVote(juror_id="", address=vote.address, guilty=vote.guilty, tx_hash=vote.tx_hash) for vote in said.votes
    )
    return Verdict(
        guilty=said.verdict == "guilty", guilty_votes=said.guilty, not_guilty_votes=said.not_guilty, votes=votes,
        contract=said.contract, chain_id=said.chain_id, log_hash=said.log_hash, deadline=0,
    )  # fmt: skip


def test_a_picture_shows_each_juror_its_mood_and_its_vote(played: Any) -> None:
    shown = scene(played.state, played.jury.material(played.state), events_of(played))
    votes = {vote.juror_id: vote for vote in played.state.verdict.votes}
    for juror in shown["jurors"]:
        assert juror["vote"] == ("guilty" if votes[juror["id"]].guilty else "not_guilty")
        assert juror["tx_hash"] == votes[juror["id"]].tx_hash
    assert len(shown["lines"]) == 3
    assert SECRET not in str(shown)


def test_nothing_is_shown_before_the_end_and_nothing_to_strangers(performances: Callable[..., Any]) -> None:
    session = performances().to("persuasion")
    for route in (sharing.ASK, sharing.PAGE, sharing.LOG, "jury_transcript"):
        refused = session.call(route)
        assert isinstance(refused, Refused)
        assert refused.code is Code.NOT_FINISHED
        stranger = session.call(route, agent="agent-2")
        assert isinstance(stranger, Refused)
        assert stranger.code is Code.NOT_FOUND
    assert session.call(sharing.TAKE_BACK) == {"sections": None}


def test_a_share_takes_no_fields(played: Any) -> None:
    assert played.call(sharing.ASK, {}) == {"sections": None}
    refused = played.call(sharing.ASK, {"sections": []})
    assert isinstance(refused, Refused)
    assert refused.code is Code.INVALID_REQUEST


def test_what_a_sealed_record_shows_without_its_key_is_counted_as_given(played: Any) -> None:
    first, *_ = records(played)
    fields = msgspec.structs.asdict(first) | {"sealed": "v1.AAAA"}
    assert withheld([OpenedRecord(**fields, seal_key="AAAA")]) == 0
    assert withheld([OpenedRecord(**fields)]) == 1
