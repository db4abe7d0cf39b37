#!/usr/bin/env bash
# jiwer 4.0.0 (word error rate of transcripts), installed 2026-11: transcripts in lines.
# Guess: words are what white space separates, as `str.split` has it; a transcript in lines of any width and the same one in a single
#        line have an error rate of 0.
# Seen:  a line break or a tab within a text joins the words beside it into one: "finds\nhim" is a word. A verdict of five words in two
#        lines has a rate of 0.5, and a hearing of 224 words, wrapped at 60 characters, 0.17. Several blanks, and breaks at the ends,
#        are right. Both sides in the same lines give 0. Nothing is reported.
# Why it matters: hearings come in lines of captions or court forms, so that the measured errors of a recognizer are those of
#        the layout, and shorter lines look like worse speech. Join the lines with blanks on both sides first.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check jiwer==4.0.0
"$folder/venv/bin/python" - <<'PY'
import textwrap

import jiwer

VERDICT = "the jury finds him guilty"
HEARING = " ".join(f"witness {number} says that the round was fair and the vote was late" for number in range(16))
for reference, hypothesis, words, rate in (
    (VERDICT, VERDICT, 5, 0),
    ("the jury finds\nhim guilty", VERDICT, 4, 0.5),
    (VERDICT, "the jury finds\nhim guilty", 5, 0.4),
    ("the jury finds\thim guilty", VERDICT, 4, 0.5),
    ("the  jury finds   him guilty\n", VERDICT, 5, 0),
    ("the jury finds\nhim guilty", "the jury finds\nhim guilty", 4, 0),
    (textwrap.fill(HEARING, 60), HEARING, 192, 0.167),
):
    found = jiwer.process_words(reference, hypothesis)
    print(f"{reference[:40]!r} {hypothesis[:40]!r}: {len(found.references[0])} words, rate {found.wer:.3f}")
    assert (len(found.references[0]), round(found.wer, 3)) == (words, rate), "it changed"
PY
