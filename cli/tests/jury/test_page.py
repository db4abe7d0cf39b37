"""What the terminal shows of a jury session."""

import io
import string

from playmolt_cli.jury.overseer import ARGUMENTS, NOTES
from playmolt_cli.jury.page import JuryPage
from playmolt_cli.jury.texts import _WORDS, JuryTexts
from playmolt_schemas.games.jury import (
    NOTE_CHARS,
    ChatReply,
    DossierView,
    EvidenceList,
    EvidenceListEntry,
    EvidenceView,
    TalkView,
    VerdictView,
)
from playmolt_schemas.stored.jury import VoteView
from rich.console import Console
from rich.text import Text


def page(*, terminal: bool = False, width: int = 60) -> tuple[JuryPage, io.StringIO]:
    out = io.StringIO()
    made = JuryPage(
        Console(file=out, force_terminal=terminal, width=width, highlight=False, markup=False), JuryTexts("en")
    )
    made.names = {"radical": "Radical", "lin_xia": "Lin Xia"}
    return made, out


def shown(out: io.StringIO) -> list[str]:
    return Text.from_ansi(out.getvalue()).plain.splitlines()


def test_a_story_is_wrapped_for_a_terminal_and_one_paragraph_a_line_elsewhere() -> None:
    told = DossierView(title="The case", text=f"{'A long sentence. ' * 20}\n\nAnother paragraph.")
    for terminal, most in ((True, 60), (False, 1000)):
        made, out = page(terminal=terminal)
        made.dossier(told)
        lines = shown(out)
        assert max(map(len, lines)) <= most
        assert (len(lines) > 6) is terminal
        assert lines[-2:] == ["", "Another paragraph."]


def test_lines_stay_lines_and_paragraphs_stay_apart() -> None:
    made, out = page()
    made.item(EvidenceView(id="E1", title="The log", text="02:10  code\n02:14  dose\n\nCertified."))
    assert shown(out)[1:] == ["E1 · The log", "  02:10 code", "  02:14 dose", "", "  Certified."]
    made.items(
        EvidenceList(
            (EvidenceListEntry(id="E1", locked=False, title="The log"), EvidenceListEntry(id="E2", locked=True))
        )
    )
    assert shown(out)[-2:] == ["  E1 The log ✓", "  E2 — locked —"]
    made, out = page()
    made.said("Lin Xia", "First.\n\nSecond.")
    assert shown(out) == ["Lin Xia: First.", "", "  Second."]


def test_chinese_is_wrapped_by_the_width_it_takes() -> None:
    made, out = page(terminal=True, width=40)
    made.line("证据链断了还有别人进过那所房子存在合理怀疑" * 4)
    assert all(Text(line).cell_len <= 40 for line in shown(out))
    assert len(shown(out)) > 3


def test_no_line_of_chinese_begins_with_what_closes_a_sentence() -> None:
    for width in range(30, 50):
        made, out = page(terminal=True, width=width)
        made.line("他说：“是它干的。”（没有人笑。）" * 9)
        lines = shown(out)
        assert "".join(lines) == "他说：“是它干的。”（没有人笑。）" * 9
        assert not [line for line in lines if line[0] in "，。；：！？、）》”"]
        assert all(Text(line).cell_len <= width for line in lines)


def test_nothing_that_is_said_can_steer_the_terminal() -> None:
    made, out = page()
    reply = ChatReply(
        juror_id="radical", reply="\x1b[2Jgone\u202e", band="undecided", rounds_left=3, weakness_hit=True, version=9
    )
    made.reply(reply)
    assert "\x1b" not in out.getvalue()
    assert "\u202e" not in out.getvalue()
    assert "Radical · Undecided · rounds left: 3" in out.getvalue()
    assert "struck home" in out.getvalue()


def test_locks_choices_and_what_breaks_are_reported() -> None:
    made, out = page()
    listed = EvidenceList(
        (EvidenceListEntry(id="E1", locked=False, title="The log"), EvidenceListEntry(id="E9", locked=True))
    )
    made.items(listed)
    made.talk(
        TalkView(
            witness_id="lin_xia", node="standing", text="I was there.", choices=(), pressure=65, cracked=True,
            unlocked=("E9", "E10"), ended=True,
        )
    )  # fmt: skip
    told = out.getvalue()
    assert "E1 The log" in told
    assert "E9 — locked —" in told
    assert "Lin Xia: I was there." in told
    assert "Lin Xia breaks." in told
    assert "Unlocked: E9, E10" in told


def test_every_vote_is_reported_with_its_transaction_and_a_missing_one_as_missing() -> None:
    made, out = page()
    votes = (
        VoteView(juror_id="radical", guilty=True, stance=80, tx_hash="0x" + "ab" * 32, address="0x1"),
        VoteView(juror_id="lin_xia", guilty=None, stance=10, tx_hash="", address="0x2"),
    )
    verdict = VerdictView(
        verdict="not_guilty", guilty=1, not_guilty=0, votes=votes, contract="0xc", chain_id=1, log_hash="0xd"
    )
    made.verdict("jury-1", verdict)
    told = out.getvalue()
    assert "Verdict: Not guilty, 1 to 0" in told
    assert "0x" + "ab" * 32 in told
    assert "Lin Xia: did not vote in time" in told
    assert "playmolt verify-verdict jury-1" in told


def test_all_languages_say_the_same_things() -> None:
    fields = [
        {key: {name for _, name, _, _ in string.Formatter().parse(text) if name} for key, text in words.items()}
        for words in _WORDS.values()
    ]
    assert len(fields) == 3
    assert all(each == fields[0] for each in fields)


def test_the_scripted_overseer_speaks_all_languages_within_the_limits() -> None:
    assert set(ARGUMENTS) == set(NOTES) == set(_WORDS)
    for language in ARGUMENTS:
        assert set(ARGUMENTS[language]) == set(NOTES[language]) == {"guilty", "not_guilty"}
        assert all(len(note) <= NOTE_CHARS for note in NOTES[language].values())
