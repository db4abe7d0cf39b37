"""A transcript as HTML and as Markdown. Every text is escaped: none becomes markup."""

import re
from collections.abc import Iterator
from html import escape
from typing import Final

from msgspec import UNSET

from playmolt_jury.transcript.transcript import (
    Transcript,
    TranscriptEntry,
    TranscriptTexts,
    TranscriptVote,
    transcript_texts,
)

_STYLE: Final = (
    "body{font:16px/1.6 system-ui,'Noto Sans CJK SC',sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}"
    "h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2rem;border-bottom:1px solid #ccc}"
    "table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:.25rem .6rem;text-align:left}"
    "code{overflow-wrap:anywhere}blockquote{margin:.6rem 0;padding-left:.8rem;border-left:3px solid #bbb}"
)
_SPECIAL: Final = re.compile(r"([\\`*_\[\]<>|~&#])")
_LEADING: Final = re.compile(r"^([-+=]|\d+(?=[.)]))")


def render_html(text: Transcript) -> str:
    """A page by itself."""
    title = escape(text.title)
    return (
        f'<!doctype html>\n<html lang="{text.language}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1"><title>{title}</title>'
        f"<style>{_STYLE}</style></head><body><main><h1>{title}</h1>{body_html(text)}</main></body></html>\n"
    )


def body_html(text: Transcript, *, check: str = "") -> str:
    """The page below the title; `check` is added to the section on checking the votes."""
    say = transcript_texts(text.language)
    parts = "".join(
        f"<section><h2>{escape(part.title)}</h2>{''.join(map(_entry, part.entries))}</section>" for part in text.parts
    )
    ending = f"<h3>{escape(text.ending.who)}</h3>{_paragraphs(text.ending.text)}" if text.ending else ""
    return (
        f'<section id="verdict"><p class="lead"><strong>{escape(text.result)}</strong></p>{ending}{_votes(text, say)}'
        f"</section>{_chain(text, say, check)}{parts}"
    )


def _votes(text: Transcript, say: TranscriptTexts) -> str:
    if not text.votes:
        return ""
    head = "".join(
        f'<th scope="col">{escape(say(name))}</th>' for name in ("juror", "vote", "stance", "transaction", "address")
    )
    rows = "".join(_vote(vote, text) for vote in text.votes)
    return f'<div class="wide" tabindex="0"><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>'


def _vote(vote: TranscriptVote, text: Transcript) -> str:
    return (
        f"<tr><th scope='row'>{escape(vote.name)}</th><td>{escape(vote.vote)}</td><td>{vote.stance}</td>"
        f"<td>{_linked(vote.tx_hash, text, 'tx')}</td><td>{_linked(vote.address, text, 'address')}</td></tr>"
    )


def _linked(value: str, text: Transcript, kind: str) -> str:
    """A value from the chain, linked to its page if a block explorer is set."""
    shown, page = f"<code>{escape(value)}</code>", _explored(value, text, kind)
    return f'<a href="{escape(page)}" rel="noreferrer">{shown}</a>' if page else shown


def _explored(value: str, text: Transcript, kind: str) -> str:
    explorer = text.verdict.explorer if text.verdict else UNSET
    return f"{explorer}/{kind}/{value}" if explorer and kind and value else ""


def _chain(text: Transcript, say: TranscriptTexts, check: str) -> str:
    if text.verdict is None:
        return ""
    facts = "".join(
        f"<dt>{escape(name)}</dt><dd>{_linked(value, text, kind)}</dd>" for name, value, kind in _facts(text, say)
    )
    return f'<section id="check"><h2>{escape(say("check"))}</h2><dl class="facts">{facts}</dl>{check}</section>'


def _facts(text: Transcript, say: TranscriptTexts) -> Iterator[tuple[str, str, str]]:
    """Names and values, with the kind of their page in an explorer, "" for none."""
    if verdict := text.verdict:
        if verdict.contract is None:
            yield say("chain"), say("no_chain"), ""
        else:
            yield say("contract"), verdict.contract, "address"
            yield say("deployed"), text.deployed, "tx"
            yield say("chain"), str(verdict.chain_id), ""
            yield say("log_hash"), verdict.log_hash or "", ""
        yield say("session"), text.session, ""


def _entry(entry: TranscriptEntry) -> str:
    if not entry.who:
        return _paragraphs(entry.text)
    return f"<blockquote><p><strong>{escape(entry.who)}</strong></p>{_paragraphs(entry.text)}</blockquote>"


def _paragraphs(text: str) -> str:
    return "".join(f"<p>{escape(part)}</p>" for part in text.split("\n\n"))


def render_md(text: Transcript) -> str:
    say = transcript_texts(text.language)
    lines = [f"# {_md(text.title)}", "", f"**{_md(text.result)}**"]
    if text.ending:
        lines += ["", f"## {_md(say('ending'))}: {_md(text.ending.who)}", *_md_paragraphs(text.ending.text)]
    if text.votes:
        names = ("juror", "vote", "stance", "transaction", "address")
        lines += ["", f"| {' | '.join(_md(say(name)) for name in names)} |", "|---" * len(names) + "|"]
        lines += [
            f"| {_md(vote.name)} | {_md(vote.vote)} | {vote.stance} | {_md_linked(vote.tx_hash, text, 'tx')}"
            f" | {_md_linked(vote.address, text, 'address')} |"
            for vote in text.votes
        ]
    if text.verdict:
        lines += ["", f"## {_md(say('check'))}", ""]
        lines += [f"- {_md(name)}: {_md_linked(value, text, kind)}" for name, value, kind in _facts(text, say)]
    for part in text.parts:
        lines += ["", f"## {_md(part.title)}"]
        for entry in part.entries:
            who = [f"**{_md(entry.who)}**"] if entry.who else []
            paragraphs = [*who, *(line for line in _md_paragraphs(entry.text) if line)]
            lines += [line for text in paragraphs for line in ("", f"> {text}" if who else text)]
    return "\n".join(lines) + "\n"


def _md_linked(value: str, text: Transcript, kind: str) -> str:
    page = _explored(value, text, kind)
    return f"[`{value}`](<{page}>)" if page else f"`{value}`"


def _md_paragraphs(text: str) -> Iterator[str]:
    for part in text.split("\n\n"):
        yield ""
        yield _md(part)


def _md(text: str) -> str:
    """One line of escaped Markdown."""
    line = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return _LEADING.sub(lambda found: f"\u200b{found[0]}" if found[0].isdigit() else f"\\{found[0]}", line)
