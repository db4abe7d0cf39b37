"""An oracle that knows jury.md and the log alone: it works out every stance, leader, responder and vote again."""

import random
from collections.abc import Callable, Iterator
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import msgspec
import pytest
from playmolt_jury.content.material import TOPICS, Weakness
from playmolt_schemas.canonical import canonical_json

ORDER = ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
ARGUED = {"positive": Decimal(1), "neutral": Decimal("0.3"), "negative": Decimal("-0.5")}
SPOKEN = {"positive": Decimal(1), "neutral": Decimal("0.3"), "negative": Decimal(-1)}
LEFT = (Decimal(1), Decimal("0.5"), Decimal(0))
TEXTS = ("Listen.", "I saw a CRACK in it.", "Nothing, a crackle.", "So it is.")
Change = tuple[str, str, str, int, int]


class Oracle:
    """Reads records one after the other and says what has to follow."""

    def __init__(self, opened: dict[str, Any]) -> None:
        self.jurors = {file["id"]: file for file in opened["jurors"]}
        self.topics = {item["id"]: item["topics"] for item in opened["evidence"]}
        self.at = {juror: file["initial_stance"] for juror, file in self.jurors.items()}
        self.struck: set[str] = set()
        self.led = dict.fromkeys(ORDER, 0)
        self.snapshot: dict[str, int] = {}
        self.speeches: list[dict[str, Any]] = []
        self.heard: dict[str, list[dict[str, Any]]] = {juror: [] for juror in ORDER}

    def changes(self, kind: str, told: dict[str, Any]) -> Iterator[Change]:
        match kind:
            case "overseer_said":
                before = self.at[told["juror_id"]]
                yield self.argued(told, "chat", told["topics"])
                yield from self.weakness(told["juror_id"], told["text"], before)
            case "evidence_presented":
                yield self.argued(told, "evidence", self.topics[told["evidence_id"]])
            case "note_sent":
                yield self.argued(told, "note", told["topics"], Decimal("0.5"))
            case "round_started":
                self.snapshot, self.speeches = dict(self.at), []
                assert (told["leader"], *told["responders"]) == self.speakers()
                self.led[told["leader"]] += 1
            case "speech":
                self.speeches.append(told)
                if len(self.speeches) == 3:
                    for speech in self.speeches:
                        yield from self.influence(speech)
            case "vote_cast":
                assert (told["stance"], told["guilty"]) == (self.at[told["juror_id"]], self.at[told["juror_id"]] > 50)

    def speakers(self) -> tuple[str, ...]:
        least = min(self.led.values())
        able = [juror for juror in ORDER if self.led[juror] == least]
        leader = max(able, key=lambda juror: (abs(self.at[juror] - 50), -ORDER.index(juror)))
        others = [juror for juror in ORDER if juror != leader]
        others.sort(key=lambda juror: (-abs(self.at[juror] - self.at[leader]), ORDER.index(juror)))
        return (leader, *others[:2])

    def argued(self, told: dict[str, Any], cause: str, topics: Any, share: Decimal = Decimal(1)) -> Change:
        juror, weights = told["juror_id"], self.jurors[told["juror_id"]]["topic_weights"]
        memory = self.heard[juror]
        same = [each for each in memory if repeats(told, each)]
        assert told["repeats"] == len(same)
        total = Decimal(0)
        for each in topics:
            worn = 0 if cause == "evidence" else sum(each in past.get("topics", ()) for past in memory)
            left = min(LEFT[min(times, 2)] for times in (worn, len(same)))
            total += weights.get(each["topic"], 0) * ARGUED[each["impact"]] * left
        points = max(Decimal(-15), min(Decimal(15), total)) * share
        if len(same) == 2:
            points -= sum(past["moved"] for past in same)
        change = self.moved(juror, cause, "overseer", points)
        if len(same) == 2:
            for past in same:
                past["moved"] = 0
        memory.append({**told, "moved": 0 if len(same) == 2 else change[4] - change[3]})
        return change

    def weakness(self, juror: str, text: str, before: int) -> Iterator[Change]:
        words = self.jurors[juror]["weakness"]["trigger_keywords"]
        if juror not in self.struck and any(word.lower() in text.lower() for word in words):
            self.struck.add(juror)
            yield self.moved(juror, "weakness", "overseer", Decimal(0 if before == 50 else -10 if before > 50 else 10))

    def influence(self, speech: dict[str, Any]) -> Iterator[Change]:
        speaker = self.jurors[speech["juror_id"]]
        for listener in ORDER:
            if listener == speaker["id"]:
                continue
            weights, stood = self.jurors[listener]["topic_weights"], self.snapshot[listener]
            points = sum(
                (weights.get(each["topic"], 0) * SPOKEN[each["impact"]] for each in speech["topics"]), Decimal(0)
            )
            points *= Decimal(speaker["speaker_power"]) * (1 - Decimal(abs(stood - self.snapshot[speaker["id"]])) / 100)
            yield self.moved(listener, "speech", speaker["id"], points / 2 if stood < 15 or stood > 85 else points)

    def moved(self, juror: str, cause: str, by: str, points: Decimal) -> Change:
        before = self.at[juror]
        self.at[juror] = max(0, min(100, before + int(points.quantize(Decimal(1), ROUND_HALF_UP))))
        return juror, cause, by, before, self.at[juror]


