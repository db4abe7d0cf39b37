"""The available cases: the shipped one, those of folders, and those that sessions play."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from playmolt_jury.content.material import Language, Material
from playmolt_jury.content.pack import Pack

KEPT: Final = 10_000


class PackLibrary:
    """The packs of this process. A session names a case when it opens and is bound to that exact pack.

    At most `kept` packs are cached for sessions; the least recently used is evicted first. As many as the engine has
    sessions in memory suffice, since every decision on a session looks up its pack.
    """

    def __init__(self, shipped: Pack, others: Iterable[Pack] = (), *, kept: int = KEPT) -> None:
        self.shipped = shipped
        self._offered = {shipped.id: shipped}
        self._own = {shipped.digest: shipped}
        self._kept: OrderedDict[str, Pack] = OrderedDict()
        self._most = kept
        for pack in others:
            self.offer(pack)

    def offer(self, pack: Pack) -> None:
        """Lets new sessions name the pack. ValueError if it has the id of the shipped case."""
        if pack.id == self.shipped.id and pack.digest != self.shipped.digest:
            raise ValueError(f"the id {pack.id} belongs to the shipped case: choose another id")
        self._offered[pack.id] = pack
        self._own[pack.digest] = pack

    def keep(self, pack: Pack) -> None:
        """Caches the pack of a session."""
        self._kept[pack.digest] = pack
        self._kept.move_to_end(pack.digest)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def offered(self) -> tuple[Pack, ...]:
        """The shipped case and those of folders."""
        return tuple(self._offered.values())

    def named(self, case: str) -> Pack | None:
        """The offered case with that id; the shipped case for an empty id."""
        return self._offered.get(case) if case else self.shipped

    def of(self, digest: str) -> Pack | None:
        """The pack with that digest; None if this process does not have it."""
        if digest in self._kept:
            self._kept.move_to_end(digest)
            return self._kept[digest]
        return self._own.get(digest)

    def material(self, digest: str, language: Language) -> Material:
        """LookupError if this process does not have the pack with that digest."""
        pack = self.of(digest)
        if pack is None or language not in pack.materials:
            raise LookupError(f"no pack {digest} in {language}")
        return pack.materials[language]
