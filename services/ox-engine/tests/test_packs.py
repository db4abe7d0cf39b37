"""Games that are drawn from a pack: pinned by its digest in event 1, and never from another one."""

from typing import Any

import msgspec
import pytest
from playmolt_core.game.decider import Create, Refused
from playmolt_core.game.packs import entries
from playmolt_core.game.packs.entries import EntryPack
from playmolt_core.game.packs.faults import InvalidPack
from playmolt_ox.content import QUESTIONS
from playmolt_ox.rules import Ox
from playmolt_schemas.stored.ox import GameStarted
from playmolt_schemas.stored.seats import GameCreated

from core.tests.decided_again import RecordedTable, decided_again
from core.tests.table import SeatedTable

FRAME = 'format = 1\ngame = "ox"\nid = "riddles"\ntitle = "Riddles"\nlanguages = ["en", "zh"]\n'


def pack(*questions: str) -> EntryPack[str]:
    listed = msgspec.json.encode(questions or ("One?", "Two?"))
    files = {
        "pack.toml": FRAME.encode(),
        "questions.json": listed,
        "questions.zh.json": b'["\xe4\xb8\x80\xef\xbc\x9f"]',
    }
    return entries.read(files, QUESTIONS)


def opened(table: SeatedTable, **config: Any) -> GameCreated | Refused:
    table.state = table.decider.initial("ox-2")
    table.log.clear()
    table.when(Create(seed="3", config={"pack": "riddles", **config}))
    return table.decision if isinstance(table.decision, Refused) else table.log[-1][0]


def test_event_1_pins_the_pack_and_the_questions_are_its_own() -> None:
    table = SeatedTable(Ox(packs=[pack()]), "7", 0)
    created = opened(table)
    assert isinstance(created, GameCreated)
    assert (created.config.pack, created.config.pack_digest) == ("riddles", pack().digest)
    assert (created.config.language, created.content_version) == ("en", pack().digest[:16])
    table.seated()
    started = next(event for event, _, _ in table.log if isinstance(event, GameStarted))
    assert set(started.questions) == {"One?", "Two?"}


def test_a_game_in_another_language_of_the_pack_has_the_questions_of_that() -> None:
    table = SeatedTable(Ox(packs=[pack()]), "7", 0)
    opened(table, language="zh")
    table.seated()
    started = next(event for event, _, _ in table.log if isinstance(event, GameStarted))
    assert set(started.questions) == {"一？"}


@pytest.mark.parametrize(
    ("config", "field"), [({"pack": "others"}, "pack"), ({"language": "ko"}, "language")], ids=["pack", "language"]
)
def test_what_is_not_offered_opens_no_game(config: dict[str, Any], field: str) -> None:
    refused = opened(SeatedTable(Ox(packs=[pack()]), "7", 0), **config)
    assert isinstance(refused, Refused)
    assert [error.field for error in refused.errors] == [field]


@pytest.mark.parametrize("others", [[], [pack("Three?")]], ids=["none", "a newer one"])
def test_a_process_without_that_very_pack_says_so_while_the_game_waits(others: list[EntryPack[str]]) -> None:
    table = SeatedTable(Ox(packs=[pack()]), "7", 0)
    opened(table)
    assert Ox(packs=others).lacks(table.state) == pack().digest
    assert Ox(packs=[pack()]).lacks(table.state) == ""
    assert Ox(packs=others).lacks(table.seated().state) == "", "all is drawn"
    assert Ox().lacks(SeatedTable(Ox(), "7", 0).state) == ""


@pytest.mark.parametrize("packs", [[], [pack()]], ids=["without it", "with it"])
def test_it_is_decided_again_as_it_was(packs: list[EntryPack[str]]) -> None:
    table = RecordedTable(Ox(packs=[pack()]), "7")
    table.facts.clear()
    opened(table)
    table.seated()
    again = decided_again(Ox(packs=packs), table)
    assert (again.known, again.differs_at) == (True, None)


def test_a_faulty_pack_tells_all_that_is_wrong() -> None:
    with pytest.raises(InvalidPack) as told:
        entries.read({"pack.toml": FRAME.encode(), "questions.json": b'["a",\n"a", ""]'}, QUESTIONS)
    assert {(fault.file, fault.code) for fault in told.value.faults} == {
        ("questions.json", "twice"), ("questions.json", "missing_text"), ("questions.zh.json", "missing_text"),
    }  # fmt: skip
    for content in (b"\xff", b"= 1"):
        with pytest.raises(InvalidPack, match=r"pack\.toml:1: syntax"):
            entries.read({"pack.toml": content}, QUESTIONS)
    with pytest.raises(InvalidPack, match=r"pack\.toml:1: missing_key"):
        entries.read({}, QUESTIONS)
