#!/usr/bin/env bash
# pyannote.core 6.1.0 with pyannote.database 6.1.1 (who speaks when; RTTM files), installed 2026-11: speakers of a hearing.
# Guess: speech that overlaps is kept, since an annotation has tracks for it: two jurors who answer in the same second are both there,
#        as they are when one begins a moment later. RTTM that it writes it reads again with the same names.
# Seen:  `annotation[segment] = "Lee"` replaces Kim where both have the same start and end, and adds Lee where the start differs by
#        a hundredth of a second. A turn without length is left out. Speakers named NA, None, null or nan are written as such
#        and read as NaN, all as one speaker. A name with a space raises. Nothing else is reported.
# Why it matters: votes by acclamation and turns at whole seconds, as transcripts have them, lose all speakers but the last; a
#        witness with the initials N. A. loses the name. Give each turn a track, and speakers names with a prefix.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyannote.core==6.1.0 pyannote.database==6.1.1
cd "$folder"
venv/bin/python -W ignore - <<'PY'
from pathlib import Path

from pyannote.core import Annotation, Segment
from pyannote.database.util import load_rttm


def speakers(turns, tracks=False):
    annotation = Annotation(uri="hearing")
    for number, (start, end, name) in enumerate(turns):
        if tracks:
            annotation[Segment(start, end), number] = name
        else:
            annotation[Segment(start, end)] = name
    return annotation


def names(annotation):
    return [name for *_, name in annotation.itertracks(yield_label=True)]


same = [(0, 1, "kim"), (0, 1, "lee")]
for turns, options, expected in (
    (same, {}, ["lee"]),
    (same, {"tracks": True}, ["kim", "lee"]),
    ([(0, 1, "kim"), (0.01, 1, "lee")], {}, ["kim", "lee"]),
    ([(0, 1, "kim"), (2, 2, "lee")], {}, ["kim"]),
):
    found = names(speakers(turns, **options))
    print(turns, options, "->", found)
    assert found == expected, "it changed"

written = ["kim", "NA", "None", "null", "nan", "007"]
Path("hearing.rttm").write_text(speakers([(second, second + 1, name) for second, name in enumerate(written)]).to_rttm())
read = load_rttm("hearing.rttm")["hearing"]
print(written, "->", names(read), "speakers:", len(read.labels()))
assert [name if name == name else "NaN" for name in names(read)] == ["kim", *["NaN"] * 4, "007"], "it changed"
assert len(read.labels()) == 3, "it changed"
PY
