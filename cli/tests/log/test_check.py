"""`log check`: do the present rules still read what is stored?"""

from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
from playmolt_cli.games import deciders
from playmolt_cli.log.check import FoldDifference, check
from playmolt_core.log.memory import MemoryLog
from playmolt_ox.rules import Ox

RUNNING = "ox-00000000-0000-7000-8000-000000000001"
ENDED = "ox-00000000-0000-7000-8000-000000000002"
Store = Callable[..., Awaitable[None]]


class OtherOx(Ox):
    """Rules under which the second choice of a game is folded otherwise."""

    def evolve(self, state: Any, event: Any, at: Any) -> Any:
        state = super().evolve(state, event, at)
        return msgspec.structs.replace(state, round=state.round + 1) if event.type == "game_aborted" else state


async def test_the_rules_a_game_was_played_with_read_it_as_it_was(log: MemoryLog, store: Store) -> None:
    await store(ENDED, ended=True)
    await store(RUNNING, ended=False)
    positions: list[int] = []
    checked = await check(log, deciders(), positions.append)
    assert (checked.streams, checked.events, checked.differences) == (2, await log.position(), [])
    assert positions[-1] == await log.position()


async def test_rules_that_fold_otherwise_are_reported_with_the_place(log: MemoryLog, store: Store) -> None:
    await store(ENDED, ended=True)
    checked = await check(log, {**deciders(), "ox": OtherOx()}, lambda _: None)
    last = await log.position()
    assert checked.differences == [FoldDifference(ENDED, last, "the state differs from the stored state hash")]


async def test_an_event_that_nobody_reads_any_more_is_found(log: MemoryLog, store: Store) -> None:
    await store(RUNNING, ended=False)
    rules = Ox()
    rules.events = {key: reader for key, reader in rules.events.items() if key[0] != "first_choice_submitted"}
    [difference] = (await check(log, {**deciders(), "ox": rules}, lambda _: None)).differences
    assert "no reader for stored event 'first_choice_submitted'" in difference.problem


async def test_a_game_of_which_there_are_no_rules_is_found(log: MemoryLog, store: Store) -> None:
    await store(RUNNING, ended=False)
    [difference] = (await check(log, {}, lambda _: None)).differences
    assert difference.version == 1
