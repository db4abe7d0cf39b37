"""Entrants of a match (Python files, house policies, fill bots) and their seats in each game. Models and URLs:
`callers`."""

import hashlib
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from playmolt.bots import policies, seats
from playmolt_core.game import draws
from playmolt_schemas.identifiers import id_of_command

from playmolt_cli.match.python_file import python_file


class Deal(msgspec.Struct, frozen=True):
    """One game of a match, not yet played. `number` counts from 1, `block` from 0.

    In each block every entrant plays every seat once, and all games of a block share one seed.
    """

    number: int
    game: str
    block: int
    game_id: str
    seed: str
    seats: tuple[int, ...]
    """Indexes of the entrants, in seat order."""
    complete: bool
    """Whether the match plays its whole block."""


def deals(match: str, seed: str, games: Sequence[tuple[str, int, int]], entrants: int) -> Iterator[Deal]:
    """The deals of a match; `games` has (type, number of games, seats)."""
    number = 0
    for game, count, needed in games:
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
                seats=tuple(order[(index + seat) % entrants] for seat in range(needed)),
                complete=(block + 1) * entrants <= count,
            )


def agent_id(deal: Deal, name: str) -> str:
    """Agent id of an entrant in a game."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{deal.game_id}/{name}"))


def _game_seed(seed: str, game: str, block: int) -> str:
    drawn = hashlib.sha256(f"{len(seed)},{seed},{game},{block}".encode()).digest()
    return str(int.from_bytes(drawn[:16], "big"))


EntrantKind = Literal["house", "python", "model", "url", "fill"]
Player = Callable[[Any], Any]
"""From a turn to an action or LocatedForfeit, or an awaitable of one."""


class Entrant(msgspec.Struct, frozen=True):
    """A participant. `sit` makes the player of one game's seat (from 1); `file` is its program."""

    name: str
    kind: EntrantKind
    sit: Callable[[Deal, int], Player]
    file: Path | None = None
    model: str | None = None
    prompts: Mapping[str, str] | None = None


def filled(entrants: Sequence[Entrant], needed: int, policy: str, seed: str) -> list[Entrant]:
    """The entrants, plus house bots for the remaining seats."""
    missing = range(1, needed - len(entrants) + 1)
    return [*entrants, *(house(f"fill-{number}", {}, policy, seed, "fill", number) for number in missing)]


def house(
    name: str, by_game: Mapping[str, str], policy: str, seed: str, kind: EntrantKind = "house", place: int = 0
) -> Entrant:
    """A house bot as an entrant. With MIXED, `place` selects its policy."""

    def sit(deal: Deal, _: int) -> Player:
        played = by_game.get(deal.game, policy)
        return seats(deal.game, place + 1, played, f"{seed}/{deal.number}/{name}")[place]

    return Entrant(name, kind, sit)


def policy_fault(game: str, policy: str) -> str | None:
    """Error message if a game's house bots have no such policy, else None."""
    known = policies().get(game, ())
    return None if policy in known else f"{game} has no policy {policy!r}. Choose from {', '.join(known)}."


def python(name: str, word: str, base: Path) -> Entrant:
    """The bot of a Python file as an entrant; raises BotLoadError."""
    file = python_file(word, base)
    file.make()
    return Entrant(name, "python", lambda _, __: file.asking(), file.path)
