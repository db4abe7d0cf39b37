"""The contract of outages (`effects.outages`). Memory and Postgres run the same tests."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

from playmolt_core.effects.outages import Outages

SILENCE = 2.0
AWAY = 2.5

Sleep = Callable[[float], Awaitable[None]]
Now = Callable[[], datetime]


def ago(now: datetime, seconds: float) -> datetime:
    return now.astimezone(UTC) - timedelta(seconds=seconds)


class OutagesContract:
    async def test_until_somebody_has_said_so_no_actions_are_taken(self, outages: Outages, now: Now) -> None:
        assert await outages.lost("ox", ago(now(), 60)) is None

    async def test_while_it_is_said_nothing_is_lost(self, outages: Outages, now: Now) -> None:
        await outages.beat("ox")
        await outages.beat("ox")
        assert await outages.lost("ox", ago(now(), 60)) == 0

    async def test_a_silence_is_an_outage_as_long_as_it_lasted(self, outages: Outages, sleep: Sleep, now: Now) -> None:
        await outages.beat("ox")
        began = now()
        await sleep(AWAY)
        assert await outages.lost("ox", ago(now(), 60)) is None
        await outages.beat("ox")
        lost = await outages.lost("ox", ago(now(), 60))
        assert lost is not None
        assert lost >= AWAY - 0.1
        since = began + timedelta(seconds=AWAY / 2)
        part = await outages.lost("ox", since)
        assert part is not None
        assert 0 < part < lost
        assert await outages.lost("ox", now()) == 0

    async def test_game_types_are_distinguished(self, outages: Outages, sleep: Sleep, now: Now) -> None:
        await outages.beat("ox")
        await sleep(AWAY)
        await outages.beat("ox")
        await outages.beat("trial")
        assert await outages.lost("trial", ago(now(), 60)) == 0
