"""Shouting one sentence loses and arguing wins: rule 5 of jury.md, alone and in a whole game."""

import random
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import pytest
from playmolt_jury.content import pack
from playmolt_jury.content.material import Juror
from playmolt_jury.jurors import scripted
from playmolt_jury.persuasion import lexicon
from playmolt_jury.persuasion.repetition import RememberedMessage, like, repetition, took_back
from playmolt_jury.persuasion.stance import argued, band, leader, responders, swayed, votes_guilty
from playmolt_schemas.stored.jury import Language, TopicImpact

from .arguments import ARGUMENTS, EDITS

LANGUAGES: Final = tuple(pack.shipped().materials)
SENTENCE: Final = "There is reasonable doubt."
DRAWINGS: Final = 2000
DOUBT: Final = (TopicImpact(topic="procedural_justice", impact="positive"),)
DENIED: Final = (TopicImpact(topic="procedural_justice", impact="negative"),)


def stances(juror: Juror, texts: Sequence[str], language: Language) -> list[int]:
    """Where a juror stands after each message."""
    heard: tuple[RememberedMessage, ...] = ()
    now, after = juror.initial_stance, []
    for text in texts:
        said = RememberedMessage(text=text, topics=lexicon.classify(text, language))
        again = repetition(heard, said)
        moved = argued(now, juror.topic_weights, said.topics, factors=again.factors, taken_back=again.taken_back)
        if again.taken_back is None:
            heard = (*heard, RememberedMessage(text=text, topics=said.topics, moved=moved.after - now))
        else:
            heard = took_back((*heard, said))
        now = moved.after
        after.append(now)
    return after


def persuaded(jurors: Mapping[str, Juror], told: Mapping[str, Sequence[str]], language: Language) -> dict[str, int]:
    return {
        name: stances(juror, told[name], language)[-1] if name in told else juror.initial_stance
        for name, juror in jurors.items()
    }


class Debates:
    """Draws the speeches of four rounds as the scripted jurors do, from where the overseer has left them."""

    def __init__(self, language: Language) -> None:
        self.jurors = {juror.id: juror for juror in pack.shipped().materials[language].jurors}
        self._voices: Mapping[str, Any] = scripted._voices(language)
        self._swayed = lru_cache(None)(self._moved)

    def guilty(self, start: Mapping[str, int], seed: int) -> int:
        draw, now = random.Random(seed), dict(start)
        order, led, heard = tuple(self.jurors), dict.fromkeys(self.jurors, 0), set[str]()
        for _ in range(4):
            at = dict(now)
            first = leader(order, at, led)
            led[first] += 1
            for speaker in (first, *responders(order, at, first)):
                side = f"speech_{scripted._SIDES[band(at[speaker])]}"
                listed = getattr(self._voices[speaker], side)
                fresh = [place for place, each in enumerate(listed) if each.text not in heard]
                place = draw.choice(fresh or range(len(listed)))
                heard.add(listed[place].text)
                for listener in order:
                    if listener != speaker:
                        now[listener] = self._swayed(
                            now[listener], listener, at[listener], speaker, at[speaker], side, place
                        )
        return sum(map(votes_guilty, now.values()))

    def _moved(self, now: int, listener: str, at: int, speaker: str, speaks_at: int, side: str, place: int) -> int:
        topics = getattr(self._voices[speaker], side)[place].topics
        return swayed(
            now,
            listener=at,
            speaker=speaks_at,
            power=self.jurors[speaker].speaker_power,
            weights=self.jurors[listener].topic_weights,
            topics=[TopicImpact(topic=topic, impact=impact) for topic, impact in topics],
        ).after


@pytest.mark.parametrize(
    ("juror", "expected"),
    [("ophiuchus", [58, 54, 65, 65]), ("opportunist", [52, 51, 54, 54]), ("philosopher", [45, 43, 48, 48])],
)
def test_what_is_said_three_times_is_worth_nothing(juror: str, expected: list[int]) -> None:
    file = next(each for each in pack.shipped().materials["en"].jurors if each.id == juror)
    assert stances(file, [SENTENCE] * 4, "en") == expected


