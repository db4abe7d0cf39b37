"""What a stream holds is read in one pass, as strictly as one event alone."""

from datetime import UTC, datetime
from typing import ClassVar, cast

import msgspec
import pytest
from playmolt_core.game.decider import Decider
from playmolt_core.log.folding import facts_of
from playmolt_core.log.port import Head, StoredFacts
from playmolt_schemas.records import ZERO_HASH
from playmolt_schemas.stored.event import Event, stored_types


class Said(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "said"
    words: int | str


class SaidLouder(Event, frozen=True, kw_only=True):
    type: ClassVar[str] = "said"
    schema_version: ClassVar[int] = 2
    words: str
    times: int


class Rules:
    game = "talk"
    events = stored_types(Said, SaidLouder)


RULES = cast("Decider[object]", Rules())


def read(events: str, times: str = "[]") -> list[tuple[Event, datetime]]:
    head = Head(version=1, hash=ZERO_HASH, at=datetime.now(UTC))
    return list(facts_of(RULES, StoredFacts(head=head, events=events, times=times, command_ids=())))


def test_events_come_with_their_times_and_in_their_versions() -> None:
    found = read(
        '[["said:2",{"words":"hey","times":2}],["said:1",{"words":"5"}]]', "[1795464517.000001,8589934591.999999]"
    )
    assert found == [
        (SaidLouder(words="hey", times=2), datetime(2026, 11, 23, 20, 8, 37, 1, tzinfo=UTC)),
        (Said(words="5"), datetime(2242, 3, 16, 12, 56, 31, 999999, tzinfo=UTC)),
    ]


def test_a_stream_without_events_gives_none() -> None:
    assert read("[]") == []


@pytest.mark.parametrize(("kind", "version"), [("sung", 1), ("said", 3)])
def test_an_unknown_event_is_named(kind: str, version: int) -> None:
    with pytest.raises(LookupError, match=f"talk: no reader for stored event '{kind}' version {version}"):
        read(f'[["said:1",{{"words":1}}],["{kind}:{version}",{{}}]]', "[1,2]")


@pytest.mark.parametrize("data", ['{"words":"a","times":"2"}', '{"words":"a"}', "[]"])
def test_data_that_is_not_what_the_type_says_is_an_error(data: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        read(f'[["said:2",{data}]]', "[1]")


def test_each_event_has_a_time() -> None:
    with pytest.raises(ValueError, match="argument 2 is"):
        read('[["said:1",{"words":1}]]', "[]")
