"""The cases that can be played: the shipped one, and what was brought along."""

from collections.abc import Iterable

from playmolt_jury.content.material import Language, Material
from playmolt_jury.content.pack import Pack


class Cases:
    """Sessions name a case when they open, and go on with the very pack they were opened with."""

    def __init__(self, shipped: Pack, others: Iterable[Pack] = ()) -> None:
        self.shipped = shipped
        self._packs = {shipped.digest: shipped}
        self._offered = {shipped.id: shipped}
        for pack in others:
            self.offer(pack)

    def offer(self, pack: Pack) -> None:
        """New sessions may name it. The shipped case keeps its id; ValueError for another one that claims it."""
        if pack.id == self.shipped.id and pack.digest != self.shipped.digest:
            raise ValueError(f"the id {pack.id} is the shipped case's: choose another")
        self.keep(pack)
        self._offered[pack.id] = pack

    def keep(self, pack: Pack) -> None:
        """Sessions that were opened with it go on."""
        self._packs[pack.digest] = pack

    def offered(self) -> tuple[Pack, ...]:
        return tuple(self._offered.values())

    def named(self, case: str) -> Pack | None:
        """The case of that id; the shipped one where none is named."""
        return self._offered.get(case) if case else self.shipped

    def of(self, digest: str) -> Pack | None:
        """The pack of a session; sessions from before packs play the shipped case."""
        return self._packs.get(digest) if digest else self.shipped

    def material(self, digest: str, language: Language) -> Material:
        """LookupError when this process has not the pack of that digest."""
        pack = self.of(digest)
        if pack is None or language not in pack.materials:
            raise LookupError(f"no pack {digest or 'shipped'} in {language}")
        return pack.materials[language]
