"""Files, commands, settings, limits and codes that the documents name exist, and no file has forbidden content."""

import ast
import fnmatch
import importlib.util
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import click
import pytest
from playmolt_cli.main import cli
from playmolt_core.settings import OF_BOTS, variables
from playmolt_schemas import limits
from playmolt_schemas.codes import Code
from playmolt_schemas.skill import render

ROOT = Path(__file__).parents[1]
_GIVEN = ROOT / "docs" / "examples" / "match" / "report.md"
"""The output of a command. It links to games in its folder that the repository does not keep."""
_FOUND = (*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*/README.md"))
PAGES = sorted(path for path in _FOUND if path != _GIVEN)
LARGEST = 4 * 1024 * 1024


def ids(path: object) -> str:
    return path.relative_to(ROOT).as_posix() if isinstance(path, Path) else str(path)


def every_page(check: Callable[[Path], None]) -> Callable[[], None]:
    """Make one test of a check of all pages, because a test for each page would take longer than the checks."""

    def test() -> None:
        for page in PAGES:
            check(page)

    return test


def ignored(name: str, patterns: list[str]) -> bool:
    return any(fnmatch.fnmatch(name, pattern.strip("/")) for pattern in patterns)


def repository() -> Iterator[Path]:
    """Every file of the repository that .gitignore does not exclude."""
    patterns = [".git", *(ROOT / ".gitignore").read_text().split()]
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if not ignored(name, patterns)]
        yield from (Path(folder, name) for name in names if not ignored(name, patterns))


def texts() -> Iterator[tuple[str, str]]:
    for path in repository():
        content = path.read_bytes()
        if b"\0" not in content[:8192]:
            yield ids(path), content.decode("utf-8", "replace")


def without_code(text: str) -> str:
    return re.sub(r"```.*?```|`[^`\n]*`", "", text, flags=re.DOTALL)


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings, in the usual spelling for Markdown."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(text: str) -> list[str]:
    return [link for link in re.findall(r"\]\(([^)\s]+)\)", without_code(text)) if not re.match(r"\w+:", link)]


@every_page
def test_relative_links_lead_somewhere(page: Path) -> None:
    for link in links(page.read_text("utf-8")):
        if link.startswith("/"):
            continue
        name, _, anchor = unquote(link).partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{ids(page)} links to {link}"
        assert target.is_relative_to(ROOT), f"{ids(page)} links out of the repository: {link}"
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text("utf-8")), f"{ids(page)} links to {link}"


