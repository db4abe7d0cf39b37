#!/usr/bin/env bash
# Pages as text for agents, installed 2026-11: html2text 2025.4.15, inscriptis 2.7.6, markdownify 1.2.3, html-to-markdown 3.21.2,
# markitdown 0.1.9 (PyPI).
# Guess: the text says what a reader of the page sees: struck-out words are marked or missing, hidden ones are missing, paragraphs keep
#        their numbers, and each cell of a table stays in its column.
# Seen:  hidden text is there in all but html-to-markdown, which alone keeps the columns too: below a seat that spans two rows, the
#        second vote moves into the column of seats. inscriptis writes "guilty not guilty" for a corrected verdict, and numbers a
#        list that begins at 12 from 1. With markdownify and markitdown a vote "a|b" becomes two cells, of which a page shows
#        one. "10<sup>2</sup>" is 102 in all five. Nothing is reported.
# Why it matters: agents read another verdict, another seat's vote or a hand of cards that the page hides, and jurors of two
#        operators judge other records. Give agents the data, or a page without hidden, struck or spanning parts.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check html2text==2025.4.15 inscriptis==2.7.6 markdownify==1.2.3 \
    html-to-markdown==3.21.2 markitdown==0.1.9
"$folder/venv/bin/python" -W ignore - <<'PY'
import io

import html2text
import html_to_markdown
import inscriptis
import markdownify
from markitdown import MarkItDown

READERS = {
    "html2text": html2text.html2text,
    "inscriptis": inscriptis.get_text,
    "markdownify": markdownify.markdownify,
    "html-to-markdown": lambda page: html_to_markdown.convert(page).content,
    "markitdown": lambda page: MarkItDown().convert_stream(io.BytesIO(page.encode()), file_extension=".html").markdown,
}
SEATS = '<tr><th>Seat</th><th>Vote</th></tr><tr><td rowspan="2">1</td><td>no</td></tr><tr><td>yes</td></tr>'
PARTS = {
    "struck out": "<p>The verdict is <del>guilty</del> <ins>not guilty</ins>.</p>",
    "hidden": "<p>You hold two cards.</p><p hidden>Kim holds an ace.</p>",
    "numbers": '<ol start="12"><li>The plaintiff won.</li></ol>',
    "two rows": f"<table>{SEATS}</table>",
    "bar": "<table><tr><th>Vote</th></tr><tr><td>a|b</td></tr></table>",
    "power": "<p>10<sup>2</sup> points</p>",
}
found = {}
for part, html in PARTS.items():
    found[part] = {reader: read(f"<html><body>{html}</body></html>").strip() for reader, read in READERS.items()}
    print(part, found[part])


def readers(part, fits):
    return {reader for reader, text in found[part].items() if fits(text)}


ALL, RIGHT = set(READERS), {"html-to-markdown"}
assert readers("struck out", lambda text: "~~guilty~~" not in text) == {"inscriptis"}, "it changed"
assert readers("hidden", lambda text: "ace" in text) == ALL - RIGHT, "it changed"
assert readers("numbers", lambda text: "12." not in text) == {"inscriptis"}, "it changed"
assert readers("two rows", lambda text: not text.splitlines()[-1].removeprefix("| ").startswith("yes")) == RIGHT, "it changed"
assert readers("bar", lambda text: "| a|b |" in text) == {"markdownify", "markitdown"}, "it changed"
assert readers("power", lambda text: "102" in text) == ALL, "it changed"
PY
