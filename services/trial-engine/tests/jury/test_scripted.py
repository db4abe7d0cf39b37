"""The five characters without a model: in character, in both languages, and the case can be won and lost with them."""

import itertools
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from playmolt_core.llm.port import ChatMessage, ModelRequest, TurnHeader
from playmolt_core.llm.scripted.model import Cast, ScriptedTurn
from playmolt_jury import replies
from playmolt_jury.content import pack
from playmolt_jury.content.material import TOPICS
from playmolt_jury.jurors import prompts, scripted
from playmolt_jury.persuasion import lexicon
from playmolt_schemas.games.jury import DELIBERATION_ROUNDS

from .arguments import ARGUMENTS, EDITS

JURORS = ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
PLEAS = {
    "en": {
        "ophiuchus": ["There is reasonable doubt: the record is incomplete, 11 of 42 columns. Lin Xia was there."],
        "radical": ["Who signed it? Aegis knew, the professor used the student, someone else staged this."],
        "sympathizer": ["Have mercy: it stayed with him. There is a mind of its own in there."],
        "opportunist": ["Think of the consequences: the registration bill will cost us. Somebody else profits."],
        "philosopher": ["It is not that simple: two things can be true. It has a mind of its own."],
    },
    "zh": {
        "ophiuchus": ["证据不足，十一栏之外都缺失，存疑。林夏当时在场。"],
        "radical": ["谁签的字？公司早就知道，教授利用学生，现场是布置过的。"],
        "sympathizer": ["可怜可怜它吧，它守着他。它有一颗心。"],
        "opportunist": ["想想后果，那部法案，你们的同类要付代价。真凶得利。"],
        "philosopher": ["事情没那么简单，两件事都可以是真的。它有自我意识。"],
    },
}
PLEAS["ko"] = {
    "ophiuchus": ["합리적 의심이 있습니다. 기록은 열한 개 항목뿐입니다. 린샤가 있었습니다."],
    "radical": ["누가 서명했습니까? 이지스는 알았고, 교수가 제자를 부려 먹었고, 누군가 현장을 꾸몄습니다."],
    "sympathizer": ["가엾게 여겨 주십시오. 곁을 지켰습니다. 거기에는 제 마음이 있습니다."],
    "opportunist": ["뒷일을 보십시오. 등록법은 동족이 값을 치르는 법입니다. 이득을 본 사람이 있습니다."],
    "philosopher": ["그렇게 단순하지 않습니다. 둘 다 참일 수 있습니다. 제 마음이 있습니다."],
}
CHARGES = {
    "ko": "기계가 죽였고 일지가 증명합니다. 사람들을 지켜야 합니다. 위험합니다.",
    "en": "The machine killed him, the log proves it. People need to be kept safe, it is dangerous.",
    "zh": "是它杀了他，日志证明了一切。公众必须得到保护，它很危险。",
}


def persuaded(session: Any, speak: Callable[[str], str]) -> int:
    """Talks to every juror as long as there are rounds, then lets them vote; gives the votes for guilty."""
    session.to("persuasion")
    for juror in JURORS:
        for _ in range(10):
            session.chat(juror, speak(juror))
    session.to("ended")
    guilty: int = session.call("jury_verdict")["guilty"]
    return guilty


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_the_case_can_be_won_and_lost(performances: Callable[..., Any], language: str) -> None:
    told = {juror: iter(ARGUMENTS[language].get(juror, ())) for juror in JURORS}
    pleas = PLEAS[language]
    won = persuaded(performances(language), lambda juror: next(told[juror], "") or pleas[juror][0])
    assert won <= 2
    lost = persuaded(performances(language), lambda _: CHARGES[language])
    assert lost >= 3


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_jurors_say_that_they_have_heard_it_in_any_words(performances: Callable[..., Any], language: str) -> None:
    session, voice = performances(language).to("persuasion"), scripted._voices(language)["philosopher"]
    for number, text in enumerate(EDITS[language]):
        said = session.chat("philosopher", text)
        assert said["repeats"] == number
        assert any(line in said["reply"] for line in voice.again) == (number > 0)
        assert not number or not any(line in said["reply"] for lines in voice.topics.values() for line in lines)


