"""A plan's folder on a disk."""

from pathlib import Path

from playmolt_schemas.agora.plan import PlanFault
from typing_extensions import override

from playmolt_agora_runner.folder.source import FILE_BYTES, FOLDERS, Source, checked, fault, too_large


class DiskSource(Source):
    """A folder on a disk, listed at once and read by and by."""

    def __init__(self, root: Path) -> None:
        super().__init__()
        self._root = root
        self._found = frozenset(
            f"{name}/{path.name}"
            for name in FOLDERS
            if (root / name).is_dir()
            for path in (root / name).iterdir()
            if not path.name.startswith((".", "__"))
        )

    @override
    def names(self) -> frozenset[str]:
        return self._found

    @override
    def _text(self, path: str) -> str | PlanFault:
        if path not in self._found:
            return fault(path, "does not exist in the plan's folder", "missing_file")
        place = self._root / path
        if place.is_symlink() or not place.is_file():
            return fault(path, "is not a regular file; links are not followed", "unreadable")
        size = place.stat().st_size
        if size > FILE_BYTES:
            return too_large(path, size)
        try:
            with place.open("rb") as file:
                return checked(path, file.read(FILE_BYTES + 1))
        except OSError as error:
            return fault(path, f"cannot be read: {error.strerror}", "unreadable")
