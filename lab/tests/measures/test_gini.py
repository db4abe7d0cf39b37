import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_schemas.instrument.definitions import exact_gini


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ([100] * 12, 0),
        ([0, 50, 100, 150], 5 / 12),
        ([0] * 8 + [1, 2, 3, 6], 7 / 9),
        ([0] * 11 + [5], 11 / 12),
        ([0, 0], 0),
        ([5], 0),
        ([], 0),
    ],
)
def test_inequality_of_holdings(held, expected):
    assert float(exact_gini(held)) == pytest.approx(expected, abs=1e-12)


def test_negative_holdings_are_an_error():
    with pytest.raises(ValueError, match="never negative"):
        exact_gini([3, -1])


@settings(max_examples=50)
@given(st.lists(st.integers(0, 200), min_size=1, max_size=15))
def test_between_equality_and_one_holder_in_any_order(held):
    n = len(held)
    assert -1e-12 <= float(exact_gini(held)) <= (n - 1) / n + 1e-12
    assert float(exact_gini(list(reversed(held)))) == float(exact_gini(held))