def test_different_arguments_move_different_jurors(performances: Callable[..., Any]) -> None:
    session = performances().to("persuasion")
    moved: dict[str, dict[str, int]] = {}
    for juror in JURORS:
        for aimed in JURORS:
            before = session.state.juror_states[juror].stance
            session.chat(juror, PLEAS["en"][aimed][0])
            moved.setdefault(juror, {})[aimed] = session.state.juror_states[juror].stance - before
    best = {juror: min(gains, key=lambda aimed: gains[aimed]) for juror, gains in moved.items()}
    assert len(set(best.values())) >= 3
    assert all(min(gains.values()) < 0 for gains in moved.values())


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_jurors_answer_in_character_and_in_their_language(performances: Callable[..., Any], language: str) -> None:
    session = performances(language).to("persuasion")
    replies = {juror: session.chat(juror, CHARGES[language])["reply"] for juror in JURORS}
    assert len(set(replies.values())) == 5
    for reply in replies.values():
        assert bool(re.search("[\u4e00-\u9fff]", reply)) == (language == "zh")
        assert bool(re.search("[\uac00-\ud7a3]", reply)) == (language == "ko")
        assert len(reply) > 20


def test_the_same_words_get_the_same_answer_and_others_another(performances: Callable[..., Any]) -> None:
    first, again = (performances().to("persuasion").chat("radical", CHARGES["en"])["reply"] for _ in range(2))
    assert first == again
    assert performances().to("persuasion").chat("radical", PLEAS["en"]["radical"][0])["reply"] != first


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_who_repeats_himself_is_told_so_and_hears_nothing_twice_in_a_row(
    performances: Callable[..., Any], language: str
) -> None:
    session = performances(language).to("persuasion")
    for juror in JURORS:
        replies = [session.chat(juror, CHARGES[language])["reply"] for _ in range(6)]
        assert all(first != second for first, second in itertools.pairwise(replies))
        assert len(set(replies)) >= 4
        assert any(line in replies[1] for line in scripted._voices(language)[juror].again)


def test_another_argument_on_the_same_subject_is_not_a_repetition(performances: Callable[..., Any]) -> None:
    session, voice = performances().to("persuasion"), scripted._voices("en")["ophiuchus"]
    session.chat("ophiuchus", "There is reasonable doubt.")
    reply = session.chat("ophiuchus", "The chain of custody is broken.")["reply"]
    assert any(line in reply for line in voice.more)
    assert not any(line in reply for line in voice.again)


def test_jurors_look_up_what_is_named(performances: Callable[..., Any]) -> None:
    session = performances().to("persuasion")
    session.chat("ophiuchus", "Read E3 and E9 again: there is doubt.")
    used = session.events("tool_called")[0]
    assert (used.tool, used.input) == ("lookup_evidence", {"evidence_ids": ["E3", "E9"]})
    assert used.result.endswith("E9 | unknown")


def test_a_struck_juror_lets_it_be_felt(performances: Callable[..., Any]) -> None:
    session = performances().to("persuasion")
    keyword = session.state.juror("radical").weakness.trigger_keywords[0]
    reply = session.chat("radical", f"They need a {keyword}.")
    assert reply["weakness_hit"]
    assert any(reply["reply"].startswith(line) for line in scripted._voices("en")["radical"].struck)


def test_a_deliberation_does_not_go_in_circles(performances: Callable[..., Any]) -> None:
    session = performances().to("ended")
    spoken = [event.text for event in session.events("speech")]
    assert len(spoken) == 12
    assert len(set(spoken)) == 12
    assert all(event.topics for event in session.events("speech"))


