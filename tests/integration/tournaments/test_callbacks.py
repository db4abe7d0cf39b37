"""A tournament's games reach agents that the platform calls."""

from playmolt.client import Client
from playmolt_schemas.routes import tournaments as routes

from tests.integration.gateway.called_bot import called
from tests.integration.tournaments.conftest import PATIENT, Organizer, check, until
from tests.platforms import Stack


def test_a_called_agent_plays_its_tournament(stack: Stack, organizer: Organizer) -> None:
    """It joins the tournament and does nothing else: its server is called for every turn and once after each game."""
    cup = organizer.opens(rounds=2)
    with called() as bot, Client(stack.run.gateway, retry=PATIENT) as client:
        client.register("called")
        bot.secret = client.put_callback(bot.url).secret
        client.call(routes.JOIN_TOURNAMENT, cup)
        organizer.adds_house(cup, 4)
        organizer.starts(cup)
        view = until(lambda: (now := organizer.state(cup)).state == "ended" and now)
        overs = until(lambda: len(found := [call for call in bot.calls if call["over"]]) == 2 and found)
    check(view, 2)
    games = {game.game_id for each in view.rounds for game in each.games}
    assert {call["game_id"] for call in overs} == games
    assert [(call["state"]["phase"], call["state"]["faults"]) for call in overs] == [("end", [])] * 2
    assert {call["game_id"] for call in bot.calls} == games
    assert bot.forged == 0
