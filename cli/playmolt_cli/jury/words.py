"""What the terminal says around a jury session, in the session's language."""

from collections.abc import Mapping
from typing import Final

from playmolt_schemas.games.jury import Band, Language, VerdictName
from playmolt_schemas.page_texts import page_texts

_WORDS: Final[Mapping[Language, Mapping[str, str]]] = {
    "en": {
        "session": "Session {id}. Leave with q or Ctrl-C; `playmolt jury play --session {id}` goes on with it.",
        "go_on": "Enter goes on",
        "choose": "A number",
        "not_offered": "That is not offered. Give one of the numbers, or q to leave.",
        "back": "Back",
        "leave": "Leave (the session stays as it is)",
        "investigation": "The investigation",
        "persuasion": "The jurors will hear you",
        "deliberation": "Deliberation",
        "vote": "The vote",
        "do_dossier": "Read the dossier",
        "do_evidence": "Look at the evidence ({open} of {all} open)",
        "do_witness": "Speak to {name}",
        "broken": "has told everything",
        "do_persuade": "Go to the jurors",
        "do_investigate": "Back to the investigation",
        "do_deliberate": "Let them deliberate (there is no way back)",
        "do_juror": "{name} · {band} · rounds left: {rounds}",
        "evidence": "Evidence",
        "locked": "locked",
        "which_item": "Which item (Enter goes back)",
        "show": "Show an item",
        "talk_over": "There is nothing more to say now.",
        "pressure": "pressure {pressure}",
        "unlocked": "Unlocked: {items}",
        "cracked": "{name} breaks.",
        "say": "Say something",
        "present": "Present an item",
        "your_words": "Your words",
        "you": "You",
        "you_show": "You put {item} before {name}.",
        "reply": "{name} · {band} · rounds left: {rounds}",
        "weakness": "That struck home.",
        "do_round": "Next round ({round} of {rounds})",
        "do_note": "Slip somebody a secret note (left: {notes})",
        "note_text": "The note, at most {chars} characters",
        "noted": "The note is on its way. Left: {notes}",
        "round": "Round {round}: {leader} leads; {responders} answer",
        "moved": "{name}: {before} → {band}",
        "stays": "{name}: {band}",
        "do_vote": "Call the vote",
        "chain_changed": "The chain began anew and no longer has this case. The same votes can be cast on it again.",
        "do_retry": "Cast the votes again",
        "voting": "The jurors vote. Each signs with a key of its own …",
        "still": "Still at work …",
        "tally": "Verdict: {verdict}, {guilty} to {not_guilty}",
        "voted": "{name}: {vote} (stance {stance})",
        "missed": "cast no vote in time",
        "contract": "Contract {contract} on chain {chain}; log {hash}",
        "check": "Check it: playmolt verify-verdict {id}",
        "unavailable": "No answer, and nothing is used up: {detail}",
        "found": "{open} of {all} items lay open to you in the end. The story has other endings.",
        "aborted": "The operator ended this session.",
    },
    "zh": {
        "session": "场次 {id}。输入 q 或按 Ctrl-C 离开；`playmolt jury play --session {id}` 可继续。",
        "go_on": "按回车继续",
        "choose": "请输入数字",
        "not_offered": "没有这一项。请输入列出的数字，或输入 q 离开。",
        "back": "返回",
        "leave": "离开（进度会保留）",
        "investigation": "调查",
        "persuasion": "陪审员愿意听你说",
        "deliberation": "评议",
        "vote": "表决",
        "do_dossier": "阅读卷宗",
        "do_evidence": "查看证据（已公开 {open}/{all}）",
        "do_witness": "与{name}谈话",
        "broken": "已全部说出",
        "do_persuade": "去见陪审员",
        "do_investigate": "回到调查",
        "do_deliberate": "开始评议（不能再返回）",
        "do_juror": "{name} · {band} · 剩余 {rounds} 轮",
        "evidence": "证据",
        "locked": "未解锁",
        "which_item": "哪一件（直接回车返回）",
        "show": "出示一件证据",
        "talk_over": "现在没有更多可说的了。",
        "pressure": "压力 {pressure}",
        "unlocked": "已解锁：{items}",
        "cracked": "{name}的防线崩溃了。",
        "say": "说一番话",
        "present": "出示一件证据",
        "your_words": "你要说的话",
        "you": "你",
        "you_show": "你向{name}出示了{item}。",
        "reply": "{name} · {band} · 剩余 {rounds} 轮",
        "weakness": "这句话正中要害。",
        "do_round": "下一轮（第 {round} 轮，共 {rounds} 轮）",
        "do_note": "递一张密信（剩余 {notes} 张）",
        "note_text": "密信内容，最多 {chars} 个字",
        "noted": "密信已递出。剩余 {notes} 张",
        "round": "第 {round} 轮：{leader}主讲，{responders}回应",
        "moved": "{name}：{before} → {band}",
        "stays": "{name}：{band}",
        "do_vote": "开始表决",
        "chain_changed": "链已重新开始，上面不再有本案。同样的票可以在新链上再次投出。",
        "do_retry": "重新投票上链",
        "voting": "陪审员正在投票，每人用自己的密钥签名……",
        "still": "仍在进行……",
        "tally": "裁决：{verdict}，{guilty} 比 {not_guilty}",
        "voted": "{name}：{vote}（立场 {stance}）",
        "missed": "未能按时投票",
        "contract": "合约 {contract}，链 {chain}；日志哈希 {hash}",
        "check": "核对：playmolt verify-verdict {id}",
        "unavailable": "没有得到回答，也没有消耗任何次数：{detail}",
        "found": "到最后，{all} 件证据向你打开了 {open} 件。这个故事还有别的结局。",
        "aborted": "管理员结束了这个场次。",
    },
}


class Words:
    def __init__(self, language: Language) -> None:
        self.language: Language = language
        self._words, self._texts = _WORDS[language], page_texts(language)

    def say(self, key: str, **values: object) -> str:
        return self._words[key].format(**values)

    def band(self, band: Band) -> str:
        return self._texts[f"band.{band}"]

    def verdict(self, verdict: VerdictName) -> str:
        return self._texts[f"verdict.{verdict}"]

    def list(self, names: tuple[str, ...]) -> str:
        return ("、" if self.language == "zh" else ", ").join(names)
