#!/usr/bin/env bash
# docxtpl 0.20.2 (fills in DOCX templates with Jinja), python-docx 1.2.0, installed 2026-11: values with & and <.
# Guess: a value that is text arrives in the document as that text, or rendering raises: the template is a document of Word, not
#        markup that its author wrote.
# Seen:  the value is set into the XML as it is, and what then is no XML is repaired without a word: "Kim & Lee" is "Kim  Lee",
#        "A < B" is "A  B". A word in angle brackets takes all that follows it in the document along: from "sum <unknown> to be
#        heard" on, the rest of the paragraph and every later paragraph are missing. With `render(…, autoescape=True)`, or the
#        filter `e`, each of them arrives whole.
# Why it matters: a report or a filing names firms with "&" and bounds with "<", and texts of models have placeholders in angle
#        brackets. The file opens without a complaint, and the reader sees other names, or half a judgment.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check docxtpl==0.20.2 python-docx==1.2.0
cd "$folder"
"$folder/venv/bin/python" - <<'PY'
import docx
import docxtpl

template = docx.Document()
template.add_paragraph("It is held: {{ text }} (end)")
template.add_paragraph("Costs follow the event.")
template.save("template.docx")


def rendered(text, **how):
    document = docxtpl.DocxTemplate("template.docx")
    document.render({"text": text}, **how)
    document.save("made.docx")
    return [paragraph.text for paragraph in docx.Document("made.docx").paragraphs]


LAST = "Costs follow the event."
texts = ("Kim & Lee", "A < B", "sum <unknown> to be heard")
seen = [rendered(text) for text in texts]
for text, paragraphs in zip(texts, seen):
    print(repr(text), "->", paragraphs)
assert seen[0] == ["It is held: Kim  Lee (end)", LAST], "it changed"
assert seen[1] == ["It is held: A  B (end)", LAST], "it changed"
assert seen[2] == ["It is held: sum "], "it changed"
for text in texts:
    assert rendered(text, autoescape=True) == [f"It is held: {text} (end)", LAST]
PY
