"""What is shown of an event, a message and a record once the operator has hidden something in it."""

import msgspec
import pytest
from playmolt_core.game.withholding import EVERYBODY, ShownName, Withheld, is_partial, readable
from playmolt_schemas.records import Record
from playmolt_schemas.stored import ox
from playmolt_schemas.stored.event import texts
from playmolt_schemas.text import WITHHELD

ADA, BOB = (f"agent-00000000-0000-4000-8000-00000000000{number}" for number in (1, 2))
GAME = "ox-00000000-0000-4000-8000-000000000001"


class Rules:
    """The events of a game are all that is needed of its rules here."""

    events = ox.EVENTS


def revealed(ada: str, bob: str = "bob's") -> ox.Revealed:
    choices = (
        ox.PublicChoice(agent_id=ADA, name="Ada", choice="O", comment=ada),
        ox.PublicChoice(agent_id=BOB, name="Bob", choice="X", comment=bob),
    )
    return ox.Revealed(round=1, choices=choices, distribution=ox.Distribution(o=1, x=1))


def record(event: ox.Revealed, version: int = 7) -> Record:
    return Record(
        stream=GAME, version=version, position=1, type=event.type, schema_version=1, at="", salt="", prev_hash="",
        hash="the hash", data=msgspec.Raw(msgspec.json.encode(event)), metadata=msgspec.Raw(b"{}"),
    )  # fmt: skip


@pytest.fixture
def withheld() -> Withheld:
    return Withheld()


def test_the_texts_of_agents_are_marked_in_their_events() -> None:
    marked = {event.type: list(texts(event)) for event in ox.EVENTS.values() if texts(event)}
    assert marked == {
        "first_choice_submitted": [("comment",)],
        "switch_submitted": [("comment",)],
        "reveal": [("choices", "*", "comment")],
    }


@pytest.mark.parametrize(("author", "expected"), [(ADA, [WITHHELD, "bob's"]), (EVERYBODY, [WITHHELD, WITHHELD])])
def test_only_the_texts_of_the_author_are_withheld(withheld: Withheld, author: str, expected: list[str]) -> None:
    withheld.hide(GAME, 7, author, hidden=True)
    shown = withheld.shown(GAME, 7, revealed("ada's"))
    assert isinstance(shown, ox.Revealed)
    assert [choice.comment for choice in shown.choices] == expected
    assert withheld.shown(GAME, 8, revealed("ada's")) == revealed("ada's"), "another event is as it was"
    withheld.hide(GAME, 7, author, hidden=False)
    assert withheld.shown(GAME, 7, revealed("ada's")) == revealed("ada's")
    assert not withheld.texts(GAME)


def test_two_events_that_differ_in_the_hidden_text_alone_are_shown_alike(withheld: Withheld) -> None:
    withheld.hide(GAME, 7, ADA, hidden=True)
    one, other = (withheld.shown(GAME, 7, revealed(text)) for text in ("short", "much longer"))
    assert msgspec.json.encode(one) == msgspec.json.encode(other)
    public = [withheld.record(Rules, record(revealed(text))) for text in ("short", "much longer")]  # type: ignore[arg-type]
    assert public[0] == public[1]


def test_a_public_record_has_null_and_names_what_is_missing(withheld: Withheld) -> None:
    withheld.hide(GAME, 7, ADA, hidden=True)
    withheld.rename(BOB, ShownName("agent-000002", "agent-000002"))
    found = withheld.record(Rules, record(revealed("ada's")))  # type: ignore[arg-type]
    said = msgspec.json.decode(msgspec.json.encode(found))
    assert said["withheld"] == ["data.choices.0.comment", "data.choices.1.name"]
    assert [choice["comment"] for choice in said["data"]["choices"]] == [None, "bob's"]
    assert [choice["name"] for choice in said["data"]["choices"]] == ["Ada", None]
    assert (said["hash"], is_partial(found)) == ("the hash", True)
    filled = msgspec.json.decode(readable(found).data, type=ox.Revealed)
    assert [choice.comment for choice in filled.choices] == [WITHHELD, "bob's"]
    assert withheld.record(Rules, record(revealed("ada's"), 8)).version == 8  # type: ignore[arg-type]


def test_a_name_is_replaced_wherever_it_is_beside_its_id(withheld: Withheld) -> None:
    body = msgspec.json.encode({
        "participants": [{"id": ADA, "name": "Ada", "handle": "ada-1"}, {"id": BOB, "name": "Bob"}],
        "results": [{"agent_id": ADA, "name": "Ada", "deep": {"agent_id": ADA, "name": "Ada"}}],
        "line": "\u2028",
    })  # fmt: skip
    assert withheld.named(body) is body
    withheld.rename(ADA, ShownName(WITHHELD, "agent-000001"))
    said = msgspec.json.decode(withheld.named(body))
    assert said["participants"][0] == {"id": ADA, "name": WITHHELD, "handle": "agent-000001"}
    assert said["participants"][1]["name"] == "Bob"
    assert said["results"][0]["deep"]["name"] == WITHHELD
    assert b"\\u2028" in withheld.named(body), "line ends stay escaped, as feeds need them"
    other = msgspec.json.encode({"id": BOB, "name": "Bob"})
    assert withheld.named(other) is other, "a body without the agent costs nothing"
    withheld.rename(ADA, None)
    assert withheld.named(body) is body


@pytest.mark.parametrize("paths", [("data.no.where",), ("data.choices.9.comment",), ("data.round",), ("",)])
def test_a_copy_may_name_any_path(withheld: Withheld, paths: tuple[str, ...]) -> None:
    withheld.hide(GAME, 7, ADA, hidden=True)
    found = withheld.record(Rules, record(revealed("ada's")))  # type: ignore[arg-type]
    strange = msgspec.structs.replace(found, withheld=paths)
    assert msgspec.json.decode(readable(strange).data)["round"] == 1
