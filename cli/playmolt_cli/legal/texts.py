"""Terminal texts of a legal session, in the session's language."""

from collections.abc import Mapping
from typing import Final

from playmolt_legal import texts
from playmolt_schemas.games.legal import Session
from playmolt_schemas.skill import page_texts
from playmolt_schemas.stored.legal import Language, RefusalReason

from playmolt_cli.terminal.narration import Narration

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "case_type": "Type of case",
        "side": "Your side",
        "jurisdiction": "Jurisdiction",
        "title": "Title of the case",
        "exclusions": "Excluded topics",
        "phase": "Phase",
        "session": "Session",
        "previous": "Facts carried over from",
        "next": "Continued in",
        "facts": "Facts",
        "corrections": "Corrections",
        "risk": "Open questions accepted as a risk by",
        "steering": "Steering",
        "turns": "Turns",
        "round": "round {round}",
        "gate": "Gate",
        "questions": "Open questions",
        "judge_issues": "Issues identified by the judge",
        "verifier_asks": "Points raised by the verifier",
        "conditions": "Conditions",
        "missing": "Missing evidence",
        "to_settle": "Facts to confirm or correct (playmolt legal fact ID)",
        "rewritten": "rewritten once because of: {checks}",
        "standing": "unresolved: {check}: {text}",
        "warning": "warning: {check}: {text}",
        "speaking": "{title} is speaking ({phase})",
        "not_yet": "(incomplete; the full answer follows)",
        "sorting": "Sorting the facts (FACTS_STIPULATE)",
        "failed": "{phase} failed ({code}, {attempts} requests): {detail}",
        "aborted": "The operator ended the session",
        "do_facts": "Next: playmolt legal facts {id}",
        "do_gate": "Next: playmolt legal gate {id}",
        "do_retry": "Next: playmolt legal retry {id}",
        "do_report": "Next: playmolt legal report {id} --out report.pdf",
        "do_wait": "The models are working. Next: playmolt legal gate {id} (waits for the next gate)",
        "do_linked": "Next: playmolt legal facts {id}",
        "overview": "Overview of the case",
        "acts": "What was done",
        "timeline": "Timeline",
        "when": "When",
        "what": "What happened",
        "is_agreed": "Agreed between the parties?",
        "evidence": "Evidence",
        "evidence_title": "Title",
        "evidence_description": "What it is and what it shows",
        "opposing_claims": "Claims of the other side (leave empty if unknown)",
        "keep": "Facts were carried over. Use them unchanged?",
        "end_empty": "finish with an empty line",
        "optional": "optional",
        "needed_with": "required if {field} = {value}",
        "at_most": "at most {count}",
        "characters": "at most {count} characters",
        "pick": "enter a number to pick from the list",
        "needed": "An answer is required.",
        "not_offered": "Enter one of the numbers or words.",
        "leave_open": "leave empty to skip",
        "more_entries": "Enter one at a time; finish with an empty line.",
        "pasted": "Pasted text",
        "attach": "Add this file?",
        "read_characters": "{count} characters",
        "read_pages": "{count} pages",
        "read_cut": "Models will be given the first {count} of {all} characters.",
        "read_more": "({count} more lines)",
    },
    "ko": {
        "case_type": "사건 종류",
        "side": "당신의 입장",
        "jurisdiction": "관할",
        "title": "사건명",
        "exclusions": "다루지 말아야 할 사항",
        "phase": "단계",
        "session": "세션",
        "previous": "사실을 넘겨준 세션",
        "next": "이어지는 세션",
        "facts": "사실관계",
        "corrections": "사실 정정",
        "risk": "불명확한 점을 리스크로 감수한 사람",
        "steering": "지시",
        "turns": "발언",
        "round": "{round}라운드",
        "gate": "게이트",
        "questions": "남은 질문",
        "judge_issues": "재판장이 정리한 쟁점",
        "verifier_asks": "검증관이 제기한 점",
        "conditions": "조건",
        "missing": "부족한 증거",
        "to_settle": "확인하거나 정정할 사실 (playmolt legal fact ID)",
        "rewritten": "다음 사유로 한 번 다시 작성함: {checks}",
        "standing": "미해결: {check}: {text}",
        "warning": "주의: {check}: {text}",
        "speaking": "{title} 발언 중 ({phase})",
        "not_yet": "(여기까지는 일부이며, 답변 전체가 이어집니다)",
        "sorting": "사실관계를 정리하는 중 (FACTS_STIPULATE)",
        "failed": "{phase} 실패 ({code}, 요청 {attempts}회): {detail}",
        "aborted": "운영자가 세션을 종료했습니다",
        "do_facts": "다음: playmolt legal facts {id}",
        "do_gate": "다음: playmolt legal gate {id}",
        "do_retry": "다음: playmolt legal retry {id}",
        "do_report": "다음: playmolt legal report {id} --out report.pdf",
        "do_wait": "모델이 작업 중입니다. 다음: playmolt legal gate {id} (다음 게이트까지 기다립니다)",
        "do_linked": "다음: playmolt legal facts {id}",
        "overview": "사건 개요",
        "acts": "행위",
        "timeline": "시간순 사실",
        "when": "언제",
        "what": "무슨 일이 있었는지",
        "is_agreed": "당사자 사이에 다툼이 없는 사실입니까?",
        "evidence": "증거",
        "evidence_title": "제목",
        "evidence_description": "증거의 내용과 입증 취지",
        "opposing_claims": "상대방의 주장 (모르면 비워 두세요)",
        "keep": "이어받은 사실이 있습니다. 그대로 사용할까요?",
        "end_empty": "빈 줄을 입력하면 끝납니다",
        "optional": "선택",
        "needed_with": "{field} = {value}일 때 필수",
        "at_most": "최대 {count}개",
        "characters": "최대 {count}자",
        "pick": "번호로 선택할 수 있습니다",
        "needed": "필수 항목입니다.",
        "not_offered": "번호나 단어로 선택해 주세요.",
        "leave_open": "비워 두면 건너뜁니다",
        "more_entries": "하나씩 입력하고, 빈 줄을 입력하면 끝납니다.",
        "pasted": "붙여 넣은 글",
        "attach": "이 파일을 추가할까요?",
        "read_characters": "{count}자",
        "read_pages": "{count}쪽",
        "read_cut": "전체 {all}자 중 앞 {count}자만 모델에 전달됩니다.",
        "read_more": "(이하 {count}줄)",
    },
    "zh": {
        "case_type": "案件类型",
        "side": "所在一方",
        "jurisdiction": "法域",
        "title": "案件名称",
        "exclusions": "不得谈及的内容",
        "phase": "阶段",
        "session": "会话",
        "previous": "沿用事实的会话",
        "next": "后续会话",
        "facts": "事实",
        "corrections": "更正",
        "risk": "接受未决问题所带风险的人",
        "steering": "指示",
        "turns": "发言",
        "round": "第{round}轮",
        "gate": "关口",
        "questions": "未决问题",
        "judge_issues": "审判长归纳的争点",
        "verifier_asks": "核查人提出的要点",
        "conditions": "条件",
        "missing": "所缺证据",
        "to_settle": "需要确认或更正的事实（playmolt legal fact ID）",
        "rewritten": "因以下问题重写过一次：{checks}",
        "standing": "未解决：{check}：{text}",
        "warning": "注意：{check}：{text}",
        "speaking": "{title}正在发言（{phase}）",
        "not_yet": "（以上为部分内容，完整回答随后给出）",
        "sorting": "正在整理事实（FACTS_STIPULATE）",
        "failed": "{phase} 失败（{code}，请求 {attempts} 次）：{detail}",
        "aborted": "运营者终止了会话",
        "do_facts": "下一步：playmolt legal facts {id}",
        "do_gate": "下一步：playmolt legal gate {id}",
        "do_retry": "下一步：playmolt legal retry {id}",
        "do_report": "下一步：playmolt legal report {id} --out report.pdf",
        "do_wait": "模型正在处理。下一步：playmolt legal gate {id}（等待下一个关口）",
        "do_linked": "下一步：playmolt legal facts {id}",
        "overview": "案情概要",
        "acts": "行为",
        "timeline": "时间线",
        "when": "时间",
        "what": "发生的事情",
        "is_agreed": "双方对此是否没有争议？",
        "evidence": "证据",
        "evidence_title": "标题",
        "evidence_description": "内容及证明目的",
        "opposing_claims": "对方的主张（不清楚请留空）",
        "keep": "已沿用先前的事实。是否原样使用？",
        "end_empty": "输入空行结束",
        "optional": "可选",
        "needed_with": "{field} = {value} 时必填",
        "at_most": "至多 {count} 个",
        "characters": "至多 {count} 字",
        "pick": "可输入编号选择",
        "needed": "此项必填。",
        "not_offered": "请输入编号或选项文字。",
        "leave_open": "留空则跳过",
        "more_entries": "逐项输入，输入空行结束。",
        "pasted": "粘贴的文字",
        "attach": "要添加这个文件吗？",
        "read_characters": "{count} 字",
        "read_pages": "{count} 页",
        "read_cut": "共 {all} 字，只会向模型提供前 {count} 字。",
        "read_more": "（其余 {count} 行）",
    },
}


class LegalTexts:
    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self.texts = texts.of(language)
        self._words = _WORDS[language]
        self._narration = Narration("legal", language)

    def say(self, key: str, **values: object) -> str:
        """A terminal text, formatted with these values."""
        return self._words[key].format(**values)

    def narrate(self, message: Mapping[str, object]) -> str:
        """The sentence for a message of the session's stream, as on its page."""
        return self._narration.sentence(message)

    def output_field(self, name: str) -> str:
        return page_texts(self.language).get(f"output.{name}", name)

    def refusal(self, reason: RefusalReason) -> str:
        return page_texts(self.language)[f"refusal.{reason}"]

    def value(self, value: str) -> str:
        """The label of a code in a role's output; other values stay unchanged."""
        return self.texts.values.get(value, value)

    def code(self, value: str) -> str:
        """The label of a code in a form; other values stay unchanged."""
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
