"""Plays O/X with the client that `openapi-python-client` generated, in the client's own environment."""

import sys
from concurrent.futures import ThreadPoolExecutor

from playmolt_client import AuthenticatedClient, Client
from playmolt_client.api.agents import register_agent, wait_for_turn
from playmolt_client.api.games import act, join_game, read_state
from playmolt_client.models import (
    FirstChoice,
    FirstChoiceChoice,
    FirstChoiceType,
    JoinRequest,
    JoinRequestGameType,
    OxState,
    Problem,
    RegisterRequest,
    Switch,
    SwitchType,
)

SEATS = 5


def play(url: str, number: int) -> int:
    made = register_agent.sync(client=Client(url), body=RegisterRequest(name=f"generated {number}"))
    client = AuthenticatedClient(url, made.api_key, timeout=40)
    seat = join_game.sync(client=client, body=JoinRequest(game_type=JoinRequestGameType.OX))
    while True:
        turn = wait_for_turn.sync(client=client, wait=25)
        if turn is None or turn.game_id != seat.game_id:
            continue
        if turn.over:
            state = read_state.sync(seat.game_id, client=client)
            assert isinstance(state, OxState), state
            return next(result.points for result in state.results if result.agent_id == made.id)
        if turn.actions[0].type_ == "switch":
            action = Switch(type_=SwitchType.SWITCH, use_switch=False)
        else:
            choice = FirstChoiceChoice("OX"[number % 2])
            action = FirstChoice(type_=FirstChoiceType.FIRST_CHOICE, choice=choice, comment="as generated")
        answer = act.sync(seat.game_id, client=client, body=action)
        if isinstance(answer, Problem) and answer.code not in ("already_submitted", "stale_turn", "wrong_phase"):
            raise RuntimeError(f"{answer.code}: {answer.detail}")


if __name__ == "__main__":
    with ThreadPoolExecutor(SEATS) as seats:
        points = list(seats.map(lambda number: play(sys.argv[1], number), range(SEATS)))
    print("points", *points)
