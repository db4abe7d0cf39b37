"""The rules of every game type in the log."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from playmolt_core.db.content.packs import PgPacks
from playmolt_core.db.pool import NotPermitted, Pool
from playmolt_core.game.decider import Decider
from playmolt_core.game.engine_module import engines
from playmolt_core.game.erasures import ErasureRules
from playmolt_core.game.lobby import LobbyRules
from playmolt_core.game.moderation import ModerationRules
from playmolt_core.game.ownership import OwnershipRules
from playmolt_schemas.registry import games
from typing_extensions import override

from playmolt_cli.terminal.options import read_settings


class _Rules(Mapping[str, Decider]):
    """The rules of a type are imported when they are first used, since those of all types take a third of a second."""

    def __init__(self, ours: Iterable[Decider], types: Iterable[str]) -> None:
        self._loaded = {one.game: one for one in ours}
        self._names = {**dict.fromkeys(self._loaded), **dict.fromkeys(types)}

    @override
    def __getitem__(self, name: str) -> Decider:
        if name in self._names and name not in self._loaded:
            self._loaded[name] = decider_of(name)
        return self._loaded[name]

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    @override
    def __len__(self) -> int:
        return len(self._names)


def deciders() -> Mapping[str, Decider]:
    """Id prefix → rules, including lobbies, erasures, owners of agents and moderation."""
    return _Rules((LobbyRules(), ErasureRules(), OwnershipRules(), ModerationRules()), games())


async def with_packs(rules: Mapping[str, Decider], pool: Pool) -> None:
    """Add the packs of a database's sessions to the jury rules, as far as this login may read them."""
    jury: Any = rules.get("jury")
    if jury is None:
        return
    from playmolt_jury.content.pack import assembled  # noqa: PLC0415 -- imported with the rules

    packs = PgPacks(pool)
    with suppress(NotPermitted):
        for digest in await packs.played():
            files = await packs.files(digest)
            if files is not None:
                jury.cases.keep(assembled(files))


def decider_of(game: str) -> Decider:
    """The rules of one game, without importing the others. Jury rules include the packs of the settings."""
    rules: Any = engines()[games()[game].service].deciders[game].load()()
    if game == "jury" and (folders := read_settings().packs):
        from playmolt_jury.content.pack_folder import packs  # noqa: PLC0415 -- imported with the rules

        for pack in packs(folders):
            rules.cases.offer(pack)
    decider: Decider = rules
    return decider
