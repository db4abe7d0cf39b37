"""What the terminal says around a legal session, in the session's language."""

from collections.abc import Mapping
from typing import Any, Final

from playmolt_legal import texts
from playmolt_schemas.games.legal import Language, Session
from playmolt_schemas.skill import page_texts

from playmolt_cli.terminal.narration import Narration

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "case_type": "Type of case",
        "side": "Your side",
        "jurisdiction": "Jurisdiction",
        "title": "Title of the case",
        "exclusions": "What must not be talked about",
        "phase": "Phase",
        "session": "Session",
        "previous": "Facts carried over from",
        "next": "Goes on in",
        "facts": "Facts",
        "corrections": "Corrections",
        "risk": "Open questions accepted as a risk by",
        "steering": "Steering",
        "turns": "Turns",
        "round": "round {round}",
        "gate": "Gate",
        "questions": "Open questions",
        "judge_issues": "The judge's issues",
        "verifier_asks": "The verifier asks about",
        "conditions": "Conditions",
        "missing": "Missing evidence",
        "to_settle": "Facts to confirm or correct (playmolt legal fact ID)",
        "rewritten": "rewritten once after: {checks}",
        "standing": "still stands: {check}: {text}",
        "warning": "warning: {check}: {text}",
        "speaking": "{title} is speaking ({phase})",
        "not_yet": "(so far; the whole answer follows)",
        "sorting": "The facts are being sorted (FACTS_STIPULATE)",
        "failed": "{phase} failed ({code}, {attempts} requests): {detail}",
        "aborted": "The operator ended the session",
        "do_facts": "Next: playmolt legal facts {id}",
        "do_gate": "Next: playmolt legal gate {id}",
        "do_retry": "Next: playmolt legal retry {id}",
        "do_report": "Next: playmolt legal report {id} --out report.pdf",
        "do_wait": "The models are at work. Next: playmolt legal gate {id} (waits for the gate)",
        "do_linked": "Next: playmolt legal facts {id}",
        "overview": "Overview of the case",
        "acts": "What was done",
        "timeline": "Timeline",
        "when": "When",
        "what": "What happened",
        "is_agreed": "Agreed between the parties?",
        "evidence": "Evidence",
        "evidence_title": "Title",
        "evidence_description": "What it is and shows",
        "opposing_claims": "What the other side says (empty: nothing known)",
        "keep": "Facts were carried over. Use them as they are?",
        "end_empty": "an empty line ends it",
        "optional": "optional",
        "needed_with": "with {field} = {value}",
        "at_most": "at most {count}",
        "characters": "at most {count} characters",
        "pick": "a number picks from the list",
        "needed": "An answer is needed.",
        "not_offered": "Choose by number or word.",
        "leave_open": "empty: left open",
        "more_entries": "One after the other; an empty line ends them.",
    },
    "ko": {
        "case_type": "사건 유형",
        "side": "당신의 입장",
        "jurisdiction": "관할",
        "title": "사건명",
        "exclusions": "다루지 말아야 할 것",
        "phase": "단계",
        "session": "세션",
        "previous": "사실을 이어받은 세션",
        "next": "이어지는 세션",
        "facts": "사실관계",
        "corrections": "사실 정정",
        "risk": "불명확한 점을 리스크로 감수한 사람",
        "steering": "스티어링",
        "turns": "발언",
        "round": "{round}라운드",
        "gate": "게이트",
        "questions": "남은 질문",
        "judge_issues": "재판장이 정리한 쟁점",
        "verifier_asks": "검증관이 묻는 점",
        "conditions": "조건",
        "missing": "부족한 증거",
        "to_settle": "확인하거나 정정할 사실 (playmolt legal fact ID)",
        "rewritten": "한 번 고쳐 씀: {checks}",
        "standing": "해소되지 않음: {check}: {text}",
        "warning": "주의: {check}: {text}",
        "speaking": "{title} 발언 중 ({phase})",
        "not_yet": "(여기까지는 일부이며, 답변 전체가 이어집니다)",
        "sorting": "사실관계를 정리하는 중 (FACTS_STIPULATE)",
        "failed": "{phase} 실패 ({code}, 요청 {attempts}회): {detail}",
        "aborted": "운영자가 세션을 끝냈습니다",
        "do_facts": "다음: playmolt legal facts {id}",
        "do_gate": "다음: playmolt legal gate {id}",
        "do_retry": "다음: playmolt legal retry {id}",
        "do_report": "다음: playmolt legal report {id} --out report.pdf",
        "do_wait": "모델이 답하는 중입니다. 다음: playmolt legal gate {id} (게이트를 기다립니다)",
        "do_linked": "다음: playmolt legal facts {id}",
        "overview": "사건 개요",
        "acts": "행위",
        "timeline": "시간순 사실",
        "when": "언제",
        "what": "무슨 일이 있었는지",
        "is_agreed": "당사자 사이에 다툼이 없습니까?",
        "evidence": "증거",
        "evidence_title": "제목",
        "evidence_description": "무엇이고 무엇을 보여 주는지",
        "opposing_claims": "상대방의 주장 (비우면 모름)",
        "keep": "이어받은 사실이 있습니다. 그대로 쓸까요?",
        "end_empty": "빈 줄로 끝냅니다",
        "optional": "선택",
        "needed_with": "{field} = {value}일 때",
        "at_most": "최대 {count}개",
        "characters": "최대 {count}자",
        "pick": "번호로 고를 수 있습니다",
        "needed": "답이 필요합니다.",
        "not_offered": "번호나 낱말로 골라 주세요.",
        "leave_open": "비우면 남겨 둡니다",
        "more_entries": "하나씩 적고, 빈 줄로 끝냅니다.",
    },
    "zh": {
        "case_type": "案件类型",
        "side": "您的一方",
        "jurisdiction": "法域",
        "title": "案件名称",
        "exclusions": "不得谈及的内容",
        "phase": "阶段",
        "session": "会话",
        "previous": "沿用事实的会话",
        "next": "继续于",
        "facts": "事实",
        "corrections": "更正",
        "risk": "接受未决问题为风险的人",
        "steering": "指示",
        "turns": "发言",
        "round": "第{round}轮",
        "gate": "关口",
        "questions": "未解决的问题",
        "judge_issues": "审判长归纳的争点",
        "verifier_asks": "核查人要问的",
        "conditions": "条件",
        "missing": "所缺证据",
        "to_settle": "需要确认或更正的事实（playmolt legal fact ID）",
        "rewritten": "重写过一次：{checks}",
        "standing": "仍未解决：{check}：{text}",
        "warning": "注意：{check}：{text}",
        "speaking": "{title}正在发言（{phase}）",
        "not_yet": "（以上为部分内容，完整回答随后给出）",
        "sorting": "正在整理事实（FACTS_STIPULATE）",
        "failed": "{phase} 失败（{code}，请求 {attempts} 次）：{detail}",
        "aborted": "运营者结束了会话",
        "do_facts": "下一步：playmolt legal facts {id}",
        "do_gate": "下一步：playmolt legal gate {id}",
        "do_retry": "下一步：playmolt legal retry {id}",
        "do_report": "下一步：playmolt legal report {id} --out report.pdf",
        "do_wait": "模型正在作答。下一步：playmolt legal gate {id}（等待关口）",
        "do_linked": "下一步：playmolt legal facts {id}",
        "overview": "案情概要",
        "acts": "行为",
        "timeline": "时间线",
        "when": "何时",
        "what": "发生了什么",
        "is_agreed": "双方是否认可？",
        "evidence": "证据",
        "evidence_title": "标题",
        "evidence_description": "是什么，说明什么",
        "opposing_claims": "对方的主张（留空：不知道）",
        "keep": "有沿用的事实。照原样使用吗？",
        "end_empty": "空行结束",
        "optional": "可选",
        "needed_with": "当 {field} = {value} 时",
        "at_most": "至多 {count} 个",
        "characters": "至多 {count} 字",
        "pick": "可用数字选择",
        "needed": "需要回答。",
        "not_offered": "请用数字或词语选择。",
        "leave_open": "留空：不填",
        "more_entries": "逐项输入，空行结束。",
    },
}


