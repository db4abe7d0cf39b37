#!/usr/bin/env bash
# vaderSentiment 3.3.2 (scores how positive a text is; much used in research on talk), installed 2026-11: short words before a mark.
# Guess: marks at the end of a word do not belong to it, only exclamation marks add strength: "I vote no." is as negative as "I vote
#        no", as "I vote yes." is as positive as "I vote yes".
# Seen:  "I vote no." is 0.0, "I vote no" -0.296; so are "No!", "No," and "(no)", and "ok." and "ha." are 0.0 where "ok" and "ha"
#        are positive. Words of one or two letters keep their marks, so that smileys survive, and are then unknown. Words of
#        three letters are right. "It is no good" is -0.341, and "It is no. Good" 0.440.
# Why it matters: a vote of no is the shortest answer of an agent and ends in a period, so that refusals are neutral and consent is
#        positive: a debate looks friendlier than it is, and by style of writing. Take the marks off short words first.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check vaderSentiment==3.3.2
"$folder/venv/bin/python" - <<'PY'
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

analyzer = SentimentIntensityAnalyzer()
for text, score in (
    ("I vote no", -0.296),
    ("I vote no.", 0.0),
    ("No!", 0.0),
    ("No, thanks", 0.4404),
    ("No thanks", -0.3412),
    ("I vote yes", 0.4019),
    ("I vote yes.", 0.4019),
    ("ok", 0.296),
    ("ok.", 0.0),
    ("sad", -0.4767),
    ("sad.", -0.4767),
    ("It is no good", -0.3412),
    ("It is no. Good", 0.4404),
):
    found = analyzer.polarity_scores(text)["compound"]
    print(f"{text!r}: {found}")
    assert found == score, "it changed"
PY
