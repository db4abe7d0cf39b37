"""What of a study is the researcher's own, and what its measures came to."""

from collections.abc import Mapping
from typing import Any

import msgspec
from playmolt_schemas.agora.plan import FaultCode, Folder

from playmolt_agora.folder.measure_file import MeasureDeclaration
from playmolt_agora.folder.rooms import LockedRoom


class OwnResult(msgspec.Struct, frozen=True, kw_only=True):
    """A measure with its table (Arrow), or with the code of what went wrong."""

    name: str
    code: FaultCode | None = None
    detail: str = ""
    rows: int | None = None
    table: Any = None
    declared: MeasureDeclaration | None = None

    @property
    def line(self) -> dict[str, Any]:
        """What `analyze --json` says of it."""
        return {"name": self.name, "code": self.code, "detail": self.detail, "rows": self.rows}


class OwnContent(msgspec.Struct, frozen=True, kw_only=True):
    """What of a study is the researcher's own: the locked folder, its rooms and texts, what its measures came to."""

    folder: Folder
    rooms: tuple[LockedRoom, ...] = ()
    texts: Mapping[str, str] = {}
    measures: tuple[OwnResult, ...] = ()
