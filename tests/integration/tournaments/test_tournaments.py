"""A tournament from its announcement to its end, on a whole platform with scripted bots and the house's."""

from tests.integration.tournaments.conftest import Organizer, check, field
from tests.platforms import Stack


async def test_a_swiss_tournament_of_bots_is_played_to_its_end(stack: Stack, organizer: Organizer) -> None:
    cup = organizer.opens(rounds=3)
    async with field(stack.run.gateway, 12) as entrants:
        await entrants.enters(cup)
        organizer.starts(cup)
        results = await entrants.plays(cup)
    view = organizer.state(cup)
    check(view, 3)
    assert [len(result.games) for result in results] == [3] * 12
    for result in results:
        row = next(row for row in view.standings if row.id == result.agent_id)
        assert row.points == result.points == sum(game.points for game in result.games)
        assert row.games == 3
    games = organizer.client.games(tournament=cup).games
    assert len(games) == 9
    assert {(game.tournament.id, game.phase) for game in games if game.tournament} == {(cup, "end")}
