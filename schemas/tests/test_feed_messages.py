"""Messages are derived from events: who sees which field is declared beside the field, once."""

import contextlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, ClassVar, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, UnsetType
from msgspec.structs import replace
from playmolt_cli.games import deciders
from playmolt_core.game.decider import PUBLIC, Decider, Viewer, read_event
from playmolt_jury.rules import Jury
from playmolt_schemas.feed_messages import FeedMessage, FeedMessages, SessionMessage
from playmolt_schemas.games import jury, legal
from playmolt_schemas.registry import watched_games
from playmolt_schemas.stored.event import Event, Own, Public, Shown, marks, stored_types
from playmolt_schemas.stored.seats import ClosingEvent, Submitted

from schemas.tests import samples as golden

ROOT = Path(__file__).parents[2]
JURY_SAMPLES = ROOT / "services" / "trial-engine" / "tests" / "jury" / "golden" / "events.jsonl"
GAMES = list(deciders())
WATCHED = list(watched_games())
SEATED = [game for game, messages in watched_games().items() if messages.result]
FEEDS = {**{game: watched_games()[game].feed for game in WATCHED}, "jury": jury.FEED, "legal": legal.FEED}
OPENINGS = {"jury": "jury_opened", "legal": "session_opened"}
"""The first event of a session, whose owner alone gets messages."""
SHARED = {"progress": set[str](), "turn_done": {"turn_recorded", "facts_stipulated"}}
"""Messages written by hand with another name than their events', and those events."""
SHOWN_OTHERWISE = {"private"}
"""A closing event's message says `private` and `rated` of a private game alone."""


class Bid(Submitted, frozen=True, kw_only=True):
    """A bid is in."""

    type: ClassVar[str] = "bid_made"
    name: Public[str]
    amount: Own[int] = msgspec.field(name="AMOUNT")
    version: Annotated[str, Shown(name="agent_version")]
    lot: str


class Rung(Event, frozen=True, kw_only=True):
    """A bell."""

    type: ClassVar[str] = "bell"
    message_name: ClassVar[str] = "RungMessage"
    by: str


class Hushed(Event, frozen=True, kw_only=True):
    """Nothing is shown."""

    type: ClassVar[str] = "hushed"
    secret: str


class Sold(ClosingEvent, frozen=True, kw_only=True):
    """The end."""

    type: ClassVar[str] = "sold"
    price: Public[int]
    notes: Public[tuple[str, ...]] = ()


def feed(**options: Any) -> FeedMessages:
    return FeedMessages(stored_types(Bid, Rung, Hushed, Sold), __name__, **options)


BID = Bid(agent_id="a", name="Ada", amount=7, version="2", lot="secret")


def said(event: Event, agent_id: str | None = None, **options: Any) -> bytes:
    return msgspec.json.encode(feed(**options).copies[type(event)](event, agent_id))


def test_a_message_has_the_marked_fields_and_its_author_the_own_ones() -> None:
    assert said(BID) == said(BID, "b") == b'{"type":"bid_made","agent_id":"a","name":"Ada","agent_version":"2"}'
    assert said(BID, "a") == b'{"type":"bid_made","agent_id":"a","name":"Ada","agent_version":"2","AMOUNT":7}'


def test_its_type_has_the_name_text_and_module_of_the_event() -> None:
    kind = feed().kinds[Bid]
    assert (kind.__name__, kind.__doc__, kind.__module__) == ("BidMadeMessage", "A bid is in.", __name__)
    assert (Rung in feed().kinds, Hushed in feed().kinds) == (True, False)


def test_a_name_alone_gives_an_event_a_message() -> None:
    assert said(Rung(by="secret")) == b'{"type":"bell"}'
    assert feed().kinds[Rung].__name__ == "RungMessage"


def test_the_last_message_of_a_private_game_says_so() -> None:
    assert said(Sold(price=1)) == b'{"type":"sold","price":1}'
    assert said(Sold(price=1, private=True)) == b'{"type":"sold","private":true,"rated":false,"price":1}'


