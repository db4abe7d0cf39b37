import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playmolt_schemas import subjects
from playmolt_schemas.shards import MOST_SHARDS, BadPlaces, read_places, shard_of, streams, write_places

SHARDS = st.integers(1, MOST_SHARDS)


@given(st.text(max_size=80), SHARDS)
def test_the_shard_follows_from_the_name_as_the_page_says(stream: str, shards: int) -> None:
    assert shard_of(stream, shards) == int(hashlib.sha256(stream.encode()).hexdigest()[:8], 16) % shards


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=MOST_SHARDS))
def test_a_place_is_read_as_it_was_written(places: list[int]) -> None:
    assert read_places(write_places(places), len(places)) == tuple(places)


def test_of_one_shard_a_place_is_a_plain_number() -> None:
    assert (write_places([12]), write_places([12, 0, 7])) == ("12", "12.0.7")


@pytest.mark.parametrize(
    "text", ["", "12", "12.0", "12.0.7.1", "12.0.", "12.0.-7", "12.0.x", "12.0. 7", "1.2.²", "1.2.9" * 9]
)
def test_what_is_not_a_place_in_three_shards_is_refused(text: str) -> None:
    with pytest.raises(BadPlaces):
        read_places(text, 3)


def test_one_shard_has_the_plain_names() -> None:
    assert streams(1) == ("EVENTS", "SPECTATE")
    assert subjects.spectate("ox", "ox-1") == subjects.spectate("ox", "ox-1", 1) == "spectate.ox.ox-1"
    assert subjects.committed(0) == "committed"


def test_several_shards_are_named_in_streams_and_subjects() -> None:
    home = shard_of("ox-1", 3)
    assert streams(3) == ("EVENTS_0", "EVENTS_1", "EVENTS_2", "SPECTATE_0", "SPECTATE_1", "SPECTATE_2")
    assert subjects.event("ox", "ox-1", "moved", 3) == f"events.{home}.ox.ox-1.moved"
    assert subjects.spectate("ox", "ox-1", 3) == f"spectate.{home}.ox.ox-1"
    assert subjects.sealed("ox", "ox-1", 3) == f"sealed.{home}.ox.ox-1"
    assert subjects.committed(2, 3) == "committed.2"