def _import_commands(group: click.Group) -> None:
    """Import all commands: each is imported only when it is requested."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            _import_commands(command)


_import_commands(cli)
_FILE = re.compile(r"(?<![\w/.<])(?:services|core|schemas|sdk|cli|tests|deploy|docs|bench)/[\w./-]+\.\w+\b")


@every_page
def test_files_that_are_named_exist(page: Path) -> None:
    named = _FILE.findall(page.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).is_file()] == [], ids(page)


_TEST = re.compile(r"`([\w./-]+\.py)::(\w+)`")


@every_page
def test_tests_that_are_named_exist(page: Path) -> None:
    for file, name in _TEST.findall(page.read_text("utf-8")):
        defined = re.search(rf"^ *(?:async )?def {name}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
        assert name.startswith("test_"), f"{ids(page)}: {name}"
        assert defined, f"{ids(page)}: {file}::{name}"


def test_every_rule_towards_others_has_its_tests() -> None:
    page = (ROOT / "docs" / "interop.md").read_text("utf-8")
    rules = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| rule |")]
    assert len(rules) > 60
    assert [rule for rule in rules if not _FILE.search(rule.split("|")[2])] == []


def test_links_are_found_where_they_are() -> None:
    assert links("[a](b.md) [c](d/e#f) [g](https://h) `[i](j)`\n```\n[k](l)\n```") == ["b.md", "d/e#f"]
    assert anchors("# One, two!\n```\n# no\n```\n## `three` four") == {"one-two", "three-four"}


FORBIDDEN = {
    "a folder of one machine": r"(?<![\w.}$>*-])/(?:home|root|work|Users)/[\w.]",
    "an address of a package registry": r"https?://[^\s/\"']*(?:pyp[i]|pythonhoste[d]|npmj[s]|artifactor[y]|crate[s]\.io)",
    "an index option": r"--(?:extra-)?index-ur[l]|--registr[y]\b",
    "work left over": r"\b(?:TOD[O]|FIXM[E]|XX[X])\b",
}


def test_no_file_holds_what_is_forbidden() -> None:
    patterns = [re.compile(pattern) for pattern in FORBIDDEN.values()]
    found = [f"{name}: {match[0]}" for name, text in texts() for one in patterns for match in one.finditer(text)]
    assert found == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a folder of one machine", "see /ho" + "me/me/x"),
        ("a folder of one machine", "cd '/wor" + "k/y'"),
        ("an address of a package registry", "https://py" + "pi.org/simple"),
        ("an index option", "pip install --index" + "-url"),
        ("work left over", "# TO" + "DO: later"),
    ],
)
def test_what_is_forbidden_is_recognised(what: str, text: str) -> None:
    assert re.search(FORBIDDEN[what], text)


PINNED = re.compile(r"^([a-z0-9.-]+)(?:\[[a-z,]+\])?==(\S+)", re.MULTILINE)


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-dev.lock"])
def test_a_lock_holds_hashes_and_no_url(name: str) -> None:
    lock = (ROOT / name).read_text()
    assert "--hash=sha256:" in lock
    assert "://" not in lock


def test_the_two_locks_come_from_one_resolution() -> None:
    """The packages for development are installed into the same environment and must not change the others' versions."""
    runs, develops = (
        PINNED.findall((ROOT / name).read_text()) for name in ("requirements.lock", "requirements-dev.lock")
    )
    versions = dict(runs)
    assert len(versions) > 90
    shared = [(name, version) for name, version in develops if name in versions]
    assert shared
    assert set(shared) <= set(runs)


def test_what_runs_is_installed_without_what_developing_takes() -> None:
    runs = {name for name, _ in PINNED.findall((ROOT / "requirements.lock").read_text())}
    assert (
        runs & {"pytest", "mypy", "ruff", "playwright", "hypothesis", "kubernetes-validate", "testcontainers"} == set()
    )


def test_no_file_is_larger_than_a_repository_should_carry() -> None:
    assert [ids(path) for path in repository() if path.stat().st_size > LARGEST] == []


def shown(text: str, start: str) -> Iterator[str]:
    """The commands of a page, in blocks and inline, that start with `start`."""
    for block in re.findall(r"```(?:sh|bash|console|shell)\n(.*?)```", text, re.DOTALL):
        lines = block.replace("\\\n", " ").splitlines()
        yield from (line for line in (line.strip().removeprefix("$ ") for line in lines) if line.startswith(start))
    yield from (inline for inline in re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text) if inline.startswith(start))


def faults(line: str) -> list[str]:
    """The commands and options in a line starting with `playmolt` that do not exist."""
    command: click.Command = cli
    wrong = []
    for token in re.split(r"[\s\[\]()=]+", re.split(r"[;&#>]|\s\|\s", line)[0])[1:]:
        if token.startswith("-"):
            wrong += [token] if token not in options(command) else []
        elif isinstance(command, click.Group) and re.match(r"[a-z]", token):
            names = token.split("|")
            wrong += [name for name in names if name not in command.commands]
            command = command.commands.get(names[0], command)
    return wrong


def options(command: click.Command) -> set[str]:
    context = click.Context(command, **cli.context_settings)
    return {name for parameter in command.get_params(context) for name in (*parameter.opts, *parameter.secondary_opts)}


@every_page
def test_commands_that_are_shown_exist_with_their_options(page: Path) -> None:
    for line in shown(page.read_text("utf-8"), "playmolt "):
        assert faults(line) == [], f"{ids(page)} shows: {line}"


def commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        yield from commands(inner)