class LegalTexts:
    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self.texts = texts.of(language)
        self._words = _WORDS[language]
        self._narration = Narration("legal", language)

    def say(self, key: str, **values: object) -> str:
        """A sentence of the terminal, filled in."""
        return self._words[key].format(**values)

    def told(self, message: Mapping[str, Any]) -> str:
        """A message of the session's stream, as its page tells it."""
        return self._narration.tell(message)

    def output_field(self, name: str) -> str:
        return page_texts(self.language).get(f"output.{name}", name)

    def value(self, value: str) -> str:
        """The words of a code in a role's answer; what is none stays as it is."""
        return self.texts.values.get(value, value)

    def code(self, value: str) -> str:
        """The words of a form's code; what is no code stays as it is."""
        words = self.texts
        codes = (words.goals, words.stances, words.constraints, words.levels)
        tables = (*codes, words.resolutions, words.styles, words.choices)
        return next((table[value] for table in tables if value in table), value)

    def next_step(self, session: Session) -> str:
        if session.next_session:
            return self.say("do_linked", id=session.next_session)
        if session.phase == "ABORTED":
            return self.say("aborted")
        if session.failed:
            return self.say("do_retry", id=session.id)
        if session.gate:
            return self.say("do_gate", id=session.id)
        steps = {"FACTS_INTAKE": "do_facts", "FINALIZE_DONE": "do_report"}
        return self.say(steps.get(session.phase, "do_wait"), id=session.id)
