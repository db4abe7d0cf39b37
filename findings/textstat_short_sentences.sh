#!/usr/bin/env bash
# textstat 0.7.13 (how hard a text is to read), installed 2026-12: sentences of few words, as witnesses and jurors speak.
# Guess: a sentence ends at a period, a question mark or an exclamation mark that is followed by a space, however short it is; abbreviations may
#        err.
# Seen:  a sentence of one or two words does not count, though its words do. "No. I saw him. He ran." is one sentence of six words, "Not guilty."
#        three times one of six. "I vote no." three times is three of three. "3.5 credits" is two sentences, since each period ends
#        one. "Roe v. Wade is a case." is one: the "Roe v." before the period is too short.
# Why it matters: the shorter the answers, the longer the sentences: each index of reading looks harder where a witness says
#        yes and no, and in plain speech it is right. Count the sentences yourself, and compare speakers by words.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check textstat==0.7.13
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PY'
import textstat

for text, sentences, words in (
    ("I vote no. I vote no. I vote no.", 3, 9),
    ("No. I saw him. He ran.", 1, 6),
    ("Not guilty. Not guilty. Not guilty.", 1, 6),
    ("Were you there? No. Did you see him? No. Did you hear him? Yes, twice.", 3, 15),
    ("The price is 3.5 credits today.", 2, 6),
    ("Roe v. Wade is a case.", 1, 6),
):
    found = textstat.sentence_count(text), textstat.lexicon_count(text)
    print(f"{text!r}: sentences {found[0]}, words {found[1]}, words a sentence {textstat.words_per_sentence(text)}")
    assert found == (sentences, words), "it changed"
    assert textstat.words_per_sentence(text) == words / sentences, "it changed"
index = [textstat.automated_readability_index(text) for text in ("I vote no. I vote no. I vote no.", "I do not. I do not. No. No. No. No.")]
print(f"automated readability index of short and shorter: {index}")
assert index[1] > index[0], "it changed"
PY
