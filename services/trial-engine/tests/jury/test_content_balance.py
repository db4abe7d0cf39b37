"""The case can be won and lost: players who differ only in what they say, under rules 1 to 3 of jury.md."""

from collections.abc import Callable, Iterable, Mapping
from itertools import islice

import pytest
from playmolt_jury.content import pack
from playmolt_jury.content.material import Evidence, Juror, Material
from playmolt_jury.content.structure_check import strongest
from playmolt_jury.persuasion.stance import MIDDLE, argued, leader, responders, struck, swayed, votes_guilty
from playmolt_schemas.stored.jury import TopicImpact

ROUNDS = 10
DELIBERATION_ROUNDS = 4

Messages = Iterable[tuple[TopicImpact, ...]]
Player = Callable[[Juror], Messages]


@pytest.fixture(scope="module")
def case() -> Material:
    return pack.shipped().materials["en"]


def persuaded(juror: Juror, messages: Messages, *, keyword: bool = False) -> int:
    """Ten rounds with one juror (rule 1), the first with a keyword (rule 2) if the player knows one."""
    stance = juror.initial_stance
    for number, topics in enumerate(islice(messages, ROUNDS)):
        before = stance
        stance = argued(stance, juror.topic_weights, topics).after
        if keyword and number == 0:
            stance = struck(before, stance).after
    return stance


def conviction(juror: Juror, stance: int) -> tuple[TopicImpact, ...]:
    """What a juror speaks of: whatever moves itself the most the way it leans."""
    weights = juror.topic_weights
    choose = max if votes_guilty(stance) else min
    return (TopicImpact(topic=choose(weights, key=lambda topic: weights[topic]), impact="positive"),)


def deliberated(jurors: Mapping[str, Juror], stances: Mapping[str, int]) -> dict[str, int]:
    """Four rounds (rule 3): the leader and both responders from one snapshot, applied in speaking order."""
    now, order, led = dict(stances), tuple(jurors), dict.fromkeys(jurors, 0)
    for _ in range(DELIBERATION_ROUNDS):
        snapshot = dict(now)
        first = leader(order, snapshot, led)
        led[first] += 1
        for speaker in (first, *responders(order, snapshot, first)):
            for listener in (each for each in order if each != speaker):
                now[listener] = swayed(
                    now[listener],
                    listener=snapshot[listener],
                    speaker=snapshot[speaker],
                    power=jurors[speaker].speaker_power,
                    weights=jurors[listener].topic_weights,
                    topics=conviction(jurors[speaker], snapshot[speaker]),
                ).after
    return now


def guilty_votes(case: Material, player: Player, *, keyword: bool = False) -> int:
    jurors = {juror.id: juror for juror in case.jurors}
    stances = {name: persuaded(juror, player(juror), keyword=keyword) for name, juror in jurors.items()}
    return sum(map(votes_guilty, deliberated(jurors, stances).values()))


def shown(items: Iterable[Evidence]) -> Messages:
    return (item.topics for item in items)


def test_silence_loses(case: Material) -> None:
    assert guilty_votes(case, lambda _: ()) >= 3


def test_the_strongest_argument_every_time_wins(case: Material) -> None:
    assert guilty_votes(case, lambda juror: [strongest(juror.topic_weights, guilty=False)] * ROUNDS) == 0


def test_the_strongest_argument_every_time_also_convicts(case: Material) -> None:
    assert guilty_votes(case, lambda juror: [strongest(juror.topic_weights, guilty=True)] * ROUNDS) == 5


def test_one_good_argument_a_message_wins_in_four_messages_but_not_in_two(case: Material) -> None:
    def told(times: int) -> Player:
        return lambda juror: [strongest(juror.topic_weights, guilty=False)[:1]] * times

    assert guilty_votes(case, told(4)) <= 2
    assert guilty_votes(case, told(2)) >= 3


def test_a_clumsy_overseer_who_shows_whatever_lies_open_loses(case: Material) -> None:
    assert guilty_votes(case, lambda _: shown(each for each in case.evidence if not each.locked)) >= 3


def test_what_the_witnesses_held_back_wins(case: Material) -> None:
    assert guilty_votes(case, lambda _: shown(each for each in case.evidence if each.locked)) <= 2


def test_the_file_as_charged_convicts(case: Material) -> None:
    charge = [each for each in case.evidence if each.id in ("E1", "E3", "E5")]
    assert guilty_votes(case, lambda _: shown(charge)) >= 4


def test_the_whole_truth_alone_does_not_acquit(case: Material) -> None:
    assert guilty_votes(case, lambda _: shown(each for each in case.evidence if each.id == "E15")) >= 3


def test_a_speech_that_moves_one_juror_hardens_another(case: Material) -> None:
    pity = (TopicImpact(topic="emotional_appeal", impact="positive"),)
    moved = {juror.id: persuaded(juror, [pity]) - juror.initial_stance for juror in case.jurors}
    assert moved["sympathizer"] < 0 < moved["radical"]


def test_a_keyword_said_to_a_friend_of_the_accused_costs(case: Material) -> None:
    (friend,) = (juror for juror in case.jurors if juror.id == "sympathizer")
    nothing: Messages = [()]
    assert persuaded(friend, nothing, keyword=True) == friend.initial_stance + 10


@pytest.mark.parametrize("known", [False, True])
def test_a_keyword_decides_a_close_case(case: Material, known: bool) -> None:
    """Two arguments of one topic each are just too few, unless each guilty-leaning juror's weak point is known too."""

    def twice(juror: Juror) -> Messages:
        return [strongest(juror.topic_weights, guilty=False)[:1]] * 2

    leaning = {juror.id for juror in case.jurors if votes_guilty(juror.initial_stance)}
    jurors = {juror.id: juror for juror in case.jurors}
    stances = {
        name: persuaded(juror, twice(juror), keyword=known and name in leaning) for name, juror in jurors.items()
    }
    votes = sum(stance > MIDDLE for stance in deliberated(jurors, stances).values())
    assert (votes <= 2) is known
