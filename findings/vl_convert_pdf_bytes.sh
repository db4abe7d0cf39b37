#!/usr/bin/env bash
# vl-convert-python 1.9.0.post1, installed 2026-11.
# Guess: one specification gives one document: the converter needs no network, no browser and no clock, so that SVG, PNG
#        and PDF are equal byte for byte whenever they are drawn.
# Seen:  SVG and PNG are equal in every process. The PDF differs from process to process: the entries of its
#        dictionaries (fonts, graphic states) come in another order. Read and sorted, the documents are equal.
# Why it matters: a report that promises equal bytes for equal data, or a hash of its figures in a lock or a bundle,
#        breaks at its PDFs alone; write them again with sorted dictionaries, or hash the SVG.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check vl-convert-python==1.9.0.post1 pypdf==7.1.1
cat > "$folder/draw.py" <<'PY'
import hashlib
import io
import re

import pypdf
import vl_convert

rows = [{"round": name, "votes": votes, "side": side} for name, votes, side in (("1", 1, "a"), ("2", 3, "b"), ("3", 2, "a"))]
spec = {
    "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
    "title": "Votes by round",
    "data": {"values": rows},
    "mark": "bar",
    "encoding": {
        "x": {"field": "round", "type": "nominal"},
        "y": {"field": "votes", "type": "quantitative"},
        "color": {"field": "side", "type": "nominal"},
        "opacity": {"value": 0.5},
    },
}


def digest(data):
    return hashlib.sha256(data).hexdigest()[:12]


pdf = vl_convert.vegalite_to_pdf(spec)
page = pypdf.PdfReader(io.BytesIO(pdf)).pages[0]
kinds = sorted((str(kind), len(names)) for kind, names in page["/Resources"].items() if hasattr(names, "keys"))
text = re.sub(r"\s+", " ", page.extract_text())
print(digest(vl_convert.vegalite_to_svg(spec).encode()), digest(vl_convert.vegalite_to_png(spec)), digest(pdf),
      digest(repr((kinds, text)).encode()))
PY
for _ in 1 2 3 4; do "$folder/venv/bin/python" "$folder/draw.py"; done | tee "$folder/seen"
[ "$(cut -d' ' -f1,2,4 "$folder/seen" | sort -u | wc -l)" = 1 ] || { echo "SVG, PNG or what the PDF holds differ"; exit 1; }
[ "$(cut -d' ' -f3 "$folder/seen" | sort -u | wc -l)" -gt 1 ] || { echo "the PDFs are equal now"; exit 1; }
echo "one SVG and one PNG, several PDFs with the same content"
