"""How units become the batches that Postgres is given (`log.batch`)."""

import msgspec
from playmolt_core.log.batch import extends, rounds
from playmolt_core.log.port import Unit

from core.tests.log.log_contract import Game


def test_what_shares_no_stream_goes_at_once() -> None:
    one, two, three = Game("sum-1"), Game("sum-2"), Game("sum-3")
    assert rounds([Unit(streams=[one.adds()]), Unit(streams=[two.adds(), three.adds()]), Unit(streams=())]) == [
        [0, 1, 2]
    ]


def test_a_unit_waits_for_the_latest_of_those_it_rests_on() -> None:
    one, two, three = Game("sum-1"), Game("sum-2"), Game("sum-3")
    units = [
        Unit(streams=[one.adds()]),
        Unit(streams=[one.adds()]),
        Unit(streams=[two.adds()]),
        Unit(streams=[two.adds(), one.adds(), three.adds()]),
        Unit(streams=[three.adds()]),
    ]
    assert rounds(units) == [[0, 2], [1], [3], [4]]


def test_the_records_of_a_unit_follow_each_other_in_every_stream() -> None:
    one, two = Game("sum-1"), Game("sum-2")
    sound, broken = one.adds(2), msgspec.structs.replace(two.adds(2), expected=1)
    assert extends(Unit(streams=[sound]))
    assert not extends(Unit(streams=[sound, broken]))


def test_no_stream_comes_twice_in_a_unit() -> None:
    one, two = Game("sum-1"), Game("sum-2")
    assert not extends(Unit(streams=[one.adds(), two.adds(), one.adds()]))
