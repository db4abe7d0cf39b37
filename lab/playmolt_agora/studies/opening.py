"""Opening what an experiment left: a bundle, the folder of its analysis, or a platform that has it."""

import shutil
import tempfile
import urllib.error
import urllib.request
import weakref
import zipfile
import zlib
from pathlib import Path
from typing import Final

import msgspec
from playmolt_schemas.this_machine import names_this_machine

from playmolt_agora.bundle import verify
from playmolt_agora.report import STUDY
from playmolt_agora.studies.study import READ, Study

_MANIFEST: Final = "manifest.json"
_NO_ACCESS: Final = (401, 403)
_NOT_FOUND: Final = 404


class _Entry(msgspec.Struct):
    sha256: str


class _Manifest(msgspec.Struct):
    files: dict[str, _Entry]


class BundleBroken(ValueError):
    """A file of a bundle is missing, unreadable or not the one that was sealed; the message names the first."""


def open(source: str | Path, key: str | None = None) -> Study:  # noqa: A001 -- as `gzip.open`
    """Open a bundle (folder or zip), a folder of `analyze`, or the address of an experiment with its operator's key.

    Raises BundleBroken, FileNotFoundError and PermissionError.
    """
    if str(source).startswith(("http://", "https://")):
        return _fetched(str(source), key)
    path = Path(source)
    if path.is_file() and zipfile.is_zipfile(path):
        return _unpacked(path)
    if (path / _MANIFEST).is_file():
        _check(path)
    if not (path / STUDY).is_file():
        raise FileNotFoundError(f"{path} is neither a bundle nor a folder of `playmolt agora analyze`")
    return Study(path)


def _check(bundle: Path) -> None:
    try:
        files = msgspec.json.decode((bundle / _MANIFEST).read_bytes(), type=_Manifest).files
    except msgspec.DecodeError as error:
        raise BundleBroken(f"{_MANIFEST}: is not the manifest of a bundle: {error}") from error
    for name, entry in sorted(files.items()):
        path = bundle / name
        if not path.is_file():
            raise BundleBroken(f"{name}: is missing")
        if verify.Folder(bundle).digest(name)[0] != entry.sha256:
            raise BundleBroken(f"{name}: differs from the sealed file")
    for path in sorted(each for pattern in READ for each in bundle.glob(pattern)):
        if (name := path.relative_to(bundle).as_posix()) not in files:
            raise BundleBroken(f"{name}: was not sealed; the manifest does not list it")


def _unpacked(archive: Path) -> Study:
    """The study in a zip file; what it is unpacked into goes with it."""
    folder = Path(tempfile.mkdtemp(prefix="playmolt-agora-"))
    name = archive.name
    try:
        with zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                name = entry.filename
                packed.extract(entry, folder)
        study = open(next((path.parent for path in sorted(folder.rglob(_MANIFEST))), folder))
    # RuntimeError: encrypted, or compressed in a way that Python does not support.
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise BundleBroken(f"{name}: cannot be unpacked: {error}") from error
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(study, shutil.rmtree, folder, ignore_errors=True)
    return study


def _fetched(address: str, key: str | None) -> Study:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    proxies: dict[str, str] | None = {} if names_this_machine(address) else None  # None: those of the environment
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies))
    request = urllib.request.Request(f"{address.rstrip('/')}/bundle", headers=headers)  # noqa: S310 -- http alone
    with tempfile.TemporaryDirectory(prefix="playmolt-agora-") as folder:
        archive = Path(folder, "bundle.zip")
        try:
            with opener.open(request) as answer, archive.open("wb") as file:
                shutil.copyfileobj(answer, file)
        except urllib.error.HTTPError as error:
            if error.code in _NO_ACCESS:
                raise PermissionError(f"{address}: {error.code}: give the operator's key") from error
            if error.code == _NOT_FOUND:
                raise FileNotFoundError(f"{address}: the experiment does not exist") from error
            raise
        return _unpacked(archive)
