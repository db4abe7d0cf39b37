"""A page's modules as one file: each request costs a way to the server and back, on a phone nearly half a second.

Our modules name what they take and give in two forms only, `import { a, b } from "./x.js"` and `export` before a
declaration. So one file can hold them all, each in a function of its own that gives what the others take.
"""

import posixpath
import re
from collections.abc import Mapping
from typing import Final

BUNDLED: Final = (
    "lobby.js", "archive.js", "agent.js", "agora.js", "nowhere.js", "erased.js", "away.js",
    "watch/page.js", "watch/embed.js", "jury/page.js", "jury/check.js", "legal/page.js",
)  # fmt: skip
_IMPORT: Final = re.compile(r'^import \{([^}]+)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async function|function|class|const) (\w+))", re.MULTILINE)
_OTHER: Final = re.compile(r"^(?:import|export)\b|\bimport(?:\(|\.meta)", re.MULTILINE)


class NotBundled(ValueError):
    """A module has an import or export of another form."""


def bundle(entry: str, files: Mapping[str, bytes]) -> bytes:
    """The module of a page with all that it imports, each once, what is taken before who takes it."""
    written: dict[str, str] = {}
    lines, _ = _parts(entry, files, written)
    # In a function, too: a name that the page takes would otherwise hide a global one from all modules before it.
    return "\n".join((*written.values(), "await (async () => {", *lines, "})();", "")).encode()


def _write(name: str, files: Mapping[str, bytes], written: dict[str, str]) -> None:
    if name in written:
        return
    lines, given = _parts(name, files, written)
    body = "\n".join((*lines, f"return {{ {', '.join(given)} }};"))
    written[name] = f"const {_variable(name)} = (() => {{\n{body}\n}})();"


def _parts(name: str, files: Mapping[str, bytes], written: dict[str, str]) -> tuple[list[str], list[str]]:
    """A module's lines, and the names it gives to others; what it takes is written before."""
    source = files[name].decode()
    taken: list[str] = []
    for names, path in _IMPORT.findall(source):
        module = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        _write(module, files, written)
        taken.append(f"const {{{names.replace(' as ', ': ')}}} = {_variable(module)};")
    given = [found[2] for found in _EXPORT.finditer(source)]
    body = _EXPORT.sub(r"\1", _IMPORT.sub("", source))
    if other := _OTHER.search(body):
        raise NotBundled(f"{name}: {other[0]!r} is of a form that no bundle knows")
    return [*taken, body], given


def _variable(module: str) -> str:
    return "_" + re.sub(r"\W", "_", module)
