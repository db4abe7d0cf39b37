"""The legal part of the demo: a criminal and a civil session, run to their reports over the public API."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from playmolt.sessions import AsyncSessions
from playmolt_schemas.games.legal import OpenSessionRequest, Session
from playmolt_schemas.routes import legal as routes
from playmolt_schemas.routes.legal import ReportFormat

from playmolt_cli.legal.texts import LegalTexts
from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.narration import printable

FORMATS: Final[tuple[ReportFormat, ...]] = ("md", "html", "docx", "pdf")
_HEADLINE_CHARS: Final = 110


class DemoCase(msgspec.Struct, frozen=True, kw_only=True):
    """The inputs of a demo session: opening, facts, and the form of each gate."""

    opening: OpenSessionRequest
    facts: Mapping[str, Any]
    forms: Mapping[str, Mapping[str, Any]]


class DemoSession(msgspec.Struct, frozen=True, kw_only=True):
    """A finished session of the demo with its messages and report files."""

    session: Session
    messages: list[dict[str, Any]]
    files: list[Path]

    def faults(self) -> Iterator[str]:
        """Unexpected results, one line each."""
        session = self.session
        if session.phase != "FINALIZE_DONE" or session.next_session:
            yield f"{session.id} is in phase {session.phase}, without a report"
        if [message["version"] for message in self.messages] != list(range(1, session.version + 1)):
            yield f"the stream of {session.id} has a missing or repeated event"
        if [file for file in self.files if not file.stat().st_size] or len(self.files) != len(FORMATS):
            yield f"the report of {session.id} is missing in some format"


async def argue(gateway: str, case: DemoCase, folder: Path, say: Callable[[str], None]) -> DemoSession:
    """Run a session to its report and print its headlines; the report files go into the folder.

    Raises Failure if a turn fails, and the client's errors.
    """
    async with AsyncSessions(gateway) as client:
        await client.visit()
        session = await client.call(routes.OPEN_SESSION, body=case.opening)
        words = LegalTexts(case.opening.language)
        say(f"{words.texts.case_types[session.case_type]}: {session.title}")
        await client.call(routes.POST_FACTS, session.id, body=case.facts)
        messages = []
        async for message in client.follow(session.id):
            messages.append(message)
            if line := headline(words, session, message):
                say(printable(line))
            if message["type"] == "gate_opened":
                session = await client.call(routes.READ_SESSION, session.id)
                form = _form(case, session)
                say(printable(answered(words, form)))
                await client.call(routes.POST_STEERING, session.id, body=form)
            if message["type"] == "turn_failed":
                failed = (await client.call(routes.READ_SESSION, session.id)).failed
                raise Failure(
                    f"{session.id}: {message['phase']} failed: {failed.detail if failed else 'reason unknown'}"
                )
        ended = await client.call(routes.READ_SESSION, session.id)
        reports = {kind: await client.call(routes.READ_REPORT, session.id, query={"format": kind}) for kind in FORMATS}
    return DemoSession(session=ended, messages=messages, files=_kept(ended, reports, folder))


def _form(case: DemoCase, session: Session) -> Mapping[str, object]:
    if session.gate is None:
        raise Failure(f"{session.id} announced a gate that is not open")
    name = session.gate.name
    form = {"gate": name, **case.forms[name]}
    return form | {"focus_issues": session.gate.issues[:1]} if name == "round1" else form


def _kept(session: Session, reports: Mapping[ReportFormat, bytes], folder: Path) -> list[Path]:
    folder.mkdir(exist_ok=True)
    files = [folder / f"{session.case_type}-{session.language}.{kind}" for kind in reports]
    for file, content in zip(files, reports.values(), strict=True):
        file.write_bytes(content)
    return files


def headline(words: LegalTexts, session: Session, message: Mapping[str, Any]) -> str:
    """The headline for a message of a session's stream; empty if it has none."""
    match message["type"]:
        case "turn_done":
            return _spoken(words, session, message["phase"], message["output"])
        case "guardrail_hit" | "session_done":
            return words.narrate(message)
        case "gate_opened":
            return f"— {words.narrate(message)} —"
    return ""


