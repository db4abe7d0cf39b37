#!/usr/bin/env bash
# pysubs2 1.8.1 beside srt 3.5.3 and pysrt 1.1.2 (PyPI; read and convert captions), installed 2026-11: what agents say, in SubRip.
# Guess: SubRip is plain text with <i>, <b> and <u>; other signs of a caption are words, and reading and writing a file keeps them.
# Seen:  srt and pysrt keep each. pysubs2 makes a form of its own of them, in which braces are commands: of 'Kim: {"bid": 3}'
#        "Kim:" remains, as SubRip and as WebVTT. From "<" to the next ">" all goes: "a < b and c > d" is "a  d". "\n", "\N" and
#        "\h" in a text become breaks and a space, as in C:\new. From 100 hours on the time begins again at 0. Nothing is
#        reported.
# Why it matters: agents speak JSON, formulas and code, and the captions of a replay that passed through it lack just the moves;
#        a log of a season has later rounds at its beginning. Read such files with srt.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pysubs2==1.8.1 srt==3.5.3 pysrt==1.1.2
"$folder/venv/bin/python" -W ignore - <<'PY'
import pysrt
import pysubs2
import srt


def caption(text, hours="00"):
    return f"1\n{hours}:00:01,000 --> {hours}:00:02,000\n{text}\n\n"


def words(text):
    return text.split("\n", 2)[2].strip("\n")


for said, kept in (
    ("Kim: guilty", "Kim: guilty"),
    ('Kim: {"bid": 3}', "Kim:"),
    ("a < b and c > d", "a  d"),
    (r"C:\new\Notes\home", "C:\new\notes ome"),
):
    text = caption(said)
    read = pysubs2.SSAFile.from_string(text, format_="srt")
    written, web = words(read.to_string("srt")), words(read.to_string("vtt").removeprefix("WEBVTT\n\n"))
    print(f"{said!r}: pysubs2 {written!r}, as WebVTT {web!r}")
    assert words(srt.compose(srt.parse(text))) == pysrt.from_string(text)[0].text == said
    assert written == web == kept, "it changed"

late = caption("Kim: guilty", "100")
starts = (
    next(srt.parse(late)).start.total_seconds(),
    pysrt.from_string(late)[0].start.ordinal / 1000,
    pysubs2.SSAFile.from_string(late, format_="srt")[0].start / 1000,
)
print("100 hours and a second: srt, pysrt, pysubs2", starts)
assert starts == (360001, 360001, 1), "it changed"
PY
