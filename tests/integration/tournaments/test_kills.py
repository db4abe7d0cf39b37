"""Parts of a platform are killed in the middle of pairing and scoring: each round has every entrant once."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playmolt.errors import PlayMoltError
from playmolt_schemas.games.tournament import TournamentView

from tests.integration.conftest import OWN_SERVERS
from tests.integration.tournaments.conftest import SECONDS, UNLIMITED, Organizer, check, field
from tests.platforms import Stack

ROUNDS = 3


@pytest.fixture(scope="module")
def stack(session_folder: Path) -> Iterator[Stack]:
    settings = {**OWN_SERVERS, **UNLIMITED}
    with Stack(session_folder / "kills", ("--engines", "2", "--gateways", "2"), settings) as running:
        yield running


@pytest.mark.parametrize(
    "names",
    [
        ("tournament-engine-1", "tournament-engine-2"),
        ("ox-engine-1", "tournament-engine-1", "ox-engine-2"),
        ("gateway-1", "relay-1", "house-1"),
        ("nats",),
        ("postgres",),
    ],
    ids="-".join,
)
async def test_what_is_killed_leaves_no_entrant_out(stack: Stack, organizer: Organizer, names: tuple[str, ...]) -> None:
    cup = organizer.opens(rounds=ROUNDS)
    async with field(stack.run.gateway, 11) as entrants:
        await entrants.enters(cup)
        striking = asyncio.create_task(asyncio.to_thread(strike, stack, organizer, cup, names))
        entrants.holds(ROUNDS, striking)
        organizer.starts(cup)
        await entrants.plays(cup)
        struck = await striking
    assert struck == len(names), "the tournament was over before"
    view = organizer.state(cup)
    check(view, ROUNDS)
    assert {row.games for row in view.standings} == {ROUNDS}
    games = [game.game_id for each in view.rounds for game in each.games]
    assert len(set(games)) == len(games) == len(organizer.client.games(tournament=cup).games)


def strike(stack: Stack, organizer: Organizer, cup: str, names: tuple[str, ...]) -> int:
    """Kill one after the other: at the start, when games of a round count, and when the next is about to be paired."""
    stages = (lambda view: view.state == "running", _counts, lambda view: view.round > 1)
    struck, end = 0, time.monotonic() + SECONDS
    while struck < len(names) and time.monotonic() < end:
        view: TournamentView | None = None
        with suppress(PlayMoltError):
            view = organizer.state(cup)
        if view is None or not stages[struck](view):
            time.sleep(0.05)
            continue
        if view.state == "ended":
            break
        with suppress(ProcessLookupError):
            stack.kill(names[struck])
        struck += 1
    return struck


def _counts(view: TournamentView) -> bool:
    return any(game.phase == "end" for each in view.rounds for game in each.games)