def test_the_example_of_a_command_exists_with_its_options() -> None:
    for command in commands(cli):
        found = re.findall(r"Example:[^\n]*?(playmolt [^,\n]*)", command.help or "")
        assert [faults(example) for example in found] == [[]], command.name


def test_a_command_that_does_not_exist_is_recognised() -> None:
    assert faults("playmolt up --port 1 --data=DIR") == []
    assert faults("playmolt log verify|export [--json] ; echo") == []
    assert faults("playmolt --version") == []
    assert faults("playmolt up --prot 1") == ["--prot"]
    assert faults("playmolt log verfy") == ["verfy"]
    assert faults("playmolt dmeo --once") == ["dmeo", "--once"]
    assert list(shown("`playmolt up`\n```sh\n$ playmolt \\\n demo\nls\n```", "playmolt ")) == [
        "playmolt   demo",
        "playmolt up",
    ]


@every_page
def test_modules_that_are_shown_as_commands_exist(page: Path) -> None:
    for line in shown(page.read_text("utf-8"), "python -m "):
        module = line.split()[2]
        assert importlib.util.find_spec(module), f"{ids(page)} shows: {line}"


@every_page
def test_make_targets_that_are_shown_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for line in shown(page.read_text("utf-8"), "make "):
        assert line.split()[1] in targets, f"{ids(page)} shows: {line}"


@every_page
def test_settings_that_are_named_exist(page: Path) -> None:
    known = {variable for variable, _, _ in variables().values()} | OF_BOTS.keys()
    named = set(re.findall(r"\bPLAYMOLT_[A-Z_]+[A-Z]\b", page.read_text("utf-8")))
    assert named <= known, ids(page)


CODES = {(str(code.status), code.wire) for code in Code}
_CODE = r"`[a-z]+(?:_[a-z]+)*`|[a-z]+(?:_[a-z]+)+"
_NAMED = re.compile(rf"\b(4\d\d|503)(?: | \| |: )((?:{_CODE})(?:, (?:{_CODE}))*)")


def named_codes(text: str) -> list[tuple[str, str]]:
    return [(status, code.strip("`")) for status, codes in _NAMED.findall(text) for code in codes.split(", ")]


@every_page
def test_limits_and_codes_that_are_named_exist(page: Path) -> None:
    text = page.read_text("utf-8")
    assert render("".join(re.findall(r"\{\{(?:limit|codes) [^}]*\}\}", text))) is not None
    assert set(named_codes(text)) <= CODES, ids(page)
    assert set(re.findall(r"\bCode\.([A-Z_]+)", text)) <= Code.__members__.keys(), ids(page)
    assert all(hasattr(limits, name) for name in re.findall(r"\blimits\.([A-Z_]+)", text)), ids(page)


def test_a_code_that_does_not_exist_is_recognised() -> None:
    assert named_codes("| 409 | `game_over` | 422 no_such, 503 in time") == [("409", "game_over"), ("422", "no_such")]
    assert ("422", "no_such") not in CODES
    with pytest.raises(LookupError):
        render("{{limit NO_SUCH}}")


TERMS = re.findall(
    r"^\| ([^|]+) \| [^|]+ \| `([^`]+)` `([^`]+)` \|$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE
)


def defined(path: Path) -> set[str]:
    """The names that a module defines at its top level."""
    found = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(node.name)
            case ast.Assign():
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found


def test_a_term_lives_where_the_glossary_says() -> None:
    for term, file, name in TERMS:
        assert name in defined(ROOT / file), f"{term}: {file} defines no {name}"


def test_a_term_of_the_glossary_has_one_line() -> None:
    lines = (ROOT / "docs/glossary.md").read_text().split("|---|---|---|\n")[1].splitlines()
    assert len({term for term, _, _ in TERMS}) == len(TERMS) == len(lines) >= 30


def test_there_are_pages_to_check() -> None:
    names = {ids(page) for page in PAGES}
    assert {"docs/bots.md", "docs/api.md", "docs/event-log.md", "docs/games/ox/SKILL.md", "schemas/README.md"} <= names
    assert any(named_codes(page.read_text("utf-8")) for page in PAGES)
