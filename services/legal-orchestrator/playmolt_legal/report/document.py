"""The report as sections of blocks: what every format renders, in one order."""

from collections.abc import Iterator, Sequence
from typing import Final, get_args

import msgspec
from playmolt_schemas.games.legal import Report, ReportSection

from playmolt_legal import texts
from playmolt_legal.report.blocks import Block, Heading, ReportLine, ReportTable
from playmolt_legal.report.sections import Writer

SECTIONS: Final[tuple[ReportSection, ...]] = get_args(ReportSection)
_STYLED: Final = ("risks", "strategy", "settlement")


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A titled part of the report; the title begins with its number."""

    name: str
    title: str
    blocks: tuple[Block, ...]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The whole report: title, `cover`, notice, then the sections."""

    language: str
    title: str
    cover: tuple[ReportLine, ...]
    notice: str
    ended_at: str
    sections: tuple[Section, ...]
    anchors: frozenset[str]


def document(report: Report, chosen: Sequence[str] = SECTIONS) -> Document:
    """Lay a report out. A section without content is left out, and the numbers stay without a gap."""
    words = texts.of(report.language)
    writer = Writer(report, words)
    written = [(name, blocks) for name in _names(report, chosen) if (blocks := tuple(writer.blocks(name)))]
    sections = tuple(
        Section(name=name, title=f"{number}. {words.report[name]}", blocks=blocks)
        for number, (name, blocks) in enumerate(written, 1)
    )
    return Document(
        language=report.language,
        title=f"{words.report['report']}{writer.colon}{report.case.title}",
        cover=tuple(_cover(report, words, writer.colon)),
        notice=report.disclaimer,
        ended_at=report.ended_at,
        sections=sections,
        anchors=frozenset(line.anchor for section in sections for line in lines(section.blocks) if line.anchor),
    )


def _names(report: Report, chosen: Sequence[str]) -> Iterator[str]:
    styled = iter(report.order)
    for name in SECTIONS:
        placed = next(styled) if name in _STYLED else name
        if placed in chosen:
            yield placed


def _cover(report: Report, words: texts.LegalTexts, colon: str) -> Iterator[ReportLine]:
    case, label = report.case, words.report
    yield ReportLine(text=f"{label['case']}{colon}{case.title}")
    yield ReportLine(text=f"{label['case_type']}{colon}{words.case_types[case.case_type]}")
    yield ReportLine(text=f"{label['jurisdiction']}{colon}{case.jurisdiction}")
    yield ReportLine(text=f"{label['parties']}{colon}{case.parties.claimant} / {case.parties.opposing}")
    yield ReportLine(text=f"{label['side']}{colon}{words.sides[case.case_type][report.side]}")
    yield ReportLine(text=f"{label['date']}{colon}{texts.date_text(report.ended_at, report.language)}")


def lines(blocks: Sequence[Block]) -> Iterator[ReportLine]:
    """Every line of some blocks, also those in tables."""
    for block in blocks:
        match block:
            case ReportLine():
                yield block
            case ReportTable():
                yield from (line for row in block.rows for cell in row for line in cell)
            case Heading():
                pass
