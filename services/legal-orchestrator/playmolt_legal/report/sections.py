"""Writes the sections of the report."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import msgspec
from playmolt_schemas.games.legal import ChronologyEntry, GateEntry, Report, ReportedHit, Statement, VerifiedRound
from playmolt_schemas.stored.legal import Evidence, Fact, FactRecord, RefusedItem

from playmolt_legal import phases, texts
from playmolt_legal.guardrails.guardrails import HIT_CHARS
from playmolt_legal.guardrails.sentences import sentences
from playmolt_legal.report.blocks import Block, Cell, Heading, Marker, ReportLine, ReportTable
from playmolt_legal.roles.points import PointIds

CHOICES: Final = (
    "choice", "goal", "stance", "constraints", "evidence_level", "settlement_interest", "resolution", "report_style",
)  # fmt: skip
"""The fields of gate forms that are chosen from a list."""


class Writer:
    """Writes a report's sections in its language."""

    def __init__(self, report: Report, words: texts.LegalTexts) -> None:
        self.report, self.words, self.label = report, words, words.report
        self.marker = Marker(report.unverified, self.label["unverified"])
        self.marked = self.marker.marked
        self.colon = "：" if report.language == "zh" else ": "
        self.titles = {item.id: item.title for item in report.evidence}
        self.points = PointIds(report)
        self.last_round = max((each.round for each in report.verifier), default=0)
        self.codes: dict[str, str] = {
            code: text
            for table in (
                words.goals, words.stances, words.constraints, words.levels, words.resolutions, words.styles,
                words.choices,
            )
            for code, text in table.items()
        }  # fmt: skip

    def blocks(self, name: str) -> Iterable[Block]:
        return _WRITERS[name](self)

    def answer(self) -> Iterator[Block]:
        page = self.report.page_one
        yield from self._paragraph("question", page.question)
        yield from self._paragraph("outcome", page.outcome)
        yield Heading(self.label["likelihood"])
        yield self._likelihood()
        facts = {fact.id: fact for fact in (*self.report.facts.confirmed, *self.report.facts.disputed)}
        if page.decisive:
            yield Heading(self.label["decisive"])
            yield from (ReportLine(text=self.marked(facts[each].text), refs=(each,)) for each in page.decisive)
        yield from self._listed("gaps", page.gaps)
        yield from self._listed("next_steps", page.next_steps)
        yield from self._final()

    def _final(self) -> Iterator[Block]:
        """What the last turn said to the instructions that ended the session."""
        if self.report.final_failed:
            yield Heading(self.label["final"])
            yield ReportLine(text=self.label["final_failed"], listed=False)
        if final := self.report.final:
            yield Heading(self.label["final"])
            yield from self._said(final.answer, "Answer", phase=phases.FINAL)
            yield from self._listed("not_followed", final.not_followed)

    def _likelihood(self) -> ReportLine:
        estimate = self.report.likelihood
        if estimate is None:
            return ReportLine(text=self.words.no_likelihood, listed=False)
        said = f"{estimate.low}–{estimate.high}%{self._stop}{self.marked(estimate.text)}"
        text = f"{self.words.sides[self.report.case.case_type][estimate.side]}{self.colon}{said}"
        return ReportLine(text=text, refs=tuple(estimate.basis), listed=False)

    @property
    def _stop(self) -> str:
        return "。" if self.report.language == "zh" else ". "

    def facts(self) -> Iterator[Block]:
        facts = self.report.facts
        for name, some in (("confirmed", facts.confirmed), ("disputed", facts.disputed), ("past", facts.past)):
            if some:
                yield Heading(self.label[name])
                yield self._table(
                    ("id", "fact", "state", "source"), (self._fact(fact) for fact in some), (8, 52, 18, 22)
                )
        if facts.unknown:
            yield Heading(self.label["unknown"])
            yield from (ReportLine(text=self.marked(item.text), anchor=item.id) for item in facts.unknown)
        if facts.history:
            yield Heading(self.label["history"])
            yield from (self._change(record) for record in facts.history)
        if self.report.evidence:
            yield Heading(self.label["evidence"])
            yield from map(self._evidence, self.report.evidence)
        if self.report.corrections:
            yield Heading(self.label["corrections"])
            for item in self.report.corrections:
                when = texts.date_text(item.at, self.report.language)
                yield ReportLine(text=f"{item.text} · {self.label['you']}, {when}", anchor=item.id)

    def _evidence(self, item: Evidence) -> ReportLine:
        text = self.colon.join(filter(None, (item.title, item.description)))
        return ReportLine(text=f"{text}{texts.about_upload(self.words, item)}", anchor=item.id)

    def _fact(self, fact: Fact) -> tuple[Cell, ...]:
        wording = f" ({self.marked(fact.wording)})" if fact.wording else ""
        replaced = (fact.replaced_by,) if fact.replaced_by else ()
        unlooked = f" ({self.label['unlooked']})" if fact.replaces and fact.evidence else ""
        return (
            (ReportLine(text="", anchor=fact.id),),
            (ReportLine(text=f"{self.marked(fact.text)}{wording}"),),
            (ReportLine(text=self.words.states[fact.state] + (" →" if replaced else ""), refs=replaced),),
            (ReportLine(text=self.words.sources[fact.source] + unlooked, refs=(*fact.evidence, *fact.timeline)),),
        )

    def _change(self, record: FactRecord) -> ReportLine:
        when = texts.date_text(record.at, self.report.language)
        said = f"{self.colon}{record.old} → {record.new}" if record.new else ""
        reason = f" ({record.reason})" if record.reason else ""
        refs = (record.id, record.new_id) if record.new_id else (record.id,)
        return ReportLine(text=self.marked(f"{when} · {self.words.changes[record.action]}{said}{reason}"), refs=refs)

    def issues(self) -> Iterator[Block]:
        parties = self.report.case.parties
        heading = ((ReportLine(text=parties.claimant),), (ReportLine(text=parties.opposing),))
        for argument in self.report.arguments:
            yield Heading(self.marked(argument.issue))
            sides = (self._said(argument.claimant, "Claims"), self._said(argument.opposing, "CounterArguments"))
            yield ReportTable((heading, sides), (50, 50))

    def _numbered(self, field: str, statement: Statement) -> str:
        """The text behind the id of its point, and before the ids of the points it answers."""
        point = self.points.newest(field, statement.text)
        answered = self._answered(statement.answers or ())
        return f"{f'{point} ' if point else ''}{self.marked(statement.text)}{answered}"

    def _answered(self, points: Iterable[str]) -> str:
        named = ", ".join(point for point in points if point in self.points.known)
        return f" ({self.label['answers'].format(points=named)})" if named else ""

    def burden(self) -> Iterator[Block]:
        burden = self.report.burden
        yield from self._paragraph("standard", burden.standard)
        if burden.text:
            yield Heading(self.label["burden_said"])
            yield ReportLine(text=self.marked(burden.text), refs=burden.basis, listed=False)

    def findings(self) -> Iterator[Block]:
        yield from self._said(self.report.findings, "Findings")
        yield from self._paragraph("outcome", self.report.decision_range)
        yield Heading(self.label["likelihood"])
        yield self._likelihood()

    def matrix(self) -> Iterator[Block]:
        facts = {fact.id: fact.text for fact in self.report.facts.confirmed}
        rows = [
            (
                (
                    ReportLine(text=self.marked(facts[row.fact]), refs=(row.fact,))
                    if row.fact
                    else ReportLine(text="–"),
                ),
                (ReportLine(text=self.titles.get(row.evidence, ""), refs=(row.evidence,)),),
                (ReportLine(text=", ".join(self.words.roles[role] for role in row.relied_on_by) or "–"),),
            )
            for row in self.report.evidence_matrix
            if row.fact or row.relied_on_by or row.evidence.startswith("E")
        ]
        if rows:
            yield self._table(("fact", "evidence", "relied_on_by"), rows, (46, 30, 24))

    def marks(self) -> Iterator[Block]:
        for each in self.report.verifier:
            status = self.words.values.get(each.status, each.status)
            yield Heading(self.label["status"].format(round=each.round, status=status))
            yield from self._round(each)
        if final_turn := [hit for hit in self.report.guardrail_hits if hit.phase == phases.FINAL]:
            yield Heading(self.words.final_title)
            yield from self._hits(final_turn)
        if no_go := self.report.no_go:
            yield from self._listed("reasons", no_go.reasons)
            yield from self._listed("alternatives", no_go.alternatives)

    def _round(self, each: VerifiedRound) -> Iterator[ReportLine]:
        for name, said in (("unsupported", each.unsupported), ("missing_evidence", each.missing)):
            yield from (ReportLine(text=f"{self.label[name]}{self.colon}{self.marked(text)}") for text in said)
        yield from (
            ReportLine(text=f"{self.label['unanswered']} {point.id}{self.colon}{self.marked(point.text)}")
            for point in each.unanswered
        )
        for turn in each.stale:
            yield ReportLine(text=f"{self.label['stale']}{self.colon}{self._turn(turn.phase)}", refs=turn.facts)
        hits = [hit for hit in self.report.guardrail_hits if hit.phase.endswith(f"_R{each.round}")]
        yield from self._hits(hits)

    def _hits(self, hits: Iterable[ReportedHit]) -> Iterator[ReportLine]:
        """A line each for what was said, with every check that hit it."""
        checks: dict[tuple[str, str, bool, str], list[str]] = {}
        for hit in hits:
            said = (hit.phase, hit.field, hit.unresolved, hit.text)
            checks.setdefault(said, []).append(self.words.checks[hit.check])
        for (phase, field, unresolved, text), found in checks.items():
            state = self.label["unresolved" if unresolved else "resolved"]
            place = f"{self._turn(phase)} · {self.words.outputs[field]} · {', '.join(found)} · {state}"
            yield ReportLine(text=f"{place}{self.colon}{self.marked(text)}")

    def _turn(self, phase: str) -> str:
        here = phases.turn(phase)
        if here is None:
            return self.words.final_title
        title = self.words.titles[self.report.case.case_type][here.role]
        return self.label["turn"].format(title=title, round=here.round)

    def chronology(self) -> Iterator[Block]:
        entries = self.report.chronology
        if dated := [item for item in entries if item.date]:
            yield self._happenings(dated)
        if undated := [item for item in entries if not item.date]:
            yield Heading(self.label["undated"])
            yield self._happenings(undated)

    def _happenings(self, entries: Iterable[ChronologyEntry]) -> ReportTable:
        rows = (
            ((ReportLine(text="", anchor=item.id),), (self._when(item),), (self._happened(item),)) for item in entries
        )
        return self._table(("id", "when", "what"), rows, (10, 25, 65))

    def _when(self, item: ChronologyEntry) -> ReportLine:
        """As the person wrote it; with the date if part of it was inferred."""
        if item.inferred_from is None:
            return ReportLine(text=item.when)
        day = texts.day_text(item.date, self.report.language)
        return ReportLine(text=self.label["inferred"].format(when=item.when, date=day), refs=(item.inferred_from,))

    def _happened(self, item: ChronologyEntry) -> ReportLine:
        """The latest state of an entry's fact; an entry that was once agreed may no longer be."""
        if not any(entry.id == item.id and entry.agreed for entry in self.report.timeline):
            return ReportLine(text=item.what)
        facts = self.report.facts
        fallen = [fact for fact in (*facts.disputed, *facts.past) if item.id in fact.timeline]
        if not fallen:
            return ReportLine(text=f"{item.what} ({self.label['agreed']})")
        fact = fallen[-1]
        return ReportLine(text=f"{item.what} ({self.words.states[fact.state]})", refs=(fact.replaced_by or fact.id,))

    def steering(self) -> Iterator[Block]:
        for entry in self.report.gate_history:
            when = texts.date_text(entry.at, self.report.language)
            yield Heading(f"{self.words.gate_names[entry.gate]} · {self.label['you']}, {when}")
            yield from self._gate(entry)

    def _gate(self, entry: GateEntry) -> Iterator[ReportLine]:
        if entry.banner:
            yield ReportLine(text=entry.banner)
        # Without their ids: `C1` is also a correction's.
        for item in entry.checklist:
            yield ReportLine(text=f"{self.label['checklist']}{self.colon}{self.marked(item.text)}")
        for item in entry.missing_evidence:
            answer = self._value(entry.form.missing_evidence_answers.get(item.id, ""))
            yield ReportLine(
                text=f"{self.label['missing_evidence']}{self.colon}{self.marked(f'{item.text} → {answer}')}"
            )
        for name, value in msgspec.to_builtins(entry.form).items():
            if name not in ("gate", "missing_evidence_answers") and value not in (None, "", (), {}):
                yield ReportLine(text=f"{self.words.fields[name]}{self.colon}{self.marked(self._value(value))}")

    def _value(self, value: object) -> str:
        match value:
            case bool():
                return self.label["yes" if value else "no"]
            case str():
                return self.codes.get(value, value)
            case list() | tuple():
                return texts.listed(self.report.language, [self._value(each) for each in value])
            case dict():
                return " · ".join(self._value(each) for each in value.values() if each is not False)
        return str(value)

    def citations(self) -> Iterator[Block]:
        for citation in self.report.citations:
            title = self.titles.get(citation.text)
            yield (
                ReportLine(text=title, refs=(citation.text,)) if title else ReportLine(text=self.marker.cited(citation))
            )

    def appendix(self) -> Iterator[Block]:
        for turn in self.report.appendix:
            yield Heading(self._turn(turn.phase))
            yield from self._spoken(turn.output, turn.phase)
            if turn.draft is not None:
                yield Heading(f"{self._turn(turn.phase)}{self.colon}{self.label['draft']}")
                yield from self._spoken(turn.draft)
        if self.report.refused:
            yield Heading(self.label["refused"])
            yield from (ReportLine(text=self._refused(item)) for item in self.report.refused)

    def _refused(self, item: RefusedItem) -> str:
        """The item, what it quoted, and why it was refused."""
        quote = f" “{item.quote}”" if item.quote and item.quote != item.text else ""
        particular = f"{self.colon}{item.particular}" if item.particular else ""
        return f"{item.text}{quote} ({self.words.refusals[item.reason]}{particular})"

    def _spoken(self, output: Mapping[str, Any], phase: str = "") -> Iterator[ReportLine]:
        """What a turn said; its points are where their ids lead to, but for a draft's, which has no phase."""
        for field, value in output.items():
            for place, item in enumerate(value if isinstance(value, list) else [value], 1):
                anchor = self.points.of(phase, field, place)
                yield msgspec.structs.replace(self._item(self.words.outputs[field], item), anchor=anchor)

    def _item(self, label: str, item: object) -> ReportLine:
        label = f"{label}{self.colon}"
        if not isinstance(item, dict):
            return ReportLine(text=f"{label}{self.marked(self.words.values.get(str(item), str(item)))}")
        if "low" in item:
            text = f"{item['low']}–{item['high']}%{self._stop}{item['text']}"
            return ReportLine(text=f"{label}{self.marked(text)}", refs=tuple(item["basis"]))
        if "evidence" in item:
            return ReportLine(text=f"{label}{self.marked(item['purpose'])}", refs=self._refs([item["evidence"]]))
        answered = self._answered(item.get("answers", ()))
        return ReportLine(text=f"{label}{self.marked(item['text'])}{answered}", refs=self._refs(item["basis"]))

    def _said(self, statements: Iterable[Statement], *fields: str, phase: str = "") -> tuple[ReportLine, ...]:
        """Write statements that stood in these fields of a phase's answer, or of the last round's."""
        spoken = phase or f"_R{self.last_round}"
        doubts = {
            hit.text: self.words.checks[hit.check]
            for hit in self.report.guardrail_hits
            if hit.unresolved and hit.phase.endswith(spoken) and hit.field in fields
        }
        written = []
        for statement in statements:
            refs = tuple(statement.basis) if isinstance(statement.basis, list) else (statement.basis,)
            found = dict.fromkeys(doubts[text] for text in _hit_texts(statement.text, refs) if text in doubts)
            doubt = f" ({self.label['unresolved']}{self.colon}{', '.join(found)})" if found else ""
            text = self._numbered(fields[0], statement) + doubt
            written.append(ReportLine(text=text, refs=self._refs(statement.basis)))
        return tuple(written)

    def _refs(self, basis: list[str] | str) -> tuple[str, ...]:
        named = [basis] if isinstance(basis, str) else basis or ["Unknown"]
        return tuple(self.words.values.get(each, each) for each in named)

    def _paragraph(self, name: str, text: str) -> Iterator[Block]:
        if text:
            yield Heading(self.label[name])
            yield ReportLine(text=self.marked(text), listed=False)

    def _listed(self, name: str, items: Iterable[str]) -> Iterator[Block]:
        written = [ReportLine(text=self.marked(text)) for text in items]
        if written:
            yield Heading(self.label[name])
            yield from written

    def _table(self, columns: Iterable[str], rows: Iterable[tuple[Cell, ...]], widths: tuple[int, ...]) -> ReportTable:
        heading = tuple((ReportLine(text=self.label[column]),) for column in columns)
        return ReportTable((heading, *rows), widths)

    def risks(self) -> Iterable[Block]:
        return self._said(self.report.risks, "ProceduralRisks", "WeakPoints")

    def strategy(self) -> Iterable[Block]:
        return self._said(self.report.strategy, "LegalElements", "EvidencePlan", "DisproofPlan")

    def settlement(self) -> Iterable[Block]:
        return self._said(self.report.settlement, "SettlementOptions")


def _hit_texts(text: str, refs: tuple[str, ...]) -> list[str]:
    """What a hit about a statement may quote: it whole, one of its sentences, a plan with its evidence."""
    plans = (f"{ref}: {text}" for ref in refs)
    return [quoted[:HIT_CHARS] for quoted in (text, *sentences(text), *plans)]


_WRITERS: Final[Mapping[str, Callable[[Writer], Iterable[Block]]]] = {
    "answer": Writer.answer,
    "facts": Writer.facts,
    "issues": Writer.issues,
    "burden": Writer.burden,
    "findings": Writer.findings,
    "risks": Writer.risks,
    "strategy": Writer.strategy,
    "settlement": Writer.settlement,
    "matrix": Writer.matrix,
    "marks": Writer.marks,
    "chronology": Writer.chronology,
    "steering": Writer.steering,
    "citations": Writer.citations,
    "appendix": Writer.appendix,
}
