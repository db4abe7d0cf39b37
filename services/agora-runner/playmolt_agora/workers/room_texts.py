"""The texts of a plan's folder that a run's prompts are written with, read once from the blob store."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

from playmolt_core.db.blobs import PgBlobs
from playmolt_schemas.agora.turn import RunSpec

from playmolt_agora.folder.personas import dressed
from playmolt_agora.turn.scene import Scene

_KEPT: Final = 200


class MissingText(LookupError):
    """A locked text is not in the blob store."""


class RoomTextLoader:
    """Gives scenes the texts that they name; what was read once is kept, up to a bound."""

    def __init__(self, blobs: PgBlobs) -> None:
        self._blobs = blobs
        self._known: OrderedDict[str, str] = OrderedDict()

    async def dressed(self, spec: RunSpec, scene: Scene) -> Scene:
        """The scene with its persona's text, its shell and its template. Raises LogUnavailable and MissingText."""
        files = spec.files or {}
        if not files:
            return scene
        texts = await self._texts(files)
        return dressed(scene, texts)

    async def _texts(self, files: Mapping[str, str]) -> dict[str, str]:
        missing = [named for named in files.values() if named not in self._known]
        if missing:
            self._known.update(await self._blobs.texts(missing))
        try:
            found = {path: self._known[named] for path, named in files.items()}
        except KeyError as error:
            raise MissingText(f"the text with the hash {error} is missing from the blob store") from None
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return found
