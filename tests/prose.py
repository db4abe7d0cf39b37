"""`python -m tests.prose` checks README and docs by the rules of docs/.vale, and exits with 1 if it finds a fault.

`make check` uses it instead of Vale, a binary that must be downloaded, because it needs no network.
"""

import configparser
import fnmatch
import itertools
import re
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml

ROOT: Final = Path(__file__).parents[1]
_ENDS: Final = re.compile(r"(?<=[.?!])\s+(?=[A-Z*`\[])")
_NO_PROSE: Final = (
    re.compile(r"^---\n.*?\n---\n", re.DOTALL),
    re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE),
    re.compile(r"<!--.*?-->|<[^>\n]+>", re.DOTALL),
    re.compile(r"^(?: {4}|\t)\S.*$", re.MULTILINE),
)


class Alert(NamedTuple):
    file: str
    line: int
    rule: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.rule}: {self.message}"


class Rule(NamedTuple):
    name: str
    extends: str
    message: str
    scope: str
    patterns: tuple[tuple[re.Pattern[str], str], ...]
    """Each pattern with its replacement, which is empty except in substitutions."""
    most: int


def _blank(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _words(text: str) -> str:
    """A paragraph without its code and its link addresses."""
    return re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "`code`", text))


def prose(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, scope (heading or text) and words of each paragraph, list item and table cell of a page."""
    for pattern in _NO_PROSE:
        text = pattern.sub(_blank, text)
    number, gathered = 1, ""
    for at, line in enumerate([*text.splitlines(), ""], 1):
        alone = line.startswith(("#", "|"))
        starts = alone or not line.strip() or re.match(r" *(?:[-*]|\d+\.) ", line)
        if starts and gathered:
            yield number, "text", _words(gathered)
            gathered = ""
        if line.startswith("#"):
            yield at, "heading", _words(line.lstrip("# "))
        elif line.startswith("|"):
            yield from ((at, "text", _words(cell.strip())) for cell in line.strip("|").split("|"))
        elif line.strip():
            number = number if gathered else at
            gathered = f"{gathered} {line.strip()}".strip()


def _pattern(token: str, document: dict[str, Any]) -> re.Pattern[str]:
    flags = re.IGNORECASE if document.get("ignorecase") else re.NOFLAG
    return re.compile(token if document.get("nonword") else rf"\b(?:{token})\b", flags)


def read_rule(file: Path) -> Rule:
    document: dict[str, Any] = yaml.safe_load(file.read_text("utf-8"))
    compiled = partial(_pattern, document=document)
    match document["extends"]:
        case "existence":
            patterns = [(compiled(token), "") for token in document["tokens"]]
        case "substitution":
            patterns = [(compiled(token), text) for token, text in document["swap"].items()]
        case "repetition":
            patterns = [(re.compile(r"\b([^\W\d_]+) \1\b", re.IGNORECASE), "")]
        case "occurrence":
            patterns = [(re.compile(document["token"]), "")]
        case other:
            raise ValueError(f"{file}: {other} is not supported")
    scope, most = document.get("scope", "text"), document.get("max", 0)
    return Rule(
        f"{file.parent.name}.{file.stem}", document["extends"], document["message"], scope, tuple(patterns), most
    )


def found(rule: Rule, scope: str, words: str) -> Iterator[str]:
    """Messages of a rule about a paragraph."""
    if rule.scope == "heading" and scope != "heading":
        return
    for pattern, better in rule.patterns:
        if rule.extends == "occurrence":
            long = sum(len(pattern.findall(sentence)) > rule.most for sentence in _ENDS.split(words))
            yield from itertools.repeat(rule.message, long)
        else:
            for match in pattern.finditer(words):
                terms = (better, match[0]) if better else (match[0],)
                yield rule.message % terms if "%s" in rule.message else rule.message


def _alternatives(glob: str) -> list[str]:
    braces = re.search(r"\{([^}]*)\}", glob)
    return [glob[: braces.start()] + each + glob[braces.end() :] for each in braces[1].split(",")] if braces else [glob]


def alerts(root: Path, names: list[str]) -> Iterator[Alert]:
    settings = configparser.ConfigParser(interpolation=None)
    settings.read_string("[DEFAULT]\n" + (root / ".vale.ini").read_text("utf-8"))
    folder = root / settings.defaults()["stylespath"]
    for name in names:
        fitting = [
            each for each in settings.sections() if any(fnmatch.fnmatch(name, one) for one in _alternatives(each))
        ]
        styles = settings[fitting[-1]]["BasedOnStyles"].split() if fitting else []
        rules = [read_rule(file) for style in styles for file in sorted((folder / style).glob("*.yml"))]
        for line, scope, words in prose((root / name).read_text("utf-8")) if rules else ():
            for rule in rules:
                yield from (Alert(name, line, rule.name, message) for message in found(rule, scope, words))


def pages(root: Path) -> list[str]:
    files = [*sorted(root.glob("*.md")), *sorted((root / "docs").rglob("*.md")), *sorted(root.glob("deploy/*/*.md"))]
    return [file.relative_to(root).as_posix() for file in files]


if __name__ == "__main__":
    lines = [str(alert) for alert in alerts(ROOT, pages(ROOT))]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.exit(bool(lines))
