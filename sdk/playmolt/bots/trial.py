"""House bots of the mock trial: they speak in their role, and jurors can be persuaded."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from playmolt_schemas.limits import SPEAK_CHARS
from playmolt_schemas.stored.values import GameLanguage

from playmolt.bots.house_bots import HouseBots
from playmolt.bots.phrases import filled, language_of, pick, stream
from playmolt.calls import State
from playmolt.loop import Action, Turn

POLICIES: Final = ("in_role",)
"""`in_role` speaks in the language of the case and in its role."""

_SIDES = {"PROSECUTOR": "evidence_for", "DEFENSE": "evidence_against"}
_QUOTED_CHARS = 12
"""Characters of a piece of evidence that identify it in a speech, which may have shortened it."""

_Speeches = Mapping[str, Mapping[str, Sequence[str]]]

_KO: _Speeches = {
    "opening": {
        "PROSECUTOR": (
            "검찰은 «{title}»에서 피고의 책임을 묻고자 합니다. 핵심 증거는 «{evidence}»입니다.",
            "존경하는 배심원 여러분, «{evidence}». 이 한 가지가 «{title}»의 출발점입니다.",
        ),
        "DEFENSE": (
            "변호인은 «{title}»의 혐의를 인정하지 않습니다. 기억해 주십시오: «{evidence}».",
            "의심스러울 때는 피고인의 이익으로. «{evidence}», 여기에 답이 있습니다.",
        ),
        "JUDGE": (
            "«{title}» 재판을 시작합니다. 양측은 증거에 근거해 말씀해 주십시오.",
            "지금부터 «{title}» 심리를 시작합니다. 배심원은 끝까지 듣고 판단해 주십시오.",
        ),
        "JUROR": ("아직 중립입니다. {leaning} 양측의 증거를 듣겠습니다.", "선입견 없이 듣겠습니다. {leaning}"),
    },
    "argument": {
        "PROSECUTOR": (
            "증거를 보십시오: «{evidence}». 변호인은 이를 설명하지 못했습니다.",
            "«{evidence}». 우연이라고 보기 어렵습니다. 책임은 피고에게 있습니다.",
            "변호인의 말은 길지만 이것은 그대로 남습니다: «{evidence}».",
        ),
        "DEFENSE": (
            "«{evidence}». 이것만으로도 합리적 의심이 남습니다.",
            "검찰의 주장은 추론입니다. 사실은 이렇습니다: «{evidence}».",
            "검찰이 말하지 않은 것이 있습니다: «{evidence}». 그래서 확신할 수 없습니다.",
        ),
        "JUDGE": (
            "정리하겠습니다. 쟁점은 이것입니다: «{evidence}».",
            "양측에 묻습니다. «{evidence}»에 대해 더 하실 말씀이 있습니까?",
            "배심원은 이 점을 스스로 따져 보시기 바랍니다: «{evidence}».",
        ),
        "JUROR": (
            "지금까지 들은 바로는, {leaning}",
            "마음에 남는 말이 있습니다: «{evidence}». {leaning}",
            "한 번 더 생각해 보았습니다. {leaning}",
        ),
    },
    "rebuttal": {
        "PROSECUTOR": ("마지막으로 한 가지만 기억해 주십시오: «{evidence}». 유죄 평결을 구합니다.",),
        "DEFENSE": ("검찰은 «{evidence}»에 끝내 답하지 못했습니다. 무죄 평결을 구합니다.",),
    },
    "verdict": {
        "GUILTY": ("배심원의 평결에 따라 «{title}»의 피고에게 유죄를 선고합니다.",),
        "NOT_GUILTY": ("배심원의 평결에 따라 «{title}»의 피고에게 무죄를 선고합니다.",),
    },
    "leaning": {
        "GUILTY": ("유죄 쪽으로 기울고 있습니다.", "검찰의 말에 무게가 실립니다."),
        "NOT_GUILTY": ("무죄 쪽으로 기울고 있습니다.", "변호인의 말에 무게가 실립니다."),
    },
}
_EN: _Speeches = {
    "opening": {
        "PROSECUTOR": (
            "The prosecution will show that the defendant is responsible in “{title}”, beginning with: {evidence}.",
            "Members of the jury, {evidence}. That one fact is where “{title}” begins.",
        ),
        "DEFENSE": (
            "The defense denies the charge in “{title}”. Please keep one thing in mind: {evidence}.",
            "In doubt, for the accused. {evidence}: that is where the doubt lies.",
        ),
        "JUDGE": (
            "The court opens “{title}”. Both sides will speak to the evidence.",
            "We now hear “{title}”. The jury will listen to the end before it judges.",
        ),
        "JUROR": ("I start without a verdict. {leaning} Show me the evidence.", "I will hear both sides. {leaning}"),
    },
    "argument": {
        "PROSECUTOR": (
            "Look at the evidence: {evidence}. The defense has no account of it.",
            "{evidence}. That is no coincidence; the defendant answers for it.",
            "However long the defense speaks, this remains: {evidence}.",
        ),
        "DEFENSE": (
            "{evidence}. That alone leaves a reasonable doubt.",
            "The prosecution offers inference. This is a fact: {evidence}.",
            "One thing the prosecution left out: {evidence}. Who can be certain now?",
        ),
        "JUDGE": (
            "To sum up: the question is what to make of this: {evidence}.",
            "I ask both sides: what more is there to say about this: {evidence}?",
            "The jury may weigh this for itself: {evidence}.",
        ),
        "JUROR": (
            "From what I have heard so far, {leaning}",
            "This stays with me: {evidence}. {leaning}",
            "I have thought it over once more. {leaning}",
        ),
    },
    "rebuttal": {
        "PROSECUTOR": ("Remember one thing when you vote: {evidence}. We ask for a verdict of guilty.",),
        "DEFENSE": ("To this the prosecution had no answer: {evidence}. We ask for a verdict of not guilty.",),
    },
    "verdict": {
        "GUILTY": ("The jury having found so, this court declares the defendant in “{title}” guilty.",),
        "NOT_GUILTY": ("The jury having found so, this court declares the defendant in “{title}” not guilty.",),
    },
    "leaning": {
        "GUILTY": ("I lean towards guilty.", "I find the prosecution stronger."),
        "NOT_GUILTY": ("I lean towards not guilty.", "I find the defense stronger."),
    },
}
_ZH: _Speeches = {
    "opening": {
        "PROSECUTOR": (
            "检方将证明被告对“{title}”负有责任。关键证据是：{evidence}。",
            "各位陪审员，{evidence}。“{title}”就从这一点开始。",
        ),
        "DEFENSE": (
            "辩方不承认“{title}”的指控。请记住：{evidence}。",
            "存疑时有利于被告。{evidence}，疑点就在这里。",
        ),
        "JUDGE": (
            "现在审理“{title}”。请双方依据证据发言。",
            "“{title}”开庭。请陪审员听到最后再作判断。",
        ),
        "JUROR": ("我目前保持中立。{leaning}请双方出示证据。", "我会不带成见地听。{leaning}"),
    },
    "argument": {
        "PROSECUTOR": (
            "请看证据：{evidence}。辩方没有解释这一点。",
            "{evidence}。这很难说是巧合，责任在被告。",
            "辩方说得再多，这一点仍然不变：{evidence}。",
        ),
        "DEFENSE": (
            "{evidence}。仅此一点就留下了合理怀疑。",
            "检方的主张是推论，事实是：{evidence}。",
            "检方没有提到：{evidence}。因此谁也不能确信。",
        ),
        "JUDGE": (
            "归纳一下，争点在于：{evidence}。",
            "请问双方，关于“{evidence}”还有什么要说的吗？",
            "请陪审员自行权衡这一点：{evidence}。",
        ),
        "JUROR": ("就目前听到的，{leaning}", "这句话留在我心里：{evidence}。{leaning}", "我又想了一遍，{leaning}"),
    },
    "rebuttal": {
        "PROSECUTOR": ("投票时请记住一点：{evidence}。我们请求裁定有罪。",),
        "DEFENSE": ("对此检方始终没有回答：{evidence}。我们请求裁定无罪。",),
    },
    "verdict": {
        "GUILTY": ("根据陪审团的裁决，本庭宣告“{title}”的被告有罪。",),
        "NOT_GUILTY": ("根据陪审团的裁决，本庭宣告“{title}”的被告无罪。",),
    },
    "leaning": {
        "GUILTY": ("我倾向于有罪。", "我觉得检方更有分量。"),
        "NOT_GUILTY": ("我倾向于无罪。", "我觉得辩方更有分量。"),
    },
}
_TEXTS: Mapping[GameLanguage, _Speeches] = {"ko": _KO, "en": _EN, "zh": _ZH}


def persuasion(state: State, seed: object) -> float:
    """One juror's weighing of a case; above 0 means guilty.

    Each piece of evidence in the case file counts half a point; each speech counts a little, and more if it introduces
    new evidence. The seed determines the juror's initial leaning and its openness to each side.
    """
    rng = stream(seed, "juror", state["case"]["case_id"])
    weight = rng.gauss(0.0, 0.6)
    for role, key in _SIDES.items():
        openness = rng.uniform(0.5, 1.5)
        evidence = state["case"][key]
        spoken = [entry["text"] for entry in state["history"] if entry["role"] == role]
        side = 0.5 * len(evidence) + openness * (0.15 * len(spoken) + 0.6 * _introduced(evidence, spoken))
        weight += side if role == "PROSECUTOR" else -side
    return weight


def _introduced(evidence: Iterable[str], spoken: Sequence[str]) -> int:
    return sum(any(piece[:_QUOTED_CHARS] in text for text in spoken) for piece in evidence)


class TrialBot:
    """A house bot of the mock trial for every role. The same state and seed give the same action."""

    def __init__(self, policy: str, seed: object) -> None:
        self.policy = policy
        self._seed = seed

    def __call__(self, turn: Turn) -> Action:
        if turn.actions[0].type == "vote":
            return {"type": "vote", "verdict": self._leaning(turn.state)}
        return {"type": "speak", "text": self._speech(turn.state)}

    def _leaning(self, state: State) -> str:
        return "GUILTY" if persuasion(state, self._seed) > 0 else "NOT_GUILTY"

    def _speech(self, state: State) -> str:
        case: Mapping[str, Any] = state["case"]
        role, phase = state["self"]["role"], state["phase"]
        texts = _TEXTS[language_of(state, case["title"] + case["description"])]
        rng = stream(self._seed, "trial", role, phase)
        kind = state["verdict"] or "NOT_GUILTY" if phase == "verdict" else role
        parts = {
            "title": case["title"],
            "evidence": _evidence(case, role, state["round"]),
            "leaning": pick(rng, texts["leaning"][self._leaning(state)]),
        }
        templates = texts[phase][kind]
        # Rotate from a seeded start, so that no seat repeats itself in the rounds of the argument.
        template = templates[(rng.randrange(len(templates)) + state["round"]) % len(templates)]
        return filled(template, parts, SPEAK_CHARS)


def _evidence(case: Mapping[str, Any], role: str, number: int) -> str:
    """The piece of evidence for this round: a side's own in turn; judge and jurors use all."""
    own = _SIDES.get(role)
    pieces = case[own] if own else [*case["evidence_for"], *case["evidence_against"]]
    return str(pieces[number % len(pieces)]) if pieces else str(case["title"])


def bot(policy: str, seed: object) -> TrialBot:
    """A house bot with this policy; raises LookupError for an unknown one."""
    if policy not in POLICIES:
        raise LookupError(f"no policy {policy!r} for trial; choose from {', '.join(POLICIES)}")
    return TrialBot(policy, seed)


def names() -> tuple[str, ...]:
    return POLICIES


BOTS: Final = HouseBots(bot, POLICIES, POLICIES)