def test_a_default_is_omitted_only_where_the_base_omits_it() -> None:
    class Asked(Event, frozen=True, kw_only=True):
        """A question."""

        type: ClassVar[str] = "asked"
        text: Public[str] = ""
        note: Public[str | UnsetType] = UNSET

    events = stored_types(Asked)
    session, public = FeedMessages(events, __name__, SessionMessage), FeedMessages(events, __name__)
    assert msgspec.json.encode(session.copies[Asked](Asked(), None)) == b'{"type":"asked","text":""}'
    assert msgspec.json.encode(public.copies[Asked](Asked(), None)) == b'{"type":"asked"}'
    assert [field.required for field in msgspec.structs.fields(session.kinds[Asked])] == [True, False]


def test_a_message_written_by_hand_is_not_derived() -> None:
    class BidMade(SessionMessage, frozen=True, kw_only=True, tag="bid_made"):
        """By hand."""

    found = feed(written=(BidMade,))
    assert (Bid in found.kinds, BidMade in leaves(found.union)) == (False, True)


def test_shared_events_have_one_type() -> None:
    one = FeedMessages(stored_types(Bid), __name__)
    assert feed(shared=one).kinds[Bid] is one.kinds[Bid]


def leaves(union: Any) -> tuple[Any, ...]:
    return get_args(union) if isinstance(union, UnionType) else (union,)


def samples(game: str) -> Iterator[Event]:
    decider = deciders()[game]
    if game == "jury":
        for record in map(json.loads, JURY_SAMPLES.read_text().splitlines()):
            yield read_event(decider, record["type"], record["schema_version"], json.dumps(record["data"]).encode())
    for kind, version, sample in golden.samples(game):
        yield read_event(decider, kind, version, sample)


@pytest.mark.parametrize("game", FEEDS)
def test_every_event_is_derived_or_written_by_hand_never_both(game: str) -> None:
    found = FEEDS[game]
    events = deciders()[game].events.values()
    for event in events:
        derived, written = event in found.kinds, event.type in found.written
        assert not (derived and written), event
        assert derived or not marks(event), event
    assert found.written.keys() - SHARED.keys() <= {event.type for event in events}
    assert set(leaves(found.union)) == {*found.kinds.values(), *found.written.values()}


@pytest.mark.parametrize("game", FEEDS)
def test_every_field_of_a_derived_message_has_a_mark(game: str) -> None:
    for event, kind in FEEDS[game].kinds.items():
        base: type[FeedMessage] = kind.__mro__[1]
        own = [name for name in kind.__struct_fields__ if name not in base.__struct_fields__]
        assert own == [mark.name or name for name, mark in marks(event).items()]


def structs(event: type[msgspec.Struct]) -> set[type]:
    found, waiting = set[type](), [msgspec.inspect.type_info(event)]
    while waiting:
        node: Any = waiting.pop()
        if isinstance(node, msgspec.inspect.StructType):
            if node.cls in found:
                continue
            found.add(node.cls)
        if isinstance(node, (msgspec.inspect.Type, msgspec.inspect.Field)):
            waiting += [getattr(node, name) for name in node.__struct_fields__]
        elif isinstance(node, tuple):
            waiting += node
    return found


WIRE = (
    "playmolt_schemas.games", "playmolt_schemas.agora", "playmolt_schemas.routes", "playmolt_schemas.api",
    "playmolt_schemas.game_messages", "playmolt_schemas.feed_messages",
)  # fmt: skip


def wired(game: str) -> set[type]:
    kinds = {kind for event in deciders()[game].events.values() for kind in structs(event)}
    return {kind for kind in kinds if kind.__module__.startswith(WIRE)}


@pytest.mark.parametrize("game", GAMES)
def test_a_stored_event_holds_no_type_of_the_public_api(game: str) -> None:
    assert wired(game) == set()


