"""The report as sections and lines: what every format renders, in one order."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import msgspec
from playmolt_schemas.games.legal import Fact, GateEntry, Report, ReportedHit, Statement

from playmolt_legal.guardrails.guardrails import HIT_CHARS
from playmolt_legal.guardrails.marking import Marker
from playmolt_legal.guardrails.sentences import sentences
from playmolt_legal.roles import texts


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence; `refs` are the ids it rests on, `anchor` the id it defines, `head` whether it titles what follows."""

    text: str
    refs: tuple[str, ...] = ()
    anchor: str = ""
    head: bool = False


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a table; `ref` is the id it names."""

    text: str
    ref: str = ""


Rows = tuple[tuple[Cell, ...], ...]


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A titled part of the report; a table, if there is one, has its heading in the first row."""

    name: str
    title: str
    lines: tuple[Line, ...] = ()
    table: Rows = ()


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The whole report; `case` stands under its title, then come the sections."""

    language: str
    title: str
    case: tuple[Line, ...]
    sections: tuple[Section, ...]
    anchors: frozenset[str]


def document(report: Report) -> Document:
    """Lay a report out: the section its style puts first comes first."""
    words = texts.of(report.language)
    writer = _Writer(report, words)
    names = (*report.order, *(name for name in _WRITERS if name not in report.order))
    sections = tuple(
        Section(name=name, title=words.report[name], lines=writer.lines(name), table=writer.table(name))
        for name in names
    )
    defined = (line.anchor for section in sections for line in section.lines)
    return Document(
        language=report.language,
        title=f"{words.report['report']}: {report.case.title}",
        case=tuple(writer.case()),
        sections=sections,
        anchors=frozenset(filter(None, defined)),
    )


class _Writer:
    def __init__(self, report: Report, words: texts.Texts) -> None:
        self.report, self.words, self.label = report, words, words.report
        self.marker = Marker(report.unverified, self.label["unverified"])
        self.marked = self.marker.marked

    def lines(self, name: str) -> tuple[Line, ...]:
        written = tuple(_WRITERS[name](self))
        if name == "evidence_matrix" and self.report.evidence_matrix:
            return ()
        return written or (Line(text=self.label["nothing"]),)

    def table(self, name: str) -> Rows:
        if name != "evidence_matrix" or not self.report.evidence_matrix:
            return ()
        head = tuple(Cell(text=self.label[column]) for column in ("fact", "evidence", "relied_on_by"))
        rows = [head]
        for row in self.report.evidence_matrix:
            relying = ", ".join(self.words.roles[role] for role in row.relied_on_by) or "-"
            fact = Cell(text=row.fact, ref=row.fact) if row.fact else Cell(text="-")
            rows.append((fact, Cell(text=row.evidence, ref=row.evidence), Cell(text=relying)))
        return tuple(rows)

    def case(self) -> Iterator[Line]:
        case = self.report.case
        yield Line(text=f"{self.label['case']}: {case.title}")
        yield Line(text=f"{self.label['case_type']}: {self.words.case_types[case.case_type]}")
        yield Line(text=f"{self.label['jurisdiction']}: {case.jurisdiction}")
        yield Line(text=f"{self.label['parties']}: {case.parties.claimant} / {case.parties.opposing}")

    def said(self, statements: Iterable[Statement], *fields: str) -> Iterator[Line]:
        """Write statements that stood in these fields of the last round's answers."""
        doubts = {hit.text for hit in self.report.guardrail_hits if self._stands(hit) and hit.field in fields}
        for statement in statements:
            refs = tuple(statement.basis) if isinstance(statement.basis, list) else (statement.basis,)
            doubt = f" ({self.label['unresolved']})" if doubts & _hit_texts(statement.text, refs) else ""
            yield Line(text=self.marked(statement.text) + doubt, refs=refs)

    def _stands(self, hit: ReportedHit) -> bool:
        # Every round ends with a gate, and only the last round's statements are in the report.
        last = sum(entry.gate != "facts" for entry in self.report.gate_history)
        return hit.unresolved and hit.phase.endswith(f"_R{last}")

    def plain(self, items: Iterable[str]) -> Iterator[Line]:
        return (Line(text=self.marked(text)) for text in items)

    def head(self, name: str) -> Line:
        return Line(text=self.label[name], head=True)

    def facts(self) -> Iterator[Line]:
        facts = self.report.facts
        yield self.head("confirmed")
        for fact in facts.confirmed:
            yield self._fact(fact)
        yield self.head("disputed")
        yield from [self._fact(fact) for fact in facts.disputed] or [Line(text=self.label["nothing"])]
        yield self.head("unknown")
        unknown = [Line(text=self.marked(item.text), anchor=item.id) for item in facts.unknown]
        yield from unknown or [Line(text=self.label["nothing"])]
        if facts.past:
            yield self.head("past")
            yield from (self._fact(fact) for fact in facts.past)
        if self.report.stale:
            yield self.head("stale")
            yield from (Line(text=turn.phase, refs=turn.facts) for turn in self.report.stale)
        if self.report.refused:
            yield self.head("refused")
            yield from (Line(text=item.text) for item in self.report.refused)
        yield from self._told()

    def _fact(self, fact: Fact) -> Line:
        wording = f" ({self.marked(fact.wording)})" if fact.wording else ""
        standing = f" · {self.words.states[fact.state]}, {self.words.sources[fact.source]}"
        replaced = f" → {fact.replaced_by}" if fact.replaced_by else ""
        text = f"{self.marked(fact.text)}{wording}{standing}{replaced}"
        return Line(text=text, anchor=fact.id, refs=(*fact.evidence, *fact.timeline))

    def _told(self) -> Iterator[Line]:
        """What the person told, where there is any."""
        report, agreed = self.report, f" ({self.label['agreed']})"
        evidence = [Line(text=f"{item.title}: {item.description}", anchor=item.id) for item in report.evidence]
        timeline = [
            Line(text=f"{item.when}: {item.what}{agreed if item.agreed else ''}", anchor=item.id)
            for item in report.timeline
        ]
        corrections = [Line(text=f"{item.text} · {item.by} · {item.at}") for item in report.corrections]
        for title, lines in (
            (self.label["evidence"], evidence),
            (self.words.fields["timeline"], timeline),
            (self.words.fields["fact_corrections"], corrections),
        ):
            if lines:
                yield Line(text=title, head=True)
                yield from lines

    def best_cases(self) -> Iterator[Line]:
        yield Line(text=self.report.case.parties.claimant, head=True)
        yield from self.said(self.report.best_cases.claimant, "Claims")
        yield Line(text=self.report.case.parties.opposing, head=True)
        yield from self.said(self.report.best_cases.opposing, "CounterArguments")

    def decision_range(self) -> Iterator[Line]:
        yield from self.plain([self.report.decision_range] if self.report.decision_range else [])
        estimate = self.report.likelihood
        if estimate is None:
            yield Line(text=self.words.no_likelihood)
            return
        side = f"{self.label['likelihood']} ({self.words.sides[estimate.side]})"
        text = f"{side}: {estimate.low}–{estimate.high}%. {self.marked(estimate.text)}"
        yield Line(text=text, refs=tuple(estimate.basis))

    def gate_history(self) -> Iterator[Line]:
        for entry in self.report.gate_history:
            yield Line(text=f"{entry.gate} · {entry.by} · {entry.at}", head=True)
            yield from self._gate(entry)

    def _gate(self, entry: GateEntry) -> Iterator[Line]:
        if entry.banner:
            yield Line(text=entry.banner)
        for item in entry.checklist:
            yield Line(text=self.marked(f"{self.label['checklist']} {item.id}: {item.text}"))
        for item in entry.missing_evidence:
            answer = entry.form.missing_evidence_answers.get(item.id, "")
            yield Line(text=self.marked(f"{self.label['missing_evidence']} {item.id}: {item.text} → {answer}"))
        for name, value in msgspec.to_builtins(entry.form).items():
            if name not in ("gate", "missing_evidence_answers"):
                yield Line(text=f"{self.words.fields[name]}: {self.marked(self._value(value))}")

    def _value(self, value: object) -> str:
        if isinstance(value, str):
            return self._code(value)
        if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
            return "; ".join(self._code(item) for item in value)
        return msgspec.json.encode(value).decode()

    def _code(self, value: str) -> str:
        words = self.words
        tables = (words.goals, words.stances, words.constraints, words.levels, words.resolutions, words.styles)
        return next((table[value] for table in (*tables, words.choices) if value in table), value)

    def guardrail_hits(self) -> Iterator[Line]:
        return (Line(text=self._hit(hit)) for hit in self.report.guardrail_hits)

    def _hit(self, hit: ReportedHit) -> str:
        state = self.label["unresolved" if hit.unresolved else "resolved"]
        return f"{hit.phase} · {hit.field} · {self.words.checks[hit.check]} · {state}: {self.marked(hit.text)}"

    def no_go(self) -> Iterator[Line]:
        no_go = self.report.no_go
        if no_go is None:
            return
        yield self.head("reasons")
        yield from self.plain(no_go.reasons)
        yield self.head("alternatives")
        yield from self.plain(no_go.alternatives)

    def citations(self) -> Iterator[Line]:
        return (Line(text=self.marker.cited(citation)) for citation in self.report.citations)

    def disclaimer(self) -> Iterator[Line]:
        yield Line(text=self.report.disclaimer)


