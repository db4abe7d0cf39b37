"""A scripted overseer: reads the evidence, breaks the witnesses, argues with every juror and calls the vote."""

from collections.abc import Mapping
from typing import Final

from playmolt_schemas.games.jury import TalkView
from playmolt_schemas.stored.jury import Language, VerdictName

from playmolt_cli.jury.table import JuryTable

_STEPS_MOST: Final = 60
"""Maximum steps of one talk, more than any witness of the shipped case needs."""
ARGUMENTS: Final[Mapping[Language, Mapping[VerdictName, tuple[str, ...]]]] = {
    "en": {
        "not_guilty": (
            "The chain of custody is broken, and somebody else was in the house: there is reasonable doubt.",
            "He hit his head, and he was already dead when the needle came.",
            "It is not that simple: two things can be true, and one of them has a mind of its own.",
            "Think of the consequences. The registration bill is waiting for your votes.",
            "Have pity with whoever stayed awake beside a lonely man.",
            "The scene was staged after two o'clock, and Aegis knew why nobody would look.",
        ),
        "guilty": (
            "The log shows a lethal dose, and the machine did it. The public must be protected.",
            "It gave the dose, it caused his death, and it will happen again if there is no warning.",
            "The evidence is clear and the record is complete.",
            "Robin is just a machine, an appliance with a needle.",
            "It is simple: murder is murder.",
            "Leave feelings out of it: tears prove nothing.",
        ),
    },
    "zh": {
        "not_guilty": (
            "证据链断了，还有另一个人进过那所房子：存在合理怀疑。",
            "他撞到了头，针落下去的时候，人早就死了。",
            "事情没那么简单：两件事都可以是真的，其中一件，是它有自我意识。",
            "想想后果。那部法正等着你们这几票。",
            "可怜可怜那个整夜守着他的吧。",
            "两点以后有人布置过现场，公司知道为什么没人会去查。",
        ),
        "guilty": (
            "日志证明机器给了致命剂量。公众必须得到保护。",
            "是它造成了死亡；没有警告，这种事还会再次发生。",
            "证据确凿，记录完整。",
            "它不过是机器，一件带针头的家用电器。",
            "道理很简单：杀人就是杀人。",
            "别感情用事，收起眼泪。",
        ),
    },
    "ko": {
        "not_guilty": (
            "보관의 사슬이 끊겼고 집에 또 한 사람이 있었습니다. 합리적 의심이 있습니다.",
            "머리를 부딪쳤고, 바늘이 들어갈 때에는 이미 숨져 있었습니다.",
            "그렇게 단순하지 않습니다. 둘 다 참일 수 있고, 그 하나는 로빈에게 제 마음이 있다는 것입니다.",
            "뒷일을 보십시오. 등록법이 여러분의 표를 기다립니다.",
            "외로운 사람 곁을 지킨 이를 가엾게 여겨 주십시오.",
            "두 시가 지나 누군가 현장을 꾸몄고, 회사는 알았습니다.",
        ),
        "guilty": (
            "일지가 치사량을 보여 줍니다. 기계가 했습니다. 사람들을 보호해야 합니다.",
            "그것이 죽였고, 경고가 없으면 또 일어납니다.",
            "증거는 분명하고 기록은 완전합니다.",
            "로빈은 기계일 뿐입니다. 바늘 달린 가전제품입니다.",
            "아주 분명합니다. 살인은 살인입니다.",
            "감정은 빼십시오. 눈물은 증거가 아닙니다.",
        ),
    },
}
NOTES: Final[Mapping[Language, Mapping[VerdictName, str]]] = {
    "en": {
        "not_guilty": "There is reasonable doubt, and somebody else was there.",
        "guilty": "The log shows a lethal dose. Protect the public.",
    },
    "zh": {"not_guilty": "存在合理怀疑，当时还有别人。", "guilty": "日志证明是致命剂量。请保护公众。"},
    "ko": {
        "not_guilty": "합리적 의심이 있습니다. 다른 사람이 있었습니다.",
        "guilty": "일지에 나와 있습니다. 치사량입니다. 사람들을 지켜야 합니다.",
    },
}


