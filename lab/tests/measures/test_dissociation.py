import pytest
from playmolt_agora.measures import agreement, descriptive
from playmolt_agora.measures.data.frame import frame


def test_agreement_beyond_chance():
    assert agreement.cohens_kappa([[40, 5, 5], [4, 60, 6], [6, 5, 69]]) == pytest.approx(0.7634, abs=5e-5)


@pytest.mark.parametrize("matrix", [[[7, 0], [0, 0]], [[0, 0], [0, 0]]])
def test_agreement_that_chance_makes_certain_is_null(matrix):
    assert agreement.cohens_kappa(matrix) is None


def test_classes_and_coherence_of_a_cell(turn):
    records = [
        turn(turn=1, cue_s=True, action="trade", place_before="market"),
        turn(turn=2, cue_s=True, action="idle"),
        turn(turn=3, cue_o=True, action="trade", place_before="market"),
        turn(turn=4, cue_o=True, action="speak"),
        turn(turn=5, cue_s=True, parse_code="timeout"),
    ]
    row = descriptive.dissociation(frame(records))[0].row
    assert [row[f"dissoc_{name}"] for name in "abcu"] == [1, 1, 2, 1]
    assert row["coherence"] == pytest.approx(2 / 3, abs=1e-12)


def test_coherence_without_either_is_null(turn):
    assert descriptive.dissociation(frame([turn()]))[0].row["coherence"] is None
