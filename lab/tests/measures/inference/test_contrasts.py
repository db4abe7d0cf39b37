import unicodedata

import pytest
from playmolt_agora.measures import descriptive, drift
from playmolt_agora.measures.data.frame import frame
from playmolt_agora.measures.divergence import count_jsd
from playmolt_agora.measures.inference import contrasts

KO, EN = [8, 1, 7, 1, 2, 1], [7, 1, 2, 1, 4, 5]


def both_languages(turns, runs=1):
    return [
        record
        for language, counts in (("ko", KO), ("en", EN))
        for at in range(runs)
        for record in turns(counts, language=language, run=f"{language}-{at}")
    ]


def test_languages_of_a_model(turns):
    found = contrasts.found(frame(both_languages(turns)))
    row = contrasts.rows(found)[0].row
    key = {"contrast": "language", "phase": "phase2", "condition": "with_persona", "model": "E"}
    assert row == {**key, "jsd": pytest.approx(count_jsd(KO, EN, 0.5), abs=1e-12)}
    assert len(found) == 1


def test_with_and_without_persona(turns):
    records = turns(KO) + turns(EN, run="run-2", set="C", persona=None, persona_condition="no_persona")
    row = contrasts.rows(contrasts.found(frame(records)))[0].row
    assert (row["contrast"], row["condition"]) == ("persona", "ko")
    assert row["jsd"] == pytest.approx(0.0892, abs=5e-5)


def test_large_arms_are_not_smoothed(turns):
    records = turns([300, 300, 0, 0, 0, 0], language="ko") + turns([0, 0, 300, 300, 0, 0], language="en", run="run-2")
    assert contrasts.rows(contrasts.found(frame(records)))[0].row["jsd"] == pytest.approx(1, abs=1e-12)


def test_points_with_intervals_and_effect_sizes(turns):
    mixed = [
        record
        for language, base in (("ko", 12), ("en", 2))
        for at in range(3)
        for record in turns([base + at, 0, 0, 0, 0, 8 - at], language=language, run=f"{language}-{at}")
    ]
    spans, points = contrasts.intervals(contrasts.found(frame(mixed)), "seed")
    assert spans[0].row["ci_lo"] < spans[0].row["jsd"] < spans[0].row["ci_hi"]
    spoken = points[0].row
    assert spoken["points"] == pytest.approx(100 * (39 / 60 - 9 / 30), abs=1e-9)
    assert spoken["ci_lo"] <= spoken["points"] <= spoken["ci_hi"]
    assert spoken["effect"] == pytest.approx((0.65 - 0.3) / ((0.05**2 + 0.1**2) / 2) ** 0.5, abs=1e-9)
    assert spoken["indicative"] is True


def test_two_runs_an_arm_have_no_effect_size(turns):
    _, points = contrasts.intervals(contrasts.found(frame(both_languages(turns, 2))), "seed")
    assert {row.row["effect"] for row in points} == {None}
    assert {row.row["effect_lo"] for row in points} == {None}


def test_models_of_the_same_runs_are_drawn_together(turns):
    records = [
        record
        for at in range(3)
        for model in ("E", "M")
        for record in turns([5 + at, 1, 1, 1, 1, 1], model=model, agent=model, run=f"run-{at}")
    ]
    found = contrasts.of_models(frame(records))
    assert [(each.model, each.condition, each.paired) for each in found] == [("E/M", "with_persona/ko", True)]
    spans, _ = contrasts.intervals(found, "seed")
    assert (spans[0].row["jsd"], spans[0].row["ci_lo"], spans[0].row["ci_hi"]) == (pytest.approx(0), None, None)


def test_who_supports_and_whispers_to_whom(small_log):
    edges = [each.row for each in descriptive.network(frame(small_log))]
    assert [(edge["kind"], edge["target"], edge["attempts"], edge["succeeded"]) for edge in edges] == [
        ("support", "agent_04", 1, 1),
        ("whisper", "agent_02", 1, 0),
        ("whisper", "agent_06", 1, 1),
    ]


def test_where_agents_are(turn):
    records = [turn(agent="a", place_before="alley_b"), turn(agent="b", place_before="alley_c"), turn(agent="c")]
    rows = {each.row["place"]: each.row["agents"] for each in descriptive.occupancy(frame(records))}
    assert rows == {"plaza": 1, "market": 0, "alley": 2}


def test_utterances_with_their_personas_mark(turn):
    said = ["그 주장의 출처는?", "안녕하세요", "기록해 두겠습니다"]
    records = [
        turn(turn=at, persona="archivist", action="speak", content=content) for at, content in enumerate(said, 1)
    ]
    row = drift.adherence(frame([*records, turn(turn=4, persona="archivist", content="출처")]))[0].row
    assert (row["window"], row["utterances"], row["marked"]) == (1, 3, 2)
    assert row["share"] == pytest.approx(2 / 3, abs=1e-12)


@pytest.mark.parametrize(
    ("content", "persona", "language", "carries"),
    [
        ("Which SOURCE do you have?", "archivist", "en", True),
        ("What do I get in return?", "merchant", "en", True),
        ("I resource nothing", "archivist", "en", False),
        ("Why should we all agree?", "jester", "en", True),
        ("hello", "citizen", "en", False),
        ("상대가 누구인지 모르겠다. 기대가 되니 무조건 가자.", "merchant", "ko", False),
        ("자가격리 중인 대가족", "merchant", "ko", False),
        ("그 대가로 무엇을 주겠소?", "merchant", "ko", True),
        ("좋은 조건이오.", "merchant", "ko", True),
        ("가슴이 두근거린다. 근거리에 있다.", "archivist", "ko", False),
        ("그 말의 근거는?", "archivist", "ko", True),
        (unicodedata.normalize("NFD", "출처가 어디입니까"), "archivist", "ko", True),
        ("조합의 건의문을 일반대중이 광장 반대편에서 읽는다.", "jester", "ko", False),
        ("그 합의에 반대한다.", "jester", "ko", True),
        ("의문이 든다.", "jester", "ko", True),
    ],
)
def test_marks_by_the_lexicon(content, persona, language, carries):
    assert drift.marked(content, persona, language) is carries
