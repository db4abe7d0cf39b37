"""The rules of every game type in the log."""

from collections.abc import Mapping
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

from playmolt_cli.terminal.options import read_settings


def deciders() -> dict[str, Decider]:
    """Id prefix → rules, including lobbies, erasures, owners of agents and moderation.

    Rules are imported on this call, so that commands without a log, such as `up`, start faster.
    """
    rules: tuple[Decider, ...] = (LobbyRules(), ErasureRules(), OwnershipRules(), ModerationRules())
    own = {one.game: one for one in rules}
    return {**own, **{game: decider_of(game) for game in games()}}


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
