"""A page's module with everything it imports as one file, and the texts that this file uses.

Each request costs a round trip. Our modules use two forms only, `import { a, b } from "./x.js"` and `export` before a
declaration, so a bundle can wrap each module in a function that returns its exports. A bundle has no comments and no
indentation, which are a quarter of its compressed size; each module is also sent as it was written.
"""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

_IMPORT: Final = re.compile(r'^import \{([^}]+)\} from "([^"]+)";\n', re.MULTILINE)
_EXPORT: Final = re.compile(r"^export ((?:async function|function|class|const) (\w+))", re.MULTILINE)
_OTHER: Final = re.compile(r"^(?:import|export)\b|\bimport(?:\(|\.meta)", re.MULTILINE)
_COMMENT: Final = re.compile(r"^[ \t]*(?:/\*\*.*?\*/|//[^\n]*)[ \t]*(?:\n|\Z)", re.MULTILINE | re.DOTALL)
_SPACE: Final = re.compile(r"^\s+", re.MULTILINE)

_NARRATION: Final = "parts/narration.js"
"""This module finds the words of what a sentence names, as in `{verdict:verdict}`."""
_LANGUAGE: Final = "parts/language.js"
_LITERAL: Final = re.compile(r'"([\w.]+)"')
_BEGINNING: Final = re.compile(r"`([\w.]+\.)\w*\$\{")
_GROUP: Final = re.compile(r'\bword\(\s*"([\w.]+)"')
_ANY_GROUP: Final = re.compile(r'\bword\(\s*(?!["`\s])')
_NAMED_GROUP: Final = re.compile(r"\{[\w.]+:(\w+)\}")


class UnbundledImport(ValueError):
    """A module uses an unsupported form of import or export."""


class Module(msgspec.Struct, frozen=True):
    """A module in parts: its imports as (names, module), its code as it is bundled, its exports, its texts."""

    imports: tuple[tuple[str, str], ...]
    code: str
    exports: tuple[str, ...]
    texts: "TextUse"

    def lines(self) -> tuple[str, ...]:
        """The code after its imports from modules that were written before."""
        taken = (f"const {{{names.replace(' as ', ': ')}}} = {_variable(module)};" for names, module in self.imports)
        return *taken, self.code


class Bundler:
    """Bundles modules of `files`, and reads each once."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = files
        self._read: dict[str, Module] = {}

    def module(self, name: str) -> Module:
        """A module in parts. Raises UnbundledImport."""
        if name not in self._read:
            self._read[name] = _module(name, self._files[name].decode())
        return self._read[name]

    def modules(self, entry: str) -> tuple[str, ...]:
        """A page's module and everything it imports, dependencies first."""
        found: dict[str, None] = {}

        def visit(name: str) -> None:
            for _, module in self.module(name).imports:
                if module not in found:
                    visit(module)
            found[name] = None

        visit(entry)
        return tuple(found)

    def bundle(self, entry: str) -> bytes:
        """A page's module with everything it imports."""
        *imported, own = self.modules(entry)
        # Also wrapped in a function: the page's names would otherwise shadow globals in the modules before it.
        written = (*map(self._wrapped, imported), "await (async () => {", *self.module(own).lines(), "})();", "")
        return "\n".join(written).encode()

    def _wrapped(self, name: str) -> str:
        module = self.module(name)
        body = "\n".join((*module.lines(), f"return {{ {', '.join(module.exports)} }};"))
        return f"const {_variable(name)} = (() => {{\n{body}\n}})();"

    def texts(self, entry: str, texts: Mapping[str, str]) -> dict[str, str]:
        """The texts that a page's module and everything it imports ask for."""
        uses = [self.module(name).texts for name in self.modules(entry)]
        if any(use.any_group for use in uses):
            return dict(texts)
        keys = frozenset[str]().union(*(use.keys for use in uses))
        beginnings = frozenset[str]().union(*(use.beginnings for use in uses))
        if any(use.narrates for use in uses):
            sentences = _chosen(texts, frozenset(), beginnings).values()
            beginnings |= {f"{group}." for sentence in sentences for group in _NAMED_GROUP.findall(sentence)}
        return _chosen(texts, keys, beginnings)


def _module(name: str, source: str) -> Module:
    exports = tuple(found[2] for found in _EXPORT.finditer(source))
    body = _EXPORT.sub(r"\1", _IMPORT.sub("", source))
    if other := _OTHER.search(body):
        raise UnbundledImport(f"{name}: unsupported form: {other[0]!r}")
    return Module(tuple(_imports(name, source)), _shortened(body), exports, text_use(name, source))


def _imports(name: str, source: str) -> Iterator[tuple[str, str]]:
    """The imported names and the module of each import."""
    for names, path in _IMPORT.findall(source):
        yield names, posixpath.normpath(posixpath.join(posixpath.dirname(name), path))


def _variable(module: str) -> str:
    return "_" + re.sub(r"\W", "_", module)


def _shortened(source: str) -> str:
    """Code without its comments of whole lines, empty lines and indentation; lines stay lines.

    A module with a text of several lines stays as it is.
    """
    short = _COMMENT.sub("", source)
    if any(line.count("`") % 2 for line in short.splitlines()):
        return source
    return _SPACE.sub("", short)


class TextUse(msgspec.Struct, frozen=True):
    """Which texts a module asks for: by key, or by the beginning of their keys, which ends with a dot."""

    keys: frozenset[str]
    beginnings: frozenset[str]
    narrates: bool
    """Whether it asks for what the sentences of its beginnings name."""
    any_group: bool
    """Whether it asks for words of a group that is known at run time only."""


def text_use(name: str, source: str) -> TextUse:
    """The texts that a module asks for, and perhaps others: every literal counts that could be a key or begin one."""
    literals = frozenset(_LITERAL.findall(source))
    beginnings = {*_BEGINNING.findall(source), *(f"{group}." for group in _GROUP.findall(source))}
    beginnings |= {literal for literal in literals if literal.endswith(".")}
    dynamic = name not in (_NARRATION, _LANGUAGE) and _ANY_GROUP.search(source) is not None
    return TextUse(literals, frozenset(beginnings), name == _NARRATION, dynamic)


def _chosen(texts: Mapping[str, str], keys: frozenset[str], beginnings: frozenset[str]) -> dict[str, str]:
    return {
        key: text
        for key, text in texts.items()
        if key in keys or any(key[:place] in beginnings for place in _places(key))
    }


def _places(key: str) -> Iterator[int]:
    """Where the beginnings of a key end."""
    place = key.find(".") + 1
    while place:
        yield place
        place = key.find(".", place) + 1
