"""The cases that can be played: the shipped one, what was brought along in folders, and what sessions play."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

from playmolt_jury.content.material import Language, Material
from playmolt_jury.content.pack import Pack

KEPT: Final = 10_000


class PackLibrary:
    """Sessions name a case when they open, and go on with the very pack they were opened with.

    Of what is kept for sessions there are at most `kept` packs, the one longest unused going first: as many as an
    engine has sessions in memory are enough, since whoever decides on one asks for its pack.
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
        """New sessions may name it. The shipped case keeps its id; ValueError for another one that claims it."""
        if pack.id == self.shipped.id and pack.digest != self.shipped.digest:
            raise ValueError(f"the id {pack.id} is the shipped case's: choose another")
        self._offered[pack.id] = pack
        self._own[pack.digest] = pack

    def keep(self, pack: Pack) -> None:
        """Sessions that were opened with it go on."""
        self._kept[pack.digest] = pack
        self._kept.move_to_end(pack.digest)
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)

    def offered(self) -> tuple[Pack, ...]:
        """The shipped case and those of folders."""
        return tuple(self._offered.values())

    def named(self, case: str) -> Pack | None:
        """The offered case of that id; the shipped one where none is named."""
        return self._offered.get(case) if case else self.shipped

    def of(self, digest: str) -> Pack | None:
        """The pack of that digest; None where this process does not have it."""
        if digest in self._kept:
            self._kept.move_to_end(digest)
            return self._kept[digest]
        return self._own.get(digest)

    def material(self, digest: str, language: Language) -> Material:
        """LookupError when this process has not the pack of that digest."""
        pack = self.of(digest)
        if pack is None or language not in pack.materials:
            raise LookupError(f"no pack {digest} in {language}")
        return pack.materials[language]
