#!/usr/bin/env bash
# Pictures of a board or a chart from SVG, installed 2026-11: CairoSVG 2.9.1, PyMuPDF 2.0, resvg-py 0.5.0 (PyPI), sharp 0.35.5 (npm).
# Guess: colours of CSS that every browser shows, and parts that are hidden, look alike in all four; what a library does not know it
#        reports or leaves out.
# Seen:  resvg-py and sharp show what is meant. With CairoSVG and PyMuPDF a seat of "hsl(240,100%,50%)" is black, and the last two
#        digits of "#0000ff80" do not count. With PyMuPDF colours from <style> and `currentColor` are black too, and what has
#        visibility="hidden" or display="none", or lies outside its `clipPath`, is drawn. Nothing is raised.
# Why it matters: boards give seats colours by hue, and all become black; a hand of cards that is hidden in the page can be
#        seen in the picture made of the same file. Write colours as "#0000ff", leave hidden parts out, or use resvg.
set -euo pipefail
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check CairoSVG==2.9.1 PyMuPDF==2.0 resvg-py==0.5.0 pillow==12.0.0
cd "$folder"
npm install --silent --no-audit --no-fund sharp@0.35.5
cat > png.cjs <<'JS'
const sharp = require("sharp");
Promise.all(JSON.parse(process.argv[2]).map((svg) => sharp(Buffer.from(svg)).png().toBuffer()))
  .then((pictures) => console.log(JSON.stringify(pictures.map((picture) => picture.toString("base64")))));
JS
venv/bin/python -W ignore - <<'PY'
import base64
import io
import json
import subprocess

import cairosvg
import pymupdf
import resvg_py
from PIL import Image

WHITE, BLACK, RED, BLUE, LIGHT = (255, 255, 255), (0, 0, 0), (255, 0, 0), (0, 0, 255), (127, 127, 255)
SQUARE = 'x="10" y="10" width="20" height="20"'
PARTS = {
    "plain": (f'<rect {SQUARE} fill="blue"/>', BLUE, {}),
    "hue": (f'<rect {SQUARE} fill="hsl(240,100%,50%)"/>', BLUE, {"CairoSVG": BLACK, "PyMuPDF": BLACK}),
    "eight digits": (f'<rect {SQUARE} fill="#0000ff80"/>', LIGHT, {"CairoSVG": BLUE, "PyMuPDF": BLUE}),
    "class": (f'<style>.seat {{ fill: blue }}</style><rect class="seat" {SQUARE}/>', BLUE, {"PyMuPDF": BLACK}),
    "current color": (f'<g color="blue"><rect {SQUARE} fill="currentColor"/></g>', BLUE, {"PyMuPDF": BLACK}),
    "hidden": (f'<rect {SQUARE} fill="red" visibility="hidden"/>', WHITE, {"PyMuPDF": RED}),
    "not displayed": (f'<rect {SQUARE} fill="red" display="none"/>', WHITE, {"PyMuPDF": RED}),
    "clipped": (f'<clipPath id="c"><rect width="5" height="5"/></clipPath><rect {SQUARE} fill="red" clip-path="url(#c)"/>', WHITE, {"PyMuPDF": RED}),
}
HEAD = '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="40"><rect width="40" height="40" fill="white"/>'
pictures = [f"{HEAD}{part}</svg>" for part, *_ in PARTS.values()]
sharp = map(base64.b64decode, json.loads(subprocess.check_output(["node", "png.cjs", json.dumps(pictures)])))
for (name, (_, meant, wrong)), svg, other in zip(PARTS.items(), pictures, sharp, strict=True):
    made = {
        "CairoSVG": cairosvg.svg2png(svg.encode()),
        "PyMuPDF": pymupdf.open(stream=svg.encode(), filetype="svg")[0].get_pixmap().tobytes("png"),
        "resvg-py": bytes(resvg_py.svg_to_bytes(svg_string=svg)),
        "sharp": other,
    }
    found = {library: Image.open(io.BytesIO(png)).convert("RGB").getpixel((20, 20)) for library, png in made.items()}
    other = {library: color for library, color in found.items() if color != meant}
    print(f"{name}: meant {meant}, wrong {other}")
    assert other == wrong, "it changed"
PY
