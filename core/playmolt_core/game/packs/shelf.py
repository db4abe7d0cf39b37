"""The packs that a game's process was given."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from playmolt_core.game.packs.entries import EntryPack

E = TypeVar("E")


class Shelf(Generic[E]):
    """Games name a pack when they are opened, and are drawn from just that one."""

    def __init__(self, packs: Iterable[EntryPack[E]] = ()) -> None:
        self._by_id = {pack.id: pack for pack in packs}
        self._by_digest = {pack.digest: pack for pack in self._by_id.values()}

    def ids(self) -> tuple[str, ...]:
        return tuple(self._by_id)

    def named(self, name: str) -> EntryPack[E] | None:
        return self._by_id.get(name)

    def of(self, digest: str) -> EntryPack[E] | None:
        """The pack of a game; None when this process has not just that one."""
        return self._by_digest.get(digest)