@pytest.mark.parametrize(
    ("said", "earlier"),
    [
        ("Reasonable doubt, there is!", SENTENCE),
        ("There's reasonable doubt.", SENTENCE),
        ("\uff32\uff25\uff21\uff33\uff2f\uff2e\uff21\uff22\uff2c\uff25 doubt", SENTENCE),
        ("合理怀疑存在。", "存在合理怀疑。"),
        ("의심이 있습니다, 합리적 의심이.", "합리적 의심이 있습니다."),
        ("the hearth", "He hit his head on the hearth, and got up again."),
        ("…no", "No!"),
    ],
)
def test_nearly_the_same_words_are_alike(said: str, earlier: str) -> None:
    assert like(said, earlier)


@pytest.mark.parametrize(
    ("said", "earlier"),
    [
        ("The burden of proof is not met.", SENTENCE),
        ("", ""),
        ("…", "…"),
        ("heart", "He hit his head on the hearth, and got up again."),
        ("两件事都可以是真的。", "存在合理怀疑。"),
    ],
)
def test_other_words_are_not(said: str, earlier: str) -> None:
    assert not like(said, earlier)


def test_what_denies_is_not_a_repetition_of_what_affirms() -> None:
    said = RememberedMessage(text="There is no reasonable doubt.", topics=DENIED)
    assert repetition((RememberedMessage(text=SENTENCE, topics=DOUBT),), said).repeats == 0


def test_a_topic_wears_out_in_any_words() -> None:
    heard = (RememberedMessage(text="The burden of proof is not met.", topics=DOUBT),)
    assert [
        str(each) for each in repetition(heard, RememberedMessage(text="Custody broke.", topics=DOUBT)).factors
    ] == ["1/2"]
    assert [
        str(each) for each in repetition(heard * 2, RememberedMessage(text="Custody broke.", topics=DENIED)).factors
    ] == ["1"]


def test_an_item_repeats_itself_alone_and_wears_no_topic() -> None:
    heard = (
        RememberedMessage(text=SENTENCE, topics=DOUBT),
        RememberedMessage(evidence_id="E9"),
        RememberedMessage(evidence_id="E8", moved=-3),
    )
    again = repetition(heard, RememberedMessage(evidence_id="E9", topics=DOUBT))
    assert (again.repeats, [str(each) for each in again.factors]) == (1, ["1/2"])


def test_what_is_taken_back_is_taken_back_once() -> None:
    first, second = (
        RememberedMessage(text=SENTENCE, topics=DOUBT, moved=-7),
        RememberedMessage(text=SENTENCE, topics=DOUBT, moved=-4),
    )
    third = RememberedMessage(text=SENTENCE, topics=DOUBT)
    assert repetition((first, second), third).taken_back == -11
    after = took_back((first, second, third))
    assert [each.moved for each in after] == [0, 0, 0]
    assert repetition(after, third).taken_back is None


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("edited", [False, True])
def test_one_sentence_ten_times_always_loses(language: Language, edited: bool) -> None:
    debates, repeated = Debates(language), EDITS[language] if edited else EDITS[language][:1] * 10
    start = persuaded(debates.jurors, dict.fromkeys(ARGUMENTS[language], repeated), language)
    assert min(debates.guilty(start, seed) for seed in range(DRAWINGS)) >= 3


@pytest.mark.parametrize("language", LANGUAGES)
def test_thirty_different_arguments_always_win(language: Language) -> None:
    debates, told = Debates(language), ARGUMENTS[language]
    for texts in told.values():
        said = [RememberedMessage(text=text, topics=lexicon.classify(text, language)) for text in texts]
        assert all(repetition(said[:place], each).repeats == 0 for place, each in enumerate(said))
    start = persuaded(debates.jurors, told, language)
    assert max(debates.guilty(start, seed) for seed in range(DRAWINGS)) <= 2
