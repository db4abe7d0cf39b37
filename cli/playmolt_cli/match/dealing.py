"""Who sits where in which game: every entrant in every seat once a block, and one deal for all games of a block."""

import hashlib
import uuid
from collections.abc import Iterator, Sequence
from typing import TypeVar

import msgspec
from playmolt_core.game import draws
from playmolt_schemas.identifiers import id_of_command

E = TypeVar("E")


class Deal(msgspec.Struct, frozen=True):
    """One game of a match before it is played. `number` counts the games of the match from 1, `block` from 0."""

    number: int
    game: str
    block: int
    game_id: str
    seed: str
    seats: tuple[int, ...]
    """The entrants by their place in the plan, in the order of the seats."""
    complete: bool
    """Whether its block is played to the end."""


def deals(match: str, seed: str, games: Sequence[tuple[str, int, int]], entrants: int) -> Iterator[Deal]:
    """The games of a match, each given as (type, how many, seats)."""
    number = 0
    for game, count, seats in games:
        for index in range(count):
            number += 1
            block = index // entrants
            order = draws.shuffle(seed, f"{game}/{block}", range(entrants))
            yield Deal(
                number=number,
                game=game,
                block=block,
                game_id=id_of_command(game, f"match/{match}/{seed}/{number}"),
                seed=_game_seed(seed, game, block),
                seats=tuple(order[(index + seat) % entrants] for seat in range(seats)),
                complete=(block + 1) * entrants <= count,
            )


def agent_id(deal: Deal, name: str) -> str:
    """The id an entrant sits under in a game."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{deal.game_id}/{name}"))


def _game_seed(seed: str, game: str, block: int) -> str:
    drawn = hashlib.sha256(f"{len(seed)},{seed},{game},{block}".encode()).digest()
    return str(int.from_bytes(drawn[:16], "big"))
