"""The files that the pages load: read and compressed once, bundled, and versioned by a hash of their content.

A page loads its module as one file, `watch/page.js`, and the texts that this file uses, `watch/page.en.json`.
"""

import gzip
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

import brotli
import msgspec
from playmolt_schemas.registry import games
from playmolt_schemas.skill import PAGE_LANGUAGES, PageLanguage, page_texts
from starlette.responses import Response

from playmolt_gateway.http.compression import encodings
from playmolt_gateway.http.responses import FILE_POLICY
from playmolt_gateway.pages.bundles import Bundler

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
    read |= {f"games/{game}/{name}": content for game, view in views.items() for name, content in view.items()}
    read["style.css"] = b"\n".join(read[name] for name in _STYLES)
    read["games.js"] = _games_module()
    read["views.js"] = _views_module([game for game, view in views.items() if _DRAWING in view])
    bundler = Bundler(read)
    sent = read | {name: bundler.bundle(name) for name in BUNDLED}
    for code in PAGE_LANGUAGES:
        texts = page_texts(code)
        sent |= {texts_name(name, code): msgspec.json.encode(bundler.texts(name, texts)) for name in BUNDLED}
    return {name: _asset(name, content) for name, content in sent.items() if Path(name).suffix in _TYPES}


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
    "tournaments.js", "tournament.js", "operator.js", "watch/page.js", "watch/embed.js", "jury/page.js",
    "jury/check.js", "legal/page.js",
)  # fmt: skip
"""The module of each page."""


def texts_name(module: str, language: PageLanguage) -> str:
    """The file with the texts of a page's module; `web/parts/language.js` makes the same name."""
    return f"{module.removesuffix('.js')}.{language}.json"
