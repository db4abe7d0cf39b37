"""The history checker finds nothing in an honest history, and each planted bug."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from tests.integration.faults.history import Act, History, Read, Stored, faults

Bug = Callable[[History], History]


def honest(seed: int) -> History:
    """A game whose players act, repeat calls that got no answer, are refused, and look; two watchers see it."""
    chance, clock = random.Random(seed), 0.0
    acts: list[Act] = []
    reads: list[Read] = []
    log = [Stored(version=1, hash="created", key="", public=b"1")]
    for number in range(30):
        client, key, invoked = f"agent-{number % 3}", f"key-{number}", clock
        clock += chance.random()
        if chance.random() < 0.2:
            acts.append(Act(client=client, key=key, invoked=invoked, returned=clock, status=409))
            continue
        version = len(log) + 1
        log.append(Stored(version=version, hash=f"hash-{number}", key=key, public=b"%d" % version))
        if chance.random() < 0.3:
            log.append(Stored(version=version + 1, hash=f"after-{number}", key="", public=b"%d" % (version + 1)))
        if chance.random() < 0.3:
            acts.append(Act(client=client, key=key, invoked=invoked, returned=clock, status=503))
            invoked, clock = clock, clock + chance.random()
        answer = {"status": 200, "hash": f"hash-{number}", "version": len(log)}
        acts.append(Act(client=client, key=key, invoked=invoked, returned=clock, **answer))
        if chance.random() < 0.2:
            acts.append(Act(client=client, key=key, invoked=clock, returned=clock + 0.1, **answer))
        reads.append(Read(client=client, invoked=clock + 0.01, returned=clock + 0.02, version=len(log)))
        clock += 0.1
    feed = [record.public for record in log]
    return History(acts=acts, reads=reads, log=log, feeds=(feed, feed))


def _accepted(history: History, place: int = 3) -> Act:
    return [act for act in history.acts if act.hash][place]


def _without(records: Sequence[Stored], lost: str) -> list[Stored]:
    left = [record for record in records if record.hash != lost]
    return [replace(record, version=number) for number, record in enumerate(left, 1)]


def an_accepted_action_is_lost(history: History) -> History:
    log = _without(history.log, str(_accepted(history).hash))
    return replace(history, log=log, feeds=([record.public for record in log],))


def an_action_is_done_twice(history: History) -> History:
    again = replace(history.log[-1], version=len(history.log) + 1, hash="again", key=_accepted(history).key)
    return replace(history, log=[*history.log, again], feeds=([*history.feeds[0], again.public],))


def a_refused_action_is_stored(history: History) -> History:
    refused = next(act for act in history.acts if act.status == 409)
    stray = replace(history.log[-1], version=len(history.log) + 1, hash="stray", key=refused.key)
    return replace(history, log=[*history.log, stray], feeds=([*history.feeds[0], stray.public],))


def a_repeat_gets_another_answer(history: History) -> History:
    act = _accepted(history)
    return replace(history, acts=[*history.acts, replace(act, version=act.version + 1)])


def two_actions_share_a_receipt(history: History) -> History:
    one, other = _accepted(history, 2), _accepted(history, 8)
    acts = [replace(act, hash=one.hash) if act is other else act for act in history.acts]
    return replace(history, acts=acts)


def an_answer_tells_an_older_version(history: History) -> History:
    act = _accepted(history, 8)
    return replace(history, acts=[replace(act, version=1) if each is act else each for each in history.acts])


def two_actions_changed_places(history: History) -> History:
    one, other = (next(r for r in history.log if r.key == _accepted(history, n).key) for n in (1, 12))
    swapped = {one.version: replace(other, version=one.version), other.version: replace(one, version=other.version)}
    return replace(history, log=[swapped.get(record.version, record) for record in history.log])


def a_version_is_missing(history: History) -> History:
    log = [record for record in history.log if record.version != 5]
    return replace(history, log=log, feeds=([record.public for record in log],))


def a_read_goes_back(history: History) -> History:
    first, last = history.reads[0], history.reads[-1]
    late = replace(first, invoked=last.returned + 1, returned=last.returned + 2)
    return replace(history, reads=[*history.reads, late])


def a_read_misses_what_was_accepted(history: History) -> History:
    act = _accepted(history, 10)
    stale = Read(client="anybody", invoked=act.returned + 1e-6, returned=act.returned + 2e-6, version=act.version - 1)
    return replace(history, reads=[stale])


def a_read_shows_what_is_not_stored(history: History) -> History:
    ahead = replace(history.reads[-1], version=len(history.log) + 1)
    return replace(history, reads=[*history.reads, ahead])


def a_feed_has_a_hole(history: History) -> History:
    whole = history.feeds[0]
    return replace(history, feeds=(whole, [*whole[:4], *whole[5:]]))


def a_feed_repeats_a_message(history: History) -> History:
    whole = history.feeds[0]
    return replace(history, feeds=(whole, [*whole[:4], whole[3], *whole[4:]]))


def a_feed_is_out_of_order(history: History) -> History:
    whole = history.feeds[0]
    return replace(history, feeds=(whole, [*whole[:3], whole[4], whole[3], *whole[5:]]))


def a_feed_has_other_bytes(history: History) -> History:
    whole = history.feeds[0]
    return replace(history, feeds=([*whole[:-1], whole[-1] + b" "],))


def a_feed_ends_early(history: History) -> History:
    return replace(history, feeds=(history.feeds[0][:-1],))


BUGS: list[Any] = [
    an_accepted_action_is_lost,
    an_action_is_done_twice,
    a_refused_action_is_stored,
    a_repeat_gets_another_answer,
    two_actions_share_a_receipt,
    an_answer_tells_an_older_version,
    two_actions_changed_places,
    a_version_is_missing,
    a_read_goes_back,
    a_read_misses_what_was_accepted,
    a_read_shows_what_is_not_stored,
    a_feed_has_a_hole,
    a_feed_repeats_a_message,
    a_feed_is_out_of_order,
    a_feed_has_other_bytes,
    a_feed_ends_early,
]


@pytest.mark.parametrize("seed", range(20))
def test_an_honest_history_has_no_fault(seed: int) -> None:
    assert list(faults(honest(seed))) == []


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
@pytest.mark.parametrize("seed", range(5))
def test_each_planted_bug_is_told(bug: Bug, seed: int) -> None:
    assert list(faults(bug(honest(seed))))