def _hit_texts(text: str, refs: tuple[str, ...]) -> set[str]:
    """What a hit about a statement may quote: it whole, one of its sentences, a plan with its evidence."""
    plans = (f"{ref}: {text}" for ref in refs)
    return {quoted[:HIT_CHARS] for quoted in (text, *sentences(text), *plans)}


_WRITERS: Final[dict[str, Callable[[_Writer], Iterable[Line]]]] = {
    "risks": lambda writer: writer.said(writer.report.risks, "ProceduralRisks", "WeakPoints"),
    "strategy": lambda writer: writer.said(writer.report.strategy, "LegalElements", "EvidencePlan", "DisproofPlan"),
    "settlement": lambda writer: writer.said(writer.report.settlement, "SettlementOptions"),
    "facts": _Writer.facts,
    "issues": lambda writer: writer.plain(writer.report.issues),
    "best_cases": _Writer.best_cases,
    "findings": lambda writer: writer.said(writer.report.findings, "Findings"),
    "decision_range": _Writer.decision_range,
    "evidence_matrix": lambda _: (),
    "no_go": _Writer.no_go,
    "next_steps": lambda writer: writer.plain(writer.report.next_steps),
    "citations": _Writer.citations,
    "guardrail_hits": _Writer.guardrail_hits,
    "gate_history": _Writer.gate_history,
    "disclaimer": _Writer.disclaimer,
}
