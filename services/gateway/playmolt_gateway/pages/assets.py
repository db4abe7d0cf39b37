"""The files that the pages load: read and compressed once, bundled, and versioned by a hash of their content.

A page's modules are sent as one file, because each request costs a round trip. Our modules use two forms only,
`import { a, b } from "./x.js"` and `export` before a declaration, so a bundle can wrap each module in a function that
returns its exports.
"""

import gzip
import hashlib
import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import brotli
import msgspec
from playmolt_schemas.registry import games
from playmolt_schemas.skill import PAGE_LANGUAGES, page_texts
from starlette.responses import Response

from playmolt_gateway.http.compression import encodings
from playmolt_gateway.http.responses import FILE_POLICY

FILES: Final = Path(__file__).parents[1] / "web"
_STYLES: Final = ("style.css", "picture.css")
_DRAWING: Final = "watch.js"
_TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
}
_YEAR: Final = 365 * 24 * 3600


class Asset(msgspec.Struct, frozen=True):
    """A file, compressed when it is first requested."""

    kind: str
    plain: bytes

    def best(self, accepted: str) -> tuple[bytes, str]:
        """The content in the shortest accepted encoding, and the encoding's name or ""."""
        taken = encodings(accepted)
        if "br" in taken and len(small := _brotli(self.plain)) < len(self.plain):
            return small, "br"
        if "gzip" in taken and len(small := _gzip(self.plain)) < len(self.plain):
            return small, "gzip"
        return self.plain, ""


@cache
def _brotli(content: bytes) -> bytes:
    small: bytes = brotli.compress(content, quality=9)
    return small


@cache
def _gzip(content: bytes) -> bytes:
    return gzip.compress(content, 9, mtime=0)


def file_response(name: str, version: str, accepts: str) -> Response | None:
    """Send a file; None if it does not exist.

    Browsers cache it for a year under the current version, and not at all under another (during a rollout).
    """
    found = assets().get(name)
    if found is None:
        return None
    body, encoding = found.best(accepts)
    kept = f"public, max-age={_YEAR}, immutable" if version == version_of_all() else "no-cache"
    headers = {"x-content-type-options": "nosniff", "cache-control": kept, "vary": "Accept-Encoding"}
    if encoding:
        headers["content-encoding"] = encoding
    if found.kind == _TYPES[".svg"]:
        headers["content-security-policy"] = FILE_POLICY
    return Response(body, media_type=found.kind, headers=headers)


@cache
def version_of_all() -> str:
    """One version for all files: modules import each other, so a change of one changes all."""
    digest = hashlib.sha256()
    for name, asset in sorted(assets().items()):
        digest.update(f"{name} {len(asset.plain)} ".encode() + asset.plain)
    return digest.hexdigest()[:16]


@cache
def assets() -> Mapping[str, Asset]:
    """Name → file. No other file is ever sent."""
    views = {game.type: game.watch.files() for game in games().values() if game.watch is not None}
    read = {path.relative_to(FILES).as_posix(): path.read_bytes() for path in FILES.rglob("*") if path.is_file()}
    read |= {f"texts.{code}.json": msgspec.json.encode(page_texts(code)) for code in PAGE_LANGUAGES}
    read |= {f"games/{game}/{name}": content for game, view in views.items() for name, content in view.items()}
    read["style.css"] = b"\n".join(read[name] for name in _STYLES)
    read["games.js"] = _games_module()
    read["views.js"] = _views_module([game for game, view in views.items() if _DRAWING in view])
    read |= {name: bundle(name, read) for name in BUNDLED}
    return {name: _asset(name, content) for name, content in read.items() if Path(name).suffix in _TYPES}


def _asset(name: str, content: bytes) -> Asset:
    return Asset(_TYPES[Path(name).suffix], content)


def _games_module() -> bytes:
    """A module listing the types that can be watched and whether each has pictures."""
    watched = [
        {"type": game.type, "kind": game.kind, "drawn": game.drawing is not None}
        for game in games().values()
        if game.kind in ("game", "run")
    ]
    return b"/** The games of this server. */\n\nexport const GAMES = " + msgspec.json.encode(watched) + b";\n"


def _views_module(types: Sequence[str]) -> bytes:
    """A module with the views of the games that have one."""
    taken = "".join(
        f'import {{ game as view{place} }} from "./games/{game}/{_DRAWING}";\n' for place, game in enumerate(types)
    )
    named = ", ".join(f'"{game}": view{place}' for place, game in enumerate(types))
    return f"/** The views of this server's games. */\n\n{taken}\nexport const VIEWS = {{ {named} }};\n".encode()


BUNDLED: Final = (
    "lobby.js", "archive.js", "agent.js", "agora.js", "me.js", "play/page.js", "nowhere.js", "erased.js", "away.js",
    "watch/page.js", "watch/embed.js", "jury/page.js", "jury/check.js", "legal/page.js",
)  # fmt: skip
_IMPORT: Final = re.compile(r'^import \{([^}]+)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async function|function|class|const) (\w+))", re.MULTILINE)
_OTHER: Final = re.compile(r"^(?:import|export)\b|\bimport(?:\(|\.meta)", re.MULTILINE)


class UnbundledImport(ValueError):
    """A module uses an unsupported form of import or export."""


def bundle(entry: str, files: Mapping[str, bytes]) -> bytes:
    """A page's module with everything it imports, dependencies first."""
    written: dict[str, str] = {}
    lines, _ = _parts(entry, files, written)
    # Also wrapped in a function: the page's names would otherwise shadow globals in the modules before it.
    return "\n".join((*written.values(), "await (async () => {", *lines, "})();", "")).encode()


def _write(name: str, files: Mapping[str, bytes], written: dict[str, str]) -> None:
    if name in written:
        return
    lines, given = _parts(name, files, written)
    body = "\n".join((*lines, f"return {{ {', '.join(given)} }};"))
    written[name] = f"const {_variable(name)} = (() => {{\n{body}\n}})();"


def _parts(name: str, files: Mapping[str, bytes], written: dict[str, str]) -> tuple[list[str], list[str]]:
    """A module's lines and its exports; its imports are written first."""
    source = files[name].decode()
    taken: list[str] = []
    for names, path in _IMPORT.findall(source):
        module = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        _write(module, files, written)
        taken.append(f"const {{{names.replace(' as ', ': ')}}} = {_variable(module)};")
    given = [found[2] for found in _EXPORT.finditer(source)]
    body = _EXPORT.sub(r"\1", _IMPORT.sub("", source))
    if other := _OTHER.search(body):
        raise UnbundledImport(f"{name}: unsupported form: {other[0]!r}")
    return [*taken, body], given


def _variable(module: str) -> str:
    return "_" + re.sub(r"\W", "_", module)