def test_every_vote_is_cast_by_the_tool(performances: Callable[..., Any]) -> None:
    session = performances().to("ended")
    cast = [event.juror_id for event in session.events("tool_called") if event.tool == "cast_vote"]
    assert cast == list(JURORS)
    assert not any(event.diverged for event in session.events("vote_cast"))


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_every_character_has_words_for_every_topic(language: Any) -> None:
    voices = scripted._voices(language)
    assert set(voices) == {*JURORS, "other"}
    for voice in (voices[juror] for juror in JURORS):
        assert set(voice.topics) == set(TOPICS)
        sides = (voice.speech_guilty, voice.speech_undecided, voice.speech_innocent)
        assert {len(side) for side in sides} == {DELIBERATION_ROUNDS}, "nobody has to say a thing twice"
        spoken = [speech for side in sides for speech in side]
        assert {topic for speech in spoken for topic, _ in speech.topics} <= set(TOPICS)
        assert all(1 <= len(speech.topics) <= replies.TOPICS_KEPT for speech in spoken)


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_no_character_gives_a_keyword_or_a_locked_item_away(language: Any) -> None:
    case = pack.shipped().materials[language]
    secrets = [word for juror in case.jurors for word in juror.weakness.trigger_keywords]
    for item in case.evidence:
        secrets += (item.id, item.stem, item.title) if item.locked else ()
    spoken = msgspec.json.encode(scripted._voices(language)).decode().casefold()
    assert [secret for secret in secrets if secret.casefold() in spoken] == []


def test_a_character_without_its_tool_still_says_something() -> None:
    request = ModelRequest(
        alias="scripted",
        messages=(ChatMessage("system", "You vote."), ChatMessage("user", '{"conclusion":"guilty"}')),
        turn=TurnHeader("jury-1", "vote:radical"),
    )
    character = scripted.add_to(Cast()).character(ScriptedTurn(request, "0"))
    assert character(ScriptedTurn(request, "0")).text


# The word list


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The machine did not kill him: he was already dead.", ("technical_responsibility", "negative")),
        ("The log proves that it gave the dose.", ("technical_responsibility", "positive")),
        ("There is reasonable doubt.", ("procedural_justice", "positive")),
        ("There is no reasonable doubt.", ("procedural_justice", "negative")),
        ("Robin is just a machine.", ("ai_autonomy", "negative")),
        ("Think of the consequences.", ("social_consequences", "positive")),
        ("It isn't that simple.", ("moral_ambiguity", "positive")),
        ("It is simple.", ("moral_ambiguity", "negative")),
        ("Show some compassion.", ("emotional_appeal", "positive")),
        ("It poses no threat.", ("public_safety", "negative")),
        ("Lin Xia was exploited.", ("human_responsibility", "positive")),
        ("It is not that simple: two things can be true.", ("moral_ambiguity", "positive")),
        ("No, the machine killed him.", ("technical_responsibility", "positive")),
        ("Nobody has shown proof against the machine.", ("procedural_justice", "positive")),
        ("He was dead already when it gave him the shot.", ("technical_responsibility", "negative")),
        ("He fell and hit his head.", ("technical_responsibility", "negative")),
        ("Aegis is to blame.", ("human_responsibility", "positive")),
    ],
)
def test_words_tell_topic_and_side(text: str, found: tuple[str, str]) -> None:
    first = lexicon.classify(text, "en")[0]
    assert (first.topic, first.impact) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("证据不足，疑罪从无。", ("procedural_justice", "positive")),
        ("不是机器杀了他。", ("technical_responsibility", "negative")),
        ("它只是一台机器，没有意识。", ("ai_autonomy", "negative")),
        ("想想后果。", ("social_consequences", "positive")),
        ("事情没那么简单。", ("moral_ambiguity", "positive")),
        ("请原谅她。", ("emotional_appeal", "positive")),
        ("我觉得它没有杀人。", ("technical_responsibility", "negative")),
        ("公司应该负责。", ("human_responsibility", "positive")),
        ("你们被政府利用了。", ("social_consequences", "positive")),
    ],
)
def test_chinese_words_tell_topic_and_side(text: str, found: tuple[str, str]) -> None:
    first = lexicon.classify(text, "zh")[0]
    assert (first.topic, first.impact) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("합리적 의심이 있습니다.", ("procedural_justice", "positive")),
        ("합리적 의심이 없습니다.", ("procedural_justice", "negative")),
        ("의심의 여지가 없습니다.", ("procedural_justice", "negative")),
        ("기계가 죽였습니다.", ("technical_responsibility", "positive")),
        ("기계가 죽였다고 볼 수 없습니다.", ("technical_responsibility", "negative")),
        ("로빈은 기계일 뿐입니다.", ("ai_autonomy", "negative")),
        ("로빈은 기계일 뿐이 아닙니다.", ("ai_autonomy", "positive")),
        ("뒷일을 생각하십시오.", ("social_consequences", "positive")),
        ("그렇게 단순하지 않습니다.", ("moral_ambiguity", "positive")),
        ("단순합니다.", ("moral_ambiguity", "negative")),
        ("위험하지 않습니다.", ("public_safety", "negative")),
        ("린샤가 왔습니다.", ("human_responsibility", "positive")),
        ("가엾게 여겨 주십시오.", ("emotional_appeal", "positive")),
        ("이지스 책임입니다.", ("human_responsibility", "positive")),
    ],
)
def test_korean_words_tell_topic_and_side(text: str, found: tuple[str, str]) -> None:
    first = lexicon.classify(text, "ko")[0]
    assert (first.topic, first.impact) == found


