"""A case of somebody's own by the rules: other jurors, rounds and topics, and the very pack it was opened with."""

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from playmolt_core.game.decider import Refused
from playmolt_core.game.packs.frame import text_of
from playmolt_jury.content import pack
from playmolt_jury.content.cases import PackLibrary
from playmolt_jury.content.pack import Pack
from playmolt_jury.jurors import scripted
from playmolt_jury.rules import Jury

from .conftest import DEFAULT, Session, scripted_model


@pytest.fixture
def open_ferry(ferry: Pack) -> Callable[[], Session]:
    def opened() -> Session:
        session = Session(Jury(PackLibrary(pack.shipped(), [ferry]), "v1"), opened=False)
        session.said = dict.fromkeys(DEFAULT, scripted_model())
        session.call("jury_open", {"language": "en", "case": "ferry"})
        return session

    return opened


def test_texts_of_a_pack_are_composed() -> None:
    """A writer's editor on a Mac may save Hangul in parts."""
    assert text_of(unicodedata.normalize("NFD", "김민수").encode("utf-8-sig")) == "김민수"


def test_event_1_pins_the_pack(open_ferry: Callable[[], Session], ferry: Pack) -> None:
    session = open_ferry()
    opened: Any = session.log[0][0]
    assert (opened.case, opened.pack_digest) == ("ferry", ferry.digest)
    assert session.view()["case"] == {"id": "ferry", "title": "The Ferry That Did Not Stop", "digest": ferry.digest}


def test_a_pack_of_three_jurors_is_played_to_its_end(open_ferry: Callable[[], Session]) -> None:
    session = open_ferry().to("persuasion")
    assert [juror["rounds_left"] for juror in session.view()["jurors"]] == [6, 6, 6]
    assert session.chat("clerk", "There is reasonable doubt.")["reply"]
    session.to("deliberation")
    assert session.call("jury_notes", {"juror_id": "pilot", "text": "Think."})["notes_left"] == 1
    session.to("ended")
    assert len(session.events("round_ended")) == 2
    assert len(session.call("jury_verdict")["votes"]) == 3
    assert session.call("jury_ending")["id"].endswith("_nothing")


def test_a_juror_that_is_called_as_one_of_the_shipped_case_knows_nothing_of_it(ferry: Pack) -> None:
    renamed = {
        path: content.replace(b"[clerk]", b"[opportunist]").replace(b'id = "clerk"', b'id = "opportunist"')
        for path, content in ferry.files.items()
    }
    session = Session(Jury(PackLibrary(pack.shipped(), [pack.read(renamed)]), "v1"), opened=False)
    session.said = dict.fromkeys(DEFAULT, scripted_model())
    session.call("jury_open", {"language": "en", "case": "ferry"})
    session.to("persuasion")
    heard = session.chat("opportunist", "Think of the consequences, and of the registration bill.")["reply"]
    session.to("ended")
    heard += " ".join(speech.text for speech in session.events("speech"))
    shipped = scripted._voices("en")["opportunist"]
    assert not any(line in heard for pair in shipped.topics.values() for line in pair)
    assert not any(each.text in heard for each in (*shipped.speech_guilty, *shipped.speech_innocent))


def test_another_engine_refuses_rather_than_plays_another_pack(open_ferry: Callable[[], Session]) -> None:
    session = open_ferry()
    session.jury.cases = PackLibrary(pack.shipped())
    for refused in (session.call("jury_dossier"), session.call("jury_phase", {"to": "investigation"})):
        assert isinstance(refused, Refused)
        assert refused.code.wire == "unavailable"
    assert len(session.log) == 1


@pytest.mark.parametrize(
    ("body", "field"),
    [({"language": "en", "case": "nobody"}, "case"), ({"language": "zh", "case": "ferry"}, "language")],
)
def test_what_is_not_there_is_refused_by_its_field(
    open_ferry: Callable[[], Session], body: dict[str, str], field: str
) -> None:
    session = open_ferry()
    other = Session(session.jury, opened=False)
    refused = other.call("jury_open", body)
    assert [error.field for error in refused.errors] == [field]


@pytest.mark.parametrize("body", [{"language": "ko"}, {"language": "ko", "case": None}])
def test_where_no_case_is_named_it_is_the_shipped_one(open_ferry: Callable[[], Session], body: dict[str, Any]) -> None:
    other = Session(open_ferry().jury, opened=False)
    assert other.call("jury_open", body)["case"]["id"] == pack.shipped().id


def test_the_shipped_id_is_no_others(ferry: Pack) -> None:
    with pytest.raises(ValueError, match="shipped"):
        PackLibrary(ferry, [Pack(id=ferry.id, title="x", digest="0" * 64, structure=ferry.structure, materials={})])


@pytest.mark.parametrize("body", [{}, {"case": None}])
def test_who_names_no_case_gets_the_shipped_one(ferry: Pack, body: dict[str, None]) -> None:
    session = Session(Jury(PackLibrary(pack.shipped(), [ferry]), "v1"), opened=False)
    session.call("jury_open", {"language": "en", **body})
    opened: Any = session.log[0][0]
    assert opened.case == pack.shipped().id
