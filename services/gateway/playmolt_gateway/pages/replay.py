"""A finished game as one self-contained HTML file with a picture and description per version."""

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from typing import Final

import msgspec
from playmolt_schemas.skill import PageLanguage, page_texts

from playmolt_gateway.pages.assets import FILES
from playmolt_gateway.pictures.png import style
from playmolt_gateway.pictures.scene import Picture

FRAMES_AT_MOST: Final = 400
"""Longer games are sampled evenly."""
_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:0 auto;max-width:76rem;padding:1rem}"
    "body{background:#fbfaf8;color:#1d1b19}"
    "svg{width:100%;height:auto}input{width:100%}button{font:inherit;padding:.3rem .9rem}p{min-height:3em}"
)


def moments(version: int) -> Sequence[int]:
    """The versions to draw, including the first and the last."""
    if version <= FRAMES_AT_MOST:
        return range(1, version + 1)
    return sorted({1 + round(place * (version - 1) / (FRAMES_AT_MOST - 1)) for place in range(FRAMES_AT_MOST)})


def replay_html(title: str, frames: Sequence[tuple[int, Picture]], language: PageLanguage) -> tuple[str, str]:
    """The file, and a policy that allows only its own script and style."""
    script = FILES.joinpath("replay.js").read_text(encoding="utf-8")
    words = page_texts(language)
    data = msgspec.json.encode(
        {"frames": [[version, picture.description, picture.svg()] for version, picture in frames],
         "play": words["timeline.play"], "pause": words["timeline.pause"], "again": words["timeline.replay"]}
    ).decode().replace("<", "\\u003c")  # fmt: skip
    looks = _STYLE + style("light")
    html = (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)} · PlayMolt</title>'
        f'<style>{looks}</style></head><body><h1>{escape(title)}</h1><div id="stage"></div>'
        f'<input type="range" id="at" aria-label="{escape(words["timeline"])}">'
        f'<div><button type="button" id="play"></button> <output id="where"></output></div><p id="description"></p>'
        f'<script type="application/json" id="frames">{data}</script><script>{script}</script></body></html>'
    )
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(looks)}; img-src 'self' data:"
    return html, policy


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
