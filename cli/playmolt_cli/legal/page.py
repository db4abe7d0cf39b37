"""Prints a legal session in the terminal."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from playmolt_legal.outputs import in_order
from playmolt_legal.phases import FINAL
from playmolt_legal.report.blocks import Marker
from playmolt_legal.texts import about_upload
from playmolt_schemas.games.legal import Gate, Session, SessionTurn
from playmolt_schemas.stored.legal import Evidence, Fact, Facts, Hit, RefusedItem, SteeringSettings
from rich.console import Console
from rich.text import Text

from playmolt_cli.legal.texts import LegalTexts
from playmolt_cli.terminal.narration import printable
from playmolt_cli.terminal.terminal_text import TerminalText


class LegalPage(TerminalText):
    """Writes a session in its language."""

    def __init__(self, out: Console, words: LegalTexts) -> None:
        super().__init__(out)
        self.words = words
        self._speaks = False
        """Whether the last output was part of a streamed answer."""

    def session(self, session: Session) -> None:
        words = self.words
        self.line(session.title, style="bold")
        side = words.texts.sides[session.case_type][session.side]
        case = (words.texts.case_types[session.case_type], session.jurisdiction, side, session.model)
        self.line(" · ".join(case))
        self.whole(f"{words.say('session')}: {session.id}")
        self.line(f"{words.say('phase')}: {session.phase} ({session.version})")
        for key, linked in (("previous", session.previous_session), ("next", session.next_session)):
            if linked:
                self.whole(f"{words.say(key)}: {linked}")
        if session.exclusions:
            self.line(f"{words.say('exclusions')}: {'; '.join(session.exclusions)}")
        if session.facts != Facts():
            self.facts(session.facts, self.marker(session))
        if session.steering_history:
            self.steering(session.steering)
        if session.turns:
            self.head(words.say("turns"))
            for turn in session.turns:
                self.turn(turn)
        if session.gate:
            self.gate(session, session.gate)
        self.outlook(session)

    def outlook(self, session: Session) -> None:
        """Write a failed turn, if any, and the next step."""
        self.line()
        if failed := session.failed:
            values = {"phase": failed.phase, "code": failed.code, "attempts": failed.attempts, "detail": failed.detail}
            self.line(self.words.say("failed", **values), style="bold red")
        self.whole(self.words.next_step(session))

    def marker(self, session: Session) -> Marker:
        """Marks statements of the newest round that no input supports."""
        newest = max((turn.round for turn in session.turns), default=0)
        named = [text for turn in session.turns if turn.round == newest for text in turn.unverified or ()]
        return Marker(named, self.words.texts.report["unverified"])

    def facts(self, facts: Facts, marker: Marker) -> None:
        """Write the facts, grouped by state."""
        words = self.words
        label = words.texts.report
        self.head(words.say("facts"))
        marked = marker.marked
        confirmed = [(fact.id, self._fact(fact, marker)) for fact in facts.confirmed]
        self._items(label["confirmed"], confirmed)
        self._items(label["disputed"], [(fact.id, self._fact(fact, marker)) for fact in facts.disputed])
        self._items(label["past"], [(fact.id, self._fact(fact, marker)) for fact in facts.past])
        self._items(label["refused"], [("✗", self._refused(item)) for item in facts.refused])
        self._items(label["unknown"], [(item.id, marked(item.text)) for item in facts.questions])
        evidence = [(item.id, self._evidence(item)) for item in facts.evidence]
        self._items(label["evidence"], evidence)
        agreed = f" ({label['agreed']})"
        timeline = [(item.id, f"{item.when}: {item.what}{agreed if item.agreed else ''}") for item in facts.timeline]
        self._items(words.say("timeline"), timeline)
        self._items(words.say("corrections"), [("•", item.text) for item in facts.corrections])
        if facts.risk_accepted:
            self.line(f"{words.say('risk')} {facts.risk_accepted.by}, {facts.risk_accepted.at}", 1)

    def _evidence(self, item: Evidence) -> str:
        """A piece of evidence; of an upload also what was left out."""
        text = ": ".join(filter(None, (item.title, item.description)))
        return f"{text}{about_upload(self.words.texts, item)}"

    def _fact(self, fact: Fact, marker: Marker) -> str:
        """A fact: the user's text, a model's wording, state, source and supporting ids."""
        texts = self.words.texts
        wording = f" ({marker.marked(fact.wording)})" if fact.wording else ""
        standing = f" [{texts.states[fact.state]}, {texts.sources[fact.source]}]"
        return f"{marker.marked(fact.text)}{wording}{standing}{_ids((*fact.evidence, *fact.timeline))}"

    def _refused(self, item: RefusedItem) -> str:
        """An unsupported item, and why it was refused."""
        particular = f": {item.particular}" if item.particular else ""
        return f"{item.text} ({self.words.refusal(item.reason)}{particular})"

    def steering(self, steering: SteeringSettings) -> None:
        """Write the steering values that are set."""
        words = self.words
        self.head(words.say("steering"))
        for name, value in msgspec.structs.asdict(steering).items():
            if value not in (None, "", ()):
                field = words.texts.fields["instructions" if name == "note" else name]
                self.line(f"{field}: {self._value(value)}", 1)

    def _value(self, value: object) -> str:
        if isinstance(value, tuple):
            return "; ".join(self.words.code(item) for item in value)
        if isinstance(value, bool):
            return "✓" if value else "✗"
        return self.words.code(str(value))

    def turn(self, turn: SessionTurn) -> None:
        """Write a recorded turn with its guardrail results."""
        words = self.words
        self.line()
        title = f"{turn.title} · {words.say('round', round=turn.round)} ({turn.phase})"
        self.line(title, 1, mark=f"{turn.n}.", style="bold")
        effective = {"GateStatus": turn.gate_status} if isinstance(turn.gate_status, str) else {}
        marker = Marker(turn.unverified or (), words.texts.report["unverified"])
        cited = {citation.text: marker.cited(citation) for citation in turn.citations or ()}
        self.output({**turn.output, **effective}, marked=lambda text: cited.get(text) or marker.marked(text))
        if turn.draft is not None:
            checks = dict.fromkeys(words.texts.checks[hit.check] for hit in turn.hits)
            self.line(words.say("rewritten", checks=", ".join(checks)), 2, mark="!", style="yellow")
        if turn.stale:
            self.line(f"{words.texts.report['stale']}: {', '.join(turn.stale)}", 2, mark="!", style="yellow")
        self._hits("standing", turn.unresolved, marker)
        self._hits("warning", turn.warnings, marker)

    def _hits(self, key: str, hits: Iterable[Hit], marker: Marker) -> None:
        for hit in hits:
            text = self.words.say(key, check=self.words.texts.checks[hit.check], text=marker.marked(hit.text))
            self.line(text, 2, mark="!", style="yellow")

    def output(self, output: Mapping[str, object], indent: int = 2, *, marked: Callable[[str], str] = str) -> None:
        """Write the output of a role or of the fact sorting; `marked` marks unsupported text."""
        for name, value in in_order(output).items():
            label = self.words.output_field(name)
            if isinstance(value, Mapping):
                text = f"{value['low']}–{value['high']}%: {value['text']}{_ids(value['basis'])}"
                self.line(f"{label}: {marked(text)}", indent)
            elif not isinstance(value, list):
                self.line(f"{label}: {marked(self.words.value(str(value)))}", indent)
            elif value:
                self.line(label, indent, style="underline")
                for item in value:
                    mark, text = _entry(item)
                    self.line(marked(text), indent + 1, mark=mark)

    def gate(self, session: Session, gate: Gate) -> None:
        """Write the context of an open gate, without the questions of its form."""
        words = self.words
        self.head(f"{words.say('gate')}: {gate.name}")
        if gate.banner:
            self.line(gate.banner, 1, style="bold yellow")
        marked = self.marker(session).marked
        self._items(words.say("missing"), [(item.id, marked(item.text)) for item in gate.missing_evidence])
        self._items(words.say("conditions"), [(item.id, marked(item.text)) for item in gate.checklist])
        standing = {fact.id: fact for fact in (*session.facts.confirmed, *session.facts.disputed)}
        unsettled = [standing[each] for each in gate.facts_to_settle if each in standing]
        self._items(words.say("to_settle"), [(fact.id, marked(fact.text)) for fact in unsettled])
        self._items(words.texts.report["refused"], [("✗", self._refused(item)) for item in gate.refused])
        if gate.name == "facts":
            self._items(words.say("questions"), [(item.id, marked(item.text)) for item in session.facts.questions])
        self._items(words.say("judge_issues"), [("•", marked(text)) for text in gate.issues])
        self._items(words.say("verifier_asks"), [("•", marked(text)) for text in gate.focus])

    def fields(
        self, schema: Mapping[str, Any], path: str = "", indent: int = 1, *, marked: Callable[[str], str] = str
    ) -> None:
        """Write the fields of a gate's form by their `--set` names."""
        for name, rule in schema["properties"].items():
            inner = rule.get("properties")
            if name == "gate" or inner == {}:
                continue
            when = self._when(schema, name)
            title = f": {marked(rule['title'])}" if "title" in rule else ""
            self.line(f"{_field(path + name, rule)}{f' ({when})' if when else ''}{title}", indent)
            if inner:
                self.fields(rule, f"{path}{name}.", indent + 1, marked=marked)

    def _when(self, schema: Mapping[str, Any], name: str) -> str:
        """The condition under which a field is required; empty if always."""
        if name in schema.get("required", ()):
            return ""
        for rule in schema.get("allOf", ()):
            if name in rule["then"].get("required", ()):
                (field, wanted), *_ = rule["if"]["properties"].items()
                return self.words.say("needed_with", field=field, value=_json(wanted["const"]))
        return self.words.say("optional")

    def _items(self, title: str, items: Sequence[tuple[str, str]]) -> None:
        if items:
            self.line(title, 1, style="underline")
        for mark, text in items:
            self.line(text, 2, mark=mark)

    def _spoken(self, message: Mapping[str, Any]) -> None:
        """Write a part of a streamed answer; a restarted answer first marks the earlier text as incomplete."""
        if message["n"] == 1:
            self._take_back()
        self._speaks = True
        text = "\n".join(map(printable, message["delta"].split("\n")))
        self._out.print(Text(text), end="", style="dim", soft_wrap=True)

    def _take_back(self) -> None:
        if self._speaks:
            self._speaks = False
            self._out.print()
            self.line(self.words.say("not_yet"), style="dim")

    def narrate(self, session: Session, message: Mapping[str, Any]) -> None:
        """Write a message of the session's stream; progress messages are skipped."""
        words, phase = self.words, str(message.get("phase", ""))
        if message["type"] == "speaking":
            self._spoken(message)
            return
        self._take_back()
        match message["type"]:
            case "turn_started":
                self.line(speaking(words, session, phase), style="dim")
            case "turn_done":
                marker = Marker(message.get("unverified", ()), words.texts.report["unverified"])
                self.output(message["output"], 1, marked=marker.marked)
                self.line()
            case "guardrail_hit":
                self.line(words.narrate(message), style="yellow")
            case "turn_failed":
                self.line(
                    words.say("failed", **message) if "code" in message else words.narrate(message), style="bold red"
                )
                self.whole(words.say("do_retry", id=session.id))
            case "gate_opened":
                self.line(words.narrate(message), style="bold")
                self.whole(words.say("do_gate", id=session.id))
            case "session_done":
                self.line(words.narrate(message), style="bold")


