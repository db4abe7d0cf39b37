"""tests/prose.py finds each kind of fault, and only in prose."""

from pathlib import Path

import pytest

from tests.prose import ROOT, alerts, pages, prose

RULES = {
    "Word": "extends: substitution\nmessage: \"use '%s' for '%s'\"\nignorecase: true\nswap:\n  utilize: use\n",
    "Idiom": "extends: existence\nmessage: \"'%s'\"\ntokens:\n  - anew\n",
    "Twice": "extends: repetition\nmessage: \"'%s'\"\n",
    "Long": "extends: occurrence\nmessage: long\nscope: sentence\nmax: 4\ntoken: '\\w+'\n",
    "Head": "extends: existence\nmessage: \"'%s'\"\nnonword: true\nscope: heading\ntokens:\n  - '[.]$'\n",
}


def found(folder: Path, text: str, *names: str) -> list[str]:
    style = folder / "rules" / "House"
    style.mkdir(parents=True, exist_ok=True)
    for name in names:
        (style / f"{name}.yml").write_text(RULES[name], "utf-8")
    settings = "StylesPath = rules\n[*.md]\nBasedOnStyles = House\n[docs/{made,other}.md]\nBasedOnStyles =\n"
    (folder / ".vale.ini").write_text(settings, "utf-8")
    (folder / "docs").mkdir(exist_ok=True)
    for page in ("page.md", "docs/made.md"):
        (folder / page).write_text(text, "utf-8")
    return [str(alert) for alert in alerts(folder, ["page.md", "docs/made.md"])]


@pytest.mark.parametrize(
    ("rule", "text", "lines"),
    [
        ("Word", "We\nUtilize it.", ["page.md:1: House.Word: use 'use' for 'Utilize'"]),
        ("Idiom", "| a | made anew |", ["page.md:1: House.Idiom: 'anew'"]),
        ("Idiom", "```\nanew\n```\n`made anew` and `also\nanew` and <!-- anew -->\n", []),
        ("Idiom", "- one\n- [begun anew](anew.md)", ["page.md:2: House.Idiom: 'anew'"]),
        ("Twice", "so\n\nit is is", ["page.md:3: House.Twice: 'is is'"]),
        ("Long", "One two three four. One two three four five.", ["page.md:1: House.Long: long"]),
        ("Head", "# A head.\n\nA text.", ["page.md:1: House.Head: '.'"]),
    ],
)
def test_a_fault_is_found_in_prose_alone(tmp_path: Path, rule: str, text: str, lines: list[str]) -> None:
    assert found(tmp_path, text, rule) == lines


def test_a_rule_that_is_not_supported_is_refused(tmp_path: Path) -> None:
    found(tmp_path, "", "Word")
    (tmp_path / "rules" / "House" / "Case.yml").write_text("extends: capitalization\nmessage: x\n", "utf-8")
    with pytest.raises(ValueError, match=r"Case\.yml: capitalization is not supported"):
        list(alerts(tmp_path, ["page.md"]))


def test_a_paragraph_is_read_whole_with_the_line_of_its_beginning() -> None:
    assert list(prose("# Title\n\none\ntwo\n\n- three\n  four\n| a | b |\n")) == [
        (1, "heading", "Title"),
        (3, "text", "one two"),
        (6, "text", "- three four"),
        (8, "text", "a"),
        (8, "text", "b"),
    ]


def test_readme_and_docs_are_read() -> None:
    assert {"README.md", "docs/bots.md", "docs/operating.md", "docs/decisions/appends.md"} <= set(pages(ROOT))
