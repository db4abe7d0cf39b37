"""Who takes part in a match: Python files, house policies, and what fills the table. Models and URLs: `callers`."""

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
    """The id an entrant sits under in a game."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{deal.game_id}/{name}"))


def _game_seed(seed: str, game: str, block: int) -> str:
    drawn = hashlib.sha256(f"{len(seed)},{seed},{game},{block}".encode()).digest()
    return str(int.from_bytes(drawn[:16], "big"))


EntrantKind = Literal["house", "python", "model", "url", "fill"]
Player = Callable[[Any], Any]
"""Takes a turn, gives the action, or Forfeits, or what has to be awaited for one of them."""


class Entrant(msgspec.Struct, frozen=True):
    """One that takes part. `sit` makes the player of a seat, counted from 1, for one game; `file` is its program."""

    name: str
    kind: EntrantKind
    sit: Callable[[Deal, int], Player]
    file: Path | None = None
    model: str | None = None
    prompts: Mapping[str, str] | None = None


def filled(entrants: Sequence[Entrant], needed: int, policy: str, seed: str) -> list[Entrant]:
    """The entrants, and house bots for the seats that are left over."""
    missing = range(1, needed - len(entrants) + 1)
    return [*entrants, *(house(f"fill-{number}", {}, policy, seed, "fill", number) for number in missing)]


def house(
    name: str, by_game: Mapping[str, str], policy: str, seed: str, kind: EntrantKind = "house", place: int = 0
) -> Entrant:
    """A house bot; of the policies that MIXED deals it plays the one at its place."""

    def sit(deal: Deal, _: int) -> Player:
        played = by_game.get(deal.game, policy)
        return seats(deal.game, place + 1, played, f"{seed}/{deal.number}/{name}")[place]

    return Entrant(name, kind, sit)


def policy_fault(game: str, policy: str) -> str | None:
    """Why a game's house bots do not play a policy; None when they do."""
    known = policies().get(game, ())
    return None if policy in known else f"{game} has no policy {policy!r}; there are {', '.join(known)}"


def python(name: str, word: str, base: Path) -> Entrant:
    """The bot of a Python file; raises BotLoadError."""
    file = python_file(word, base)
    file.make()
    return Entrant(name, "python", lambda _, __: file.asking(), file.path)