def repeats(told: dict[str, Any], past: dict[str, Any]) -> bool:
    """The texts are the same or quite others here, so that letters alone tell which."""
    if "evidence_id" in told or "evidence_id" in past:
        return told.get("evidence_id") == past.get("evidence_id")
    sides = {(each["topic"], each["impact"]) for each in past["topics"]}
    opposed = any(
        (each["topic"], other) in sides
        for each in told["topics"]
        for other in {"positive": ["negative"], "negative": ["positive"], "neutral": []}[each["impact"]]
    )
    return told["text"] == past["text"] and not opposed


def checked(log: list[Any]) -> int:
    """How many changes the log has, all of them as the oracle says."""
    records = [(event.type, msgspec.json.decode(canonical_json(event))) for event, _, _ in log]
    oracle, expected = Oracle(records[0][1]), list[Change]()
    told = [data for kind, data in records if kind == "stance_changed"]
    for kind, data in records:
        expected += oracle.changes(kind, data)
    assert [(c["juror_id"], c["cause"], c["by"], c["before"], c["after"]) for c in told] == expected
    return len(told)


def anybody(draw: random.Random) -> dict[str, Any]:
    """A juror drawn at random: the edges of the scale and weights that hit every cap are among them."""
    return {
        "initial_stance": draw.choice([0, 14, 15, 49, 50, 51, 85, 86, 100, draw.randint(0, 100)]),
        "speaker_power": draw.choice(["0", "0.35", "0.6", "1"]),
        "topic_weights": {topic: draw.randint(-12, 12) for topic in draw.sample(TOPICS, 6)},
        "weakness": Weakness(trigger_keywords=("crack ", "so it")),
    }


def about(draw: random.Random) -> list[dict[str, str]]:
    named = draw.sample(TOPICS, draw.randint(0, 3))
    return [{"topic": topic, "impact": draw.choice(list(ARGUED))} for topic in named]


@pytest.mark.parametrize("seed", range(12))
def test_every_stance_of_a_game_is_what_the_page_says(sessions: Callable[..., Any], seed: int) -> None:
    draw = random.Random(seed)
    session = sessions(jurors={juror: anybody(draw) for juror in ORDER}).to("persuasion")
    for _ in range(15):
        session.said["classify"] = {"topics": about(draw)}
        juror = draw.choice(ORDER)
        if draw.random() < 0.3:
            session.call("jury_present", juror_id=juror, evidence_id=draw.choice(["E1", "E2"]))
        else:
            session.chat(juror, draw.choice(TEXTS))
    session.to("deliberation")
    for _ in range(4):
        session.said["classify"] = {"topics": about(draw)}
        session.call("jury_notes", {"juror_id": draw.choice(ORDER), "text": draw.choice(TEXTS)})
        for juror in ORDER:
            session.said[f"speech:{juror}:{session.state.round + 1}"] = {"text": "I speak.", "topics": about(draw)}
        session.call("jury_next")
    session.to("ended")
    assert checked(session.log) >= 4 * 12 + 15 + 3


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_case_itself_is_counted_right(performances: Callable[..., Any], language: str) -> None:
    session = performances(language).to("persuasion")
    for juror in ORDER:
        word = session.state.juror(juror).weakness.trigger_keywords[0]
        session.chat(juror, {"en": f"There is doubt: {word}!", "zh": f"证据不足：{word}！"}[language])
        session.call("jury_present", juror_id=juror, evidence_id="E8")
    session.to("ended")
    assert checked(session.log) == 4 * 12 + 3 * 5
