"""The board of a season that the operator ends before its time."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import cast

import msgspec
from playmolt_core.db.accounts import Agent
from playmolt_core.db.tables import SeasonRow
from playmolt_core.game.api import ApiRequest
from playmolt_core.game.decider import Decider
from playmolt_schemas.routes.tournaments import END_TOURNAMENT
from playmolt_tournament.api import TournamentApi
from playmolt_tournament.state import State
from playmolt_tournament.views import view
from playmolt_tournament.workers.seasons import SeasonCloser
from tournament_driver import RULES, START, Driver

NOW = START + timedelta(hours=1)
ROW = SeasonRow(Agent("agent-1", "Ada", "ada-1"), points=30, wins=1, games=2)
BODY: Mapping[str, object] = {"reason": "no more"}


class Projections:
    """They include a game of this moment at the second look."""

    def __init__(self) -> None:
        self.looks = 0
        self.asked: list[tuple[str, datetime, datetime]] = []

    async def includes(self, ends: datetime) -> bool:
        self.looks += 1
        return self.looks > 1

    async def season(self, game_type: str, begins: datetime, ends: datetime, most: int) -> Sequence[SeasonRow]:
        self.asked.append((game_type, begins, ends))
        return [ROW] if self.looks > 1 else []


async def ended(state: State, projections: Projections) -> ApiRequest:
    """The call of the operator, with what is added to its body."""

    async def present(_: str) -> State:
        return state

    request = ApiRequest(route=END_TOURNAMENT.name, body=BODY, stream="tournament-1", operator=True)
    ending = SeasonCloser(projections, present, clock=lambda: NOW)
    return msgspec.structs.replace(request, body=await ending(request))


async def test_the_board_holds_every_game_until_now() -> None:
    season, projections = Driver().created(format="season", ends_at="2026-04-01T00:00:00Z"), Projections()
    request = await ended(season.state, projections)
    command = TournamentApi(cast("Decider[State]", RULES)).command(season.state, request)
    assert command is not None
    season.when(command).accepted()  # type: ignore[arg-type]
    (row,) = view(season.state).standings
    assert (row.rank, row.id, row.points, row.wins, row.games) == (1, "agent-1", 30, 1, 2)
    assert season.state.reason == "no more"
    assert projections.asked == [("ox", START, NOW)]


async def test_a_season_that_has_not_begun_and_other_formats_have_no_board() -> None:
    later = Driver().created(format="season", starts_at="2026-03-31T00:00:00Z", ends_at="2026-04-01T00:00:00Z")
    for other in (later, Driver().created().joined(1)):
        projections = Projections()
        assert (await ended(other.state, projections)).body == BODY
        assert projections.asked == []
    assert later.state.starts_at == datetime(2026, 3, 31, tzinfo=UTC)
