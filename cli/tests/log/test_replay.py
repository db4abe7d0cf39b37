"""Whether a replay is what was played."""

from datetime import UTC, datetime

import pytest
from playmolt_cli.log.replay import Moment, ReplayVerdict


@pytest.mark.parametrize(
    ("agrees", "verdict", "diverged_at"),
    [
        ([], "UNVERIFIED", None),
        ([None, None], "UNVERIFIED", None),
        ([None, True, None], "EXACT", None),
        ([True, False, True], "DIVERGED", 2),
        ([None, False, False], "DIVERGED", 2),
    ],
)
def test_the_verdict_follows_the_states_that_can_be_compared(
    agrees: list[bool | None], verdict: str, diverged_at: int | None
) -> None:
    agreement = ReplayVerdict()
    for version, agreed in enumerate(agrees, 1):
        agreement.take(Moment(version, datetime(2026, 1, 1, tzinfo=UTC), "speak", {}, None, agreed))
    assert (agreement.verdict, agreement.diverged_at) == (verdict, diverged_at)
    assert agreement.line().startswith(verdict)