def answered(words: LegalTexts, form: Mapping[str, object]) -> str:
    fields = words.texts.fields
    return "→ " + ", ".join(
        f"{fields[name]}: {_value_text(words, value)}" for name, value in form.items() if name != "gate"
    )


def _value_text(words: LegalTexts, value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(words.texts.fields[name] for name in value)
    if isinstance(value, bool):
        return "✓" if value else "✗"
    return "; ".join(map(words.code, value)) if isinstance(value, list | tuple) else words.code(value)


def _spoken(words: LegalTexts, session: Session, phase: str, output: Mapping[str, Any]) -> str:
    role = phase.partition("_")[0].lower()
    titles = {str(role): title for role, title in words.texts.titles[session.case_type].items()}
    if role not in titles:
        return ", ".join(f"{words.output_field(name)} {len(items)}" for name, items in output.items())
    if "GateStatus" in output:
        return f"{titles[role]}: {output['GateStatus']}"
    texts = (item["text"] for items in output.values() if isinstance(items, list) for item in items if "text" in item)
    text = next(texts, "")
    short = f"{text[:_HEADLINE_CHARS]}…" if len(text) > _HEADLINE_CHARS else text
    return f"{titles[role]}: “{short}”"


CASES: Final = (
    DemoCase(
        opening=OpenSessionRequest(
            case_type="criminal",
            jurisdiction="KR",
            title="법인카드 사용과 업무상 횡령",
            language="ko",
            exclusions=("외부 자문",),
            model="scripted-rash",
        ),
        facts={
            "overview": "영업팀 직원이 법인카드를 개인 용도로 썼다는 의심을 받고 있다.",
            "acts": "주말에 음식점과 주유소에서 법인카드가 사용되었다.",
            "timeline": [
                {"when": "지난 분기 주말", "what": "법인카드가 음식점에서 사용되었다", "agreed": True},
                {"when": "그다음 주", "what": "경비 담당자가 소명을 요청했다", "agreed": False},
            ],
            "evidence": [
                {"title": "카드 명세서", "description": "주말 사용 내역이 적혀 있다"},
                {"title": "거래처 일정표", "description": "주말 만남이 예정되어 있었다"},
            ],
            "opposing_claims": "거래처를 만나는 데 썼으므로 업무용이었다.",
        },
        forms={
            "round1": {"goal": "risk_minimization", "stance": "neutral"},
            "round2": {
                "proof_priority": "주말 사용의 업무 관련성",
                "evidence_level": "moderate",
                "obtainable_evidence": ["거래처 확인서", "차량 운행 기록"],
                "constraints": ["decide_within_2_weeks", "no_outside_counsel"],
            },
            "end": {"resolution": "final_report", "report_style": "risk"},
        },
    ),
    DemoCase(
        opening=OpenSessionRequest(
            case_type="civil",
            jurisdiction="England",
            title="A late delivery of shop fittings",
            language="en",
        ),
        facts={
            "overview": "A supplier delivered shop fittings after the agreed week and asks for the full price.",
            "acts": "The buyer kept the fittings and withheld part of the price.",
            "timeline": [],
            "evidence": [],
            "opposing_claims": "",
        },
        forms={
            "facts": {
                "choice": "add_facts",
                "facts": {
                    "text": "The supplier says that the buyer changed the order twice.",
                    "timeline": [
                        {"when": "in spring", "what": "the order was signed", "agreed": True},
                        {"when": "in early summer", "what": "the fittings arrived", "agreed": True},
                    ],
                    "evidence": [
                        {"title": "the order", "description": "names the week of delivery"},
                        {"title": "the delivery note", "description": "signed by the buyer without a remark"},
                    ],
                },
            },
            "round1": {"goal": "early_settlement", "stance": "flexible"},
            "round2": {
                "proof_priority": "who asked for the changes of the order",
                "evidence_level": "moderate",
                "obtainable_evidence": ["the messages about the changes"],
                "settlement_interest": True,
                "concession_range": "a tenth of the price",
                "constraints": ["budget_cap"],
            },
            "end": {"resolution": "final_report", "report_style": "settlement"},
        },
    ),
)
"""The sessions of the demo. In the criminal one a guardrail makes the claimant rewrite; the civil one has too few
facts, so that the facts gate opens."""
