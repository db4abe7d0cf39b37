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


class ReplayFrame(msgspec.Struct, frozen=True, array_like=True):
    """A moment: its version, what happened, and its picture as SVG."""

    version: int
    description: str
    svg: str


def replay_policy() -> str:
    """A content security policy that allows only the script and style of a replay."""
    return f"default-src 'none'; script-src {_hash(_script())}; style-src {_hash(_looks())}; img-src 'self' data:"


def replay_html(title: str, frames: Sequence[ReplayFrame], language: PageLanguage) -> str:
    script, looks, words = _script(), _looks(), page_texts(language)
    data = msgspec.json.encode(
        {"frames": frames,
         "play": words["timeline.play"], "pause": words["timeline.pause"], "again": words["timeline.replay"]}
    ).decode().replace("<", "\\u003c")  # fmt: skip
    return (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)} · PlayMolt</title>'
        f'<style>{looks}</style></head><body><h1>{escape(title)}</h1><div id="stage"></div>'
        f'<input type="range" id="at" aria-label="{escape(words["timeline"])}">'
        f'<div><button type="button" id="play"></button> <output id="where"></output></div><p id="description"></p>'
        f'<script type="application/json" id="frames">{data}</script><script>{script}</script></body></html>'
    )


def _script() -> str:
    return FILES.joinpath("replay.js").read_text(encoding="utf-8")


def _looks() -> str:
    return _STYLE + style("light")


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