def variants(value: Any, text: str) -> Iterator[Any]:
    """JSON values of the same shape that differ in one leaf."""
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
        case str():
            yield value + text
        case dict():
            yield from ({**value, key: other} for key, part in value.items() for other in variants(part, text))
        case list():
            for place, part in enumerate(value):
                yield from ([*value[:place], other, *value[place + 1 :]] for other in variants(part, text))


def twins(decider: Decider, event: Event, field: str, text: str) -> Iterator[Event]:
    """The event with other values in a field; without those that its type forbids."""
    stored = json.loads(msgspec.json.encode(event))
    for value in variants(stored.get(field), text):
        with contextlib.suppress(msgspec.ValidationError):
            twin = json.dumps({**stored, field: value}).encode()
            yield read_event(decider, event.type, event.schema_version, twin)


def shown(decider: Decider, event: Event, viewer: Viewer, state: Any = None) -> bytes:
    return msgspec.json.encode(decider.public(event, viewer, state))


def opened(game: str) -> Any:
    """The state of a session after its first event; None for other games."""
    opening = next((event for event in samples(game) if event.type == OPENINGS.get(game)), None)
    decider = deciders()[game]
    if isinstance(decider, Jury):
        opening = opening and replace(opening, pack_digest=decider.cases.shipped.digest)
    return opening and decider.evolve(decider.initial("session-1"), opening, datetime(2026, 1, 1, tzinfo=UTC))


COMPARED = {
    **{game: {"game_created.seed", "game_created.config", "game_aborted.counted"} for game in SEATED},
    "agora": {"run_opened.spec", "crisis_started.extra", "tax_changed.before", "run_paused.detail"},
    "jury": {"vote_decided.stance", "vote_cast.stance", "chain_changed.detail"},
    "legal": {"session_opened.seed", "gate_answered.by", "guardrail_hit.hits", "gate_opened.checklist"},
}
"""Game → some of the fields that its samples vary."""


@pytest.mark.parametrize("game", FEEDS)
@given(text=st.text(st.characters(codec="utf-8"), min_size=1, max_size=8))
def test_a_field_without_a_mark_changes_no_message(game: str, text: str) -> None:
    decider, state, compared = deciders()[game], opened(game), set[str]()
    by_hand = set() if game in SEATED else FEEDS[game].written.keys() | set().union(*SHARED.values())
    for event in samples(game):
        if event.type in by_hand:
            continue
        author = getattr(state, "owner", None) or getattr(event, "agent_id", "agent-1")
        viewers = (PUBLIC, Viewer("stranger"), Viewer(author))
        for field in {*type(event).__struct_fields__} - marks(type(event)).keys() - SHOWN_OTHERWISE:
            for twin in twins(decider, event, field, text):
                compared |= {f"{event.type}.{field}"}
                assert [shown(decider, event, viewer, state) for viewer in viewers] == [
                    shown(decider, twin, viewer, state) for viewer in viewers
                ], field
    assert COMPARED[game] <= compared


@pytest.mark.parametrize("game", WATCHED)
@pytest.mark.parametrize("value", ["O", "X", "GUILTY", "NOT_GUILTY"])
def test_an_own_field_changes_the_messages_of_its_author_alone(game: str, value: str) -> None:
    decider = deciders()[game]
    for event in samples(game):
        for name in (name for name, mark in marks(type(event)).items() if mark.own):
            stored = {**msgspec.to_builtins(event), name: value}
            try:
                twin = read_event(decider, event.type, event.schema_version, msgspec.json.encode(stored))
            except msgspec.ValidationError:
                continue
            for viewer in (PUBLIC, Viewer("stranger")):
                assert shown(decider, event, viewer) == shown(decider, twin, viewer)
            author = Viewer(event.agent_id)  # type: ignore[attr-defined]
            assert (shown(decider, event, author) == shown(decider, twin, author)) is (event == twin)