def speaking(words: LegalTexts, session: Session, phase: str) -> str:
    """The line that announces a turn."""
    if phase == FINAL:
        return words.say("speaking", title=words.texts.final_title, phase=phase)
    role = phase.partition("_")[0].lower()
    titles = {str(role): title for role, title in words.texts.titles[session.case_type].items()}
    if role not in titles:
        return words.say("sorting")
    return words.say("speaking", title=titles[role], phase=phase)


def _field(path: str, rule: Mapping[str, Any]) -> str:
    """A field with its values: `goal = a | b`, `facts.answers.Q1 | …`, `facts.timeline = [{when, what}]`."""
    if "oneOf" in rule:
        return f"{path} = {' | '.join(option['const'] for option in rule['oneOf'])}"
    codes = [option["const"] for option in rule.get("items", {}).get("anyOf", ()) if "const" in option]
    if codes:
        return f"{path} = {' | '.join(codes)} | …"
    entries = rule.get("items", {}).get("properties", {})
    if "enum" in entries.get("id", {}):
        return " | ".join(f"{path}.{identifier}" for identifier in entries["id"]["enum"])
    return f"{path} = [{{{', '.join(entries)}}}]" if entries else path


def _json(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _ids(ids: Iterable[str]) -> str:
    joined = ", ".join(ids)
    return f" [{joined}]" if joined else ""


def _entry(item: object) -> tuple[str, str]:
    """Mark and text of an entry: a plain text, a statement, a planned proof or a numbered fact."""
    if not isinstance(item, Mapping):
        return "•", str(item)
    if "purpose" in item:
        return str(item["evidence"]), str(item["purpose"])
    basis = item.get("basis", item.get("evidence", []))
    ids = [*basis, *item.get("timeline", [])] if isinstance(basis, list) else [str(basis)]
    issue = f" ‹{item['issue']}›" if item.get("issue") else ""
    answers = f" ↩ {', '.join(item['answers'])}" if item.get("answers") else ""
    return str(item.get("id", "•")), f"{item['text']}{_ids(ids)}{answers}{issue}"