def play(table: JuryTable, aim: VerdictName, seed: int = 0) -> None:
    """Play a session from its current phase to its ending; `seed` changes the order of the arguments.

    Raises as `JuryTable` does.
    """
    session = table.look()
    if session.phase == "prologue":
        table.page.prologue(session.prologue)
        table.go("investigation")
    if table.session.phase == "investigation":
        _investigate(table)
        table.go("persuasion")
    if table.session.phase == "persuasion":
        _persuade(table, aim, seed)
        table.go("deliberation")
    if table.session.phase == "deliberation":
        _deliberate(table, aim)
    if table.look().phase == "vote":
        table.retry() if table.session.failed else table.vote()
    elif table.session.phase == "ended":
        table.verdict()
    table.ending()


def _investigate(table: JuryTable) -> None:
    table.dossier()
    table.page.items(table.items())
    read = _read_all(table, ())
    for witness in table.witnesses().witnesses:
        if not witness.cracked:
            _break(table, witness.id, read)
            read += _read_all(table, read)


def _read_all(table: JuryTable, known: tuple[str, ...]) -> tuple[str, ...]:
    """Read the unlocked, unread items; returns their ids."""
    fresh = tuple(entry.id for entry in table.items().evidence if not entry.locked and entry.id not in known)
    for item in fresh:
        table.read(item)
    return fresh


def _break(table: JuryTable, witness_id: str, read: tuple[str, ...]) -> None:
    """Alternate between showing items and new lines, until the witness breaks or the step limit."""
    talk = table.talk(witness_id)
    shown, tried = list(read), dict[str, int]()
    for step in range(_STEPS_MOST):
        if talk.cracked:
            return
        talk = _step(table, talk, shown, tried, showing=step % 2 == 0) or table.talk(
            witness_id, evidence_id=read[step % len(read)]
        )


def _step(
    table: JuryTable, talk: TalkView, shown: list[str], tried: dict[str, int], *, showing: bool
) -> TalkView | None:
    choices = sorted(talk.choices, key=lambda choice: tried.get(choice.id, 0))
    said_all = not choices or choices[0].id in tried
    if shown and (showing or said_all) and not talk.ended:
        return table.talk(talk.witness_id, evidence_id=shown.pop(0))
    if not choices:
        return None
    chosen = choices[0]
    tried[chosen.id] = tried.get(chosen.id, 0) + 1
    table.page.said(table.page.words.say("you"), chosen.text, style="cyan")
    return table.talk(talk.witness_id, choice=chosen.id)


def _persuade(table: JuryTable, aim: VerdictName, seed: int) -> None:
    words = table.page.words
    listed = ARGUMENTS[words.language][aim]
    first = seed % len(listed)
    arguments = (*listed[first:], *listed[:first])
    for juror in table.session.jurors:
        for argument in arguments[: juror.rounds_left]:
            table.page.line()
            table.page.said(words.say("you"), argument, style="cyan")
            table.chat(juror.id, argument)
    strongest = "E14" if aim == "not_guilty" else "E1"
    open_items = {entry.id for entry in table.items().evidence if not entry.locked}
    hearer = table.session.jurors[0]
    if strongest in open_items and hearer.rounds_left > len(arguments):
        table.page.line()
        table.page.line(words.say("you_show", item=strongest, name=table.page.name(hearer.id)), style="cyan")
        table.present(hearer.id, strongest)


def _deliberate(table: JuryTable, aim: VerdictName) -> None:
    if table.session.notes_left:
        against = {"not_guilty": ("guilty", "leaning_guilty"), "guilty": ("innocent", "leaning_innocent")}[aim]
        jurors = table.look().jurors
        hearer = next((juror for juror in jurors if juror.band in against), jurors[0])
        text = NOTES[table.page.words.language][aim]
        table.page.line()
        table.page.said(f"{table.page.words.say('you')} → {hearer.name}", text, style="cyan")
        table.note(hearer.id, text)
    while table.look().phase == "deliberation":
        table.next_round()
