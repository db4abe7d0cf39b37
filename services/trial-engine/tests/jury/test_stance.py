"""How stances move: the page's fixtures, and what holds for every change."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_jury.content.material import TopicImpact
from playmolt_jury.persuasion import stance


def about(topic: str, impact: str = "positive") -> TopicImpact:
    return TopicImpact(topic=topic, impact=impact)  # type: ignore[arg-type]


def swayed(weight: int, power: str, speaker: int, listener: int, impact: str = "positive") -> stance.Change:
    return stance.swayed(
        listener, listener=listener, speaker=speaker, power=power, weights={"t": weight}, topics=[about("t", impact)]
    )


def test_the_fixtures_of_the_page() -> None:
    first = swayed(8, "0.6", 80, 40)
    assert (first.after, first.parts[0].points) == (43, "2.88")
    second = swayed(-5, "0.6", 20, 90)
    assert (second.after, second.parts[0].points) == (90, "-0.45")
    third = swayed(10, "0.5", 60, 60)
    assert (third.after, third.parts[0].points) == (65, "5")


@pytest.mark.parametrize(
    ("impact", "weight", "points"),
    [
        ("positive", 7, "7"),
        ("negative", 7, "-3.5"),
        ("neutral", 7, "2.1"),
        ("negative", -5, "2.5"),
        ("positive", 0, "0"),
    ],
)
def test_an_argument_counts_by_its_impact(impact: str, weight: int, points: str) -> None:
    change = stance.argued(50, {"t": weight}, [about("t", impact)])
    assert [part.points for part in change.parts] == [points]


def test_an_unknown_topic_weighs_nothing_and_is_still_told() -> None:
    change = stance.argued(50, {"t": 9}, [about("other")])
    assert change.after == 50
    assert [(part.topic, part.weight, part.points) for part in change.parts] == [("other", 0, "0")]


def test_the_parts_of_a_message_are_summed_before_they_are_rounded() -> None:
    weights = {"a": 3, "b": 3, "c": 3}
    thrice = stance.argued(50, weights, [about("a", "negative"), about("b", "negative"), about("c", "negative")])
    assert thrice.after == 45  # -1.5 three times is -4.5, away from zero


def test_a_message_moves_a_juror_by_15_at_most_and_says_so() -> None:
    change = stance.argued(50, {"a": 10, "b": 9}, [about("a"), about("b")])
    assert change.after == 65
    assert [(part.rule, part.points) for part in change.parts] == [("topic", "10"), ("topic", "9"), ("cap", "-4")]
    down = stance.argued(50, {"a": -10, "b": -9}, [about("a"), about("b")])
    assert (down.after, down.parts[-1].points) == (35, "4")


def test_a_note_counts_half_after_the_cap() -> None:
    change = stance.argued(50, {"a": 10, "b": 9}, [about("a"), about("b")], half=True)
    assert change.after == 58  # 15 halved is 7.5
    assert [part.points for part in change.parts] == ["5", "4.5", "-2"]


def test_the_scale_ends_at_0_and_100() -> None:
    assert stance.argued(95, {"t": 10}, [about("t")]).after == 100
    assert stance.argued(4, {"t": -10}, [about("t")]).after == 0


@pytest.mark.parametrize(("before", "after"), [(51, 41), (50, 50), (49, 59), (100, 90), (0, 10)])
def test_a_weakness_pulls_toward_the_middle(before: int, after: int) -> None:
    assert stance.struck(before, before).after == after


def test_a_weakness_is_judged_on_the_stance_before_the_message() -> None:
    assert stance.struck(55, 45).after == 35
    assert stance.struck(45, 55).after == 65
    assert stance.struck(50, 60).after == 60


def test_a_weakness_is_a_substring_whatever_its_case() -> None:
    assert stance.hits("The SYSTEM FLAWS matter", ["system flaw"])
    assert stance.hits("这是系统漏洞吗", ["系统漏洞"])
    assert not stance.hits("The systemic flaw", ["system flaw"])


@pytest.mark.parametrize(("listener", "after"), [(14, 19), (15, 25), (85, 95), (86, 91)])
def test_listeners_at_the_extremes_move_half_as_far(listener: int, after: int) -> None:
    assert swayed(10, "1", listener, listener).after == after


def test_a_speech_counts_its_denials_in_full_and_neutral_by_three_tenths() -> None:
    assert swayed(10, "1", 50, 50, "negative").after == 40
    assert swayed(10, "1", 50, 50, "neutral").after == 53


def test_influence_is_computed_from_the_snapshot_and_added_to_the_live_stance() -> None:
    change = stance.swayed(70, listener=40, speaker=80, power="0.6", weights={"t": 8}, topics=[about("t")])
    assert (change.before, change.after) == (70, 73)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [("0.5", 1), ("-0.5", -1), ("2.5", 3), ("-2.5", -3), ("0.49", 0), ("-0.49", 0), ("7.5", 8), ("0", 0)],
)
def test_halves_are_rounded_away_from_zero(value: str, rounded: int) -> None:
    assert stance.half_away(Fraction(value)) == rounded


@pytest.mark.parametrize(
    ("at", "band"),
    [(0, "innocent"), (20, "innocent"), (21, "leaning_innocent"), (40, "leaning_innocent"), (41, "undecided"),
     (59, "undecided"), (60, "leaning_guilty"), (79, "leaning_guilty"), (80, "guilty"), (100, "guilty")],
)  # fmt: skip
def test_bands(at: int, band: str) -> None:
    assert stance.band(at) == band


def test_who_stands_at_50_does_not_vote_guilty() -> None:
    assert [stance.votes_guilty(at) for at in (0, 50, 51, 100)] == [False, False, True, True]


STANCES = st.integers(0, 100)
POWERS = st.integers(0, 100).map(lambda hundredths: f"{hundredths // 100}.{hundredths % 100:02}")
TOPICS = st.lists(
    st.builds(TopicImpact, topic=st.sampled_from("abc"), impact=st.sampled_from(["positive", "neutral", "negative"])),
    max_size=3,
)
WEIGHTS = st.dictionaries(st.sampled_from("abc"), st.integers(-20, 20))


def whole(change: stance.Change) -> int:
    """What the parts of a change come to."""
    total = sum((Fraction(part.points) for part in change.parts), Fraction(0))
    return max(0, min(100, change.before + stance.half_away(total)))


@given(STANCES, WEIGHTS, TOPICS, st.booleans())
@settings(max_examples=200)
def test_the_parts_of_an_argument_make_its_change(
    before: int, weights: dict[str, int], topics: list[TopicImpact], half: bool
) -> None:
    change = stance.argued(before, weights, topics, half=half)
    assert change.after == whole(change)
    assert abs(change.after - before) <= (8 if half else 15)


@given(STANCES, STANCES, STANCES, POWERS, WEIGHTS, TOPICS)
@settings(max_examples=200)
def test_the_parts_of_a_speech_make_its_change(
    now: int, listener: int, speaker: int, power: str, weights: dict[str, int], topics: list[TopicImpact]
) -> None:
    change = stance.swayed(now, listener=listener, speaker=speaker, power=power, weights=weights, topics=topics)
    assert change.after == whole(change)


def test_a_number_without_a_finite_decimal_is_not_written() -> None:
    with pytest.raises(ValueError, match="1/3"):
        stance.decimal_text(Fraction(1, 3))


ORDER = ("a", "b", "c", "d", "e")


def test_the_most_extreme_of_those_who_led_least_leads() -> None:
    stances = {"a": 65, "b": 78, "c": 32, "d": 54, "e": 48}
    led = dict.fromkeys(ORDER, 0)
    assert stance.leader(ORDER, stances, led) == "b"
    assert stance.leader(ORDER, stances, led | {"b": 1}) == "c"


def test_equals_lead_in_juror_order() -> None:
    assert stance.leader(ORDER, {"a": 50, "b": 40, "c": 60, "d": 60, "e": 40}, dict.fromkeys(ORDER, 1)) == "b"


def test_the_two_farthest_answer_the_farther_first() -> None:
    assert stance.responders(ORDER, {"a": 65, "b": 78, "c": 32, "d": 54, "e": 48}, "b") == ("c", "e")
    assert stance.responders(ORDER, {"a": 60, "b": 50, "c": 40, "d": 60, "e": 50}, "b") == ("a", "c")