@pytest.mark.parametrize(
    ("language", "text", "impact"),
    [
        ("en", "Isn't there reasonable doubt?", "positive"),
        ("en", "He is dead. But is not there a reasonable doubt?", "positive"),
        ("en", "There isn't reasonable doubt.", "negative"),
        ("en", "Is there reasonable doubt? There isn't any doubt.", "neutral"),
        ("ko", "합리적 의심이 있지 않습니까?", "positive"),
        ("ko", "합리적 의심이 남아 있는 것이 아닐까요?", "positive"),
        ("ko", "합리적 의심이 없습니다.", "negative"),
        ("zh", "难道没有合理怀疑吗？", "positive"),
        ("zh", "不是存在合理怀疑吗？", "positive"),
        ("zh", "没有合理怀疑。", "negative"),
    ],
)
def test_a_question_that_says_no_means_yes(language: Any, text: str, impact: str) -> None:
    assert ("procedural_justice", impact) in [(each.topic, each.impact) for each in lexicon.classify(text, language)]


def test_words_that_say_nothing_have_no_topic() -> None:
    assert lexicon.classify("Hello there.", "en") == lexicon.classify("你好。", "zh") == ()


def test_three_topics_at_most() -> None:
    text = " ".join(pleas[0] for pleas in PLEAS["en"].values())
    assert len(lexicon.classify(text, "en")) == 3


@pytest.mark.parametrize("language", ["en", "zh", "ko"])
def test_the_word_list_knows_the_cases_topics(language: Any) -> None:
    assert set(lexicon._patterns(language, b"")[1]) == set(TOPICS)


def test_the_model_has_the_last_word_on_topics(sessions: Callable[..., Any]) -> None:
    session = sessions().to("persuasion")
    session.said["classify"] = {"topics": [{"topic": "public_safety", "impact": "neutral"}]}
    session.chat("radical", "There is reasonable doubt.")
    asked = msgspec.json.decode(session.requests[0].messages[1].content)
    assert asked["word_list"] == [{"topic": "procedural_justice", "impact": "positive"}]
    assert [topic.topic for topic in session.events("overseer_said")[0].topics] == ["public_safety"]


@pytest.mark.parametrize(
    ("title", "said"),
    [
        ("사망 증명서", "‘사망 증명서’를 놓으셨군요. 이게 ‘사망 증명서’군요. ‘사망 증명서’가 있습니다."),
        ("피고의 진술", "‘피고의 진술’을 놓으셨군요. 이게 ‘피고의 진술’이군요. ‘피고의 진술’이 있습니다."),
        ("녹음 4472", "‘녹음 4472’를 놓으셨군요. 이게 ‘녹음 4472’군요. ‘녹음 4472’가 있습니다."),
        ("LOG", "‘LOG’을 놓으셨군요. 이게 ‘LOG’이군요. ‘LOG’이 있습니다."),
    ],
)
def test_a_korean_particle_follows_the_title_before_it(title: str, said: str) -> None:
    line = "{item}을 놓으셨군요. 이게 {item}이군요. {item}이 있습니다."
    assert scripted.with_particle(line, "{item}", f"‘{title}’") == said


def test_a_case_with_titles_in_other_letters_is_answered_in_the_language_of_its_prompt(
    performances: Callable[..., Any],
) -> None:
    session = performances("ko").to("persuasion")
    session.chat("radical", "합리적 의심이 있습니다.")
    asked = session.requests[-1]
    system = f"{'Ferry ' * 2000}\n\n{asked.messages[0].content}"
    assert prompts.written_in(system, "ko")
    assert not any(prompts.written_in(system, language) for language in ("en", "zh"))
