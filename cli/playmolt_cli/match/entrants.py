"""Who takes part in a match, out of the words of a command: Python files, house policies, and what fills the table."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from playmolt.bots import MIXED, policies, seats

from playmolt_cli.match.dealing import Deal
from playmolt_cli.match.python_file import CannotLoad, python_file

EntrantKind = Literal["house", "python", "model", "url", "fill"]
Player = Callable[[Any], Any]
"""Takes a turn, gives the action, or Forfeits, or what has to be awaited for one of them."""
_HOUSE: Final = "house:"


class Unusable(ValueError):
    """An entrant that cannot be made; the message says why."""


class Entrant(msgspec.Struct, frozen=True):
    """One that takes part. `sit` makes the player of a seat for one game; `file` is where its program lies."""

    name: str
    kind: EntrantKind
    sit: Callable[[Deal], Player]
    file: Path | None = None
    model: str | None = None
    prompts: Mapping[str, str] | None = None


def from_words(words: Sequence[str], games: Iterable[str], seed: str) -> list[Entrant]:
    """The entrants that words name, called by their words; raises Unusable naming every fault."""
    found, faults = [], []
    for name, word in zip(_names(words), words, strict=True):
        try:
            found.append(_from_word(name, word, tuple(games), seed))
        except (Unusable, CannotLoad) as error:
            faults.append(str(error))
    if faults:
        raise Unusable("\n".join(faults))
    return found


def filled(entrants: Sequence[Entrant], needed: int, policy: str, seed: str) -> list[Entrant]:
    """The entrants, and house bots for the seats that are left over."""
    missing = range(1, needed - len(entrants) + 1)
    return [*entrants, *(house(f"fill-{number}", {}, policy, seed, "fill", number) for number in missing)]


def house(
    name: str, by_game: Mapping[str, str], policy: str, seed: str, kind: EntrantKind = "house", place: int = 0
) -> Entrant:
    """A house bot; of the policies that MIXED deals it plays the one at its place."""

    def sit(deal: Deal) -> Player:
        played = by_game.get(deal.game, policy)
        return seats(deal.game, place + 1, played, f"{seed}/{deal.number}/{name}")[place]

    return Entrant(name, kind, sit)


def policy_fault(game: str, policy: str) -> str | None:
    """Why a game's house bots do not play a policy; None when they do."""
    known = policies().get(game, ())
    return None if policy in known else f"{game} has no policy {policy!r}; there are {', '.join(known)}"


def _from_word(name: str, word: str, games: tuple[str, ...], seed: str) -> Entrant:
    if word.startswith(_HOUSE):
        policy = word.removeprefix(_HOUSE)
        if faults := [fault for game in games if (fault := policy_fault(game, policy))]:
            raise Unusable("; ".join(faults))
        return house(name, {}, policy, seed)
    if word.endswith(".py") or ".py:" in word:
        return python(name, word, Path())
    raise Unusable(f"{word!r} names no bot: write FILE.py, FILE.py:NAME, or house:POLICY ({MIXED} deals them all)")


def python(name: str, word: str, base: Path) -> Entrant:
    """The bot of a Python file; raises CannotLoad."""
    file = python_file(word, base)
    file.make()
    return Entrant(name, "python", lambda _: file.asking(), file.path)


def _names(words: Sequence[str]) -> list[str]:
    """The words as names, equal ones told apart by numbers."""
    seen: Counter[str] = Counter()
    names = []
    for word in words:
        seen[word] += 1
        names.append(word if seen[word] == 1 else f"{word}-{seen[word]}")
    return names
