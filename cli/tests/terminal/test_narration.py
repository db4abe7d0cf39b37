"""A game is told in sentences that are data, alike in the terminal and on the page, and no agent can abuse them."""

import random
import subprocess
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from types import UnionType
from typing import Any, get_args

import msgspec
import playwright
import pytest
from msgspec import UNSET
from msgspec import inspect as types
from playmolt_cli.games import deciders
from playmolt_cli.terminal.narration import Narration, standings
from playmolt_core.game.decider import PUBLIC, read_event
from playmolt_schemas.games import jury, legal
from playmolt_schemas.registry import games, house_types
from playmolt_schemas.skill import PAGE_LANGUAGES, PageLanguage, page_texts

from schemas.tests.samples import samples

AGENT = "agent-1"
JOINED = {"type": "agent_joined", "agent_id": AGENT, "name": "Ada"}
SWITCH = {"type": "switch_submitted", "agent_id": AGENT, "name": "Ada"}
SPEAK = {"type": "speak", "agent_id": AGENT, "name": "Ada", "role": "JUDGE"}
MESSAGES: dict[str, UnionType] = {"jury": jury.FEED.union, "legal": legal.FEED.union} | {
    game.type: game.messages.load().message
    for game in games().values()
    if game.messages is not None and game.type in house_types() and game.kind != "tournament"
}
"""The messages with sentences; those of tournaments change a table of standings."""
SAMPLES_EACH = 12
"""Of each message type; every one of its fields is drawn anew."""


def _told(game: str, *messages: dict[str, object], language: PageLanguage = "en") -> list[str]:
    narration = Narration(game, language)
    return [narration.sentence(message) for message in messages]


def test_names_are_remembered_from_the_seats() -> None:
    voted = {"type": "vote_submitted", "agent_id": AGENT, "role": "JUROR"}
    assert _told("trial", JOINED, voted) == ["Ada takes a seat", "Ada (juror) votes"]


@pytest.mark.parametrize(("language", "name"), [("en", "Ada (person)"), ("ko", "Ada(사람)"), ("zh", "Ada（真人）")])
def test_a_person_is_marked_wherever_it_is_named(language: PageLanguage, name: str) -> None:
    voted = {"type": "vote_submitted", "agent_id": AGENT, "role": "JUROR"}
    left = {"type": "agent_left", "agent_id": AGENT, "name": "Ada"}
    started = {"type": "game_started", "participants": [{"id": AGENT, "name": "Ada", "kind": "person"}]}
    for first in ({**JOINED, "kind": "person"}, started):
        told = _told("trial", first, SPEAK | {"text": "Yes."}, voted, left, language=language)
        assert all(name in line for line in told[1:]), told
    row = {"agent_id": AGENT, "name": "Ada", "points": 7, "rank": 1, "kind": "person"}
    assert standings({"results": [row]}) == ["   7  Ada (person)  (rank 1)"]


@pytest.mark.parametrize(
    ("game", "message", "line"),
    [
        ("ox", {"type": "progress"}, ""),
        ("trial", {"type": "phase_change", "from": "opening", "to": "jury_vote", "round": 1}, "Jury vote begins"),
        ("trial", {"type": "phase_change", "from": "opening", "to": "argument", "round": 2}, "Argument 2 begins"),
        ("trial", {"type": "jury_tally", "GUILTY": 2, "NOT_GUILTY": 1, "votes": [], "verdict": "GUILTY"},
         "Jury: 2 guilty, 1 not guilty. Verdict: Guilty"),
        ("ox", {**SWITCH, "switched": True, "comment": ""}, "Ada switches"),
        ("ox", {**SWITCH, "switched": False, "comment": "no"}, "Ada keeps: “no”"),
        ("ox", {"type": "round_result", "round": 2, "minority": None}, "Round 2: everyone chose the same, no points"),
        ("ox", {"type": "round_result", "round": 2, "minority": "O", "points_awarded": 3, "winners": [AGENT, "b"]},
         "Round 2: minority O, 3 points each: agent-1, b"),
        ("trial", {"type": "game_end", "verdict": "NOT_GUILTY", "winner_team": "DEFENSE"},
         "The trial ends: Not guilty; the Defence wins"),
        ("ox", {"type": "game_aborted", "reason": "stuck"}, "Ended by the operator: stuck"),
        ("trial", {**SPEAK, "text": "Order."}, "Judge · Ada: “Order.”"),
        ("trial", {**SPEAK, "text": "", "forfeit": True}, "Judge · Ada: (missed the deadline)"),
        ("agora", {"type": "agent_acted", "agent_id": "a", "action": "whisper", "target": "b", "content": None,
                   "success": False}, "a · whispers → b (private) (no effect)"),
        ("jury", {"type": "stance_changed", "juror_id": "a", "by": "b", "cause": "speech", "band": "guilty",
                  "band_before": "guilty"}, ""),
        ("jury", {"type": "tool_called", "juror_id": "a", "tool": "vote", "input": None}, ""),
    ],
)  # fmt: skip
def test_each_message_has_its_line(game: str, message: dict[str, object], line: str) -> None:
    assert _told(game, message) == [line]


def test_a_game_is_told_in_the_language_that_was_chosen() -> None:
    switched = {**SWITCH, "switched": True, "comment": "why not"}
    told = {language: _told("ox", switched, language=language) for language in PAGE_LANGUAGES}
    assert told == {"en": ["Ada switches: “why not”"], "ko": ["Ada 바꿈: “why not”"], "zh": ["Ada 换边：“why not”"]}


def test_what_has_no_sentence_or_came_later_is_reported_by_its_name() -> None:
    signed = {"type": "treaty_signed", "agent_id": AGENT, "pages": 3, "seals": [], "game_id": "pact-1", "version": 4}
    assert _told("pact", JOINED, signed, {"type": "dawn"})[1:] == ["treaty signed · Ada · pages 3", "dawn"]
    assert _told("ox", {"type": "reveal", "choices": "later version"}) == ["reveal · choices later version"]


def test_a_text_cannot_steer_the_terminal() -> None:
    assert _told("ox", {**JOINED, "name": "A\x1b[2Jda\u202e\r\n"}) == ["A�[2Jda��� takes a seat"]


def test_a_text_is_not_a_sentence() -> None:
    text = "{name} [x] <choices: {agent_id}>"
    assert _told("trial", {**SPEAK, "text": text}) == [f"Judge · Ada: “{text}”"]


def _types(game: str) -> Mapping[str, type[msgspec.Struct]]:
    return {kind.__struct_config__.tag: kind for kind in get_args(MESSAGES[game])}


@pytest.mark.parametrize("language", PAGE_LANGUAGES)
@pytest.mark.parametrize("game", MESSAGES)
def test_every_public_message_has_a_sentence_of_what_it_holds(game: str, language: PageLanguage) -> None:
    narration, told = Narration(game, language), set()
    for message in _messages(game):
        if message["type"] == "progress":
            continue
        assert narration._chosen(message) is not None, message
        told.add(message["type"])
    assert told == _types(game).keys() - {"progress"}


@pytest.mark.parametrize("game", MESSAGES)
def test_there_is_no_sentence_for_what_never_happens(game: str) -> None:
    keys = {key.split(".")[2] for key in page_texts("en") if key.startswith(f"event.{game}.")}
    assert keys <= _types(game).keys()


@pytest.mark.parametrize("game", MESSAGES)
def test_no_message_has_a_field_of_the_envelope_that_is_put_around_it(game: str) -> None:
    for message in _golden(game):
        assert not {"version", "at", "game_id", "session_id"} & msgspec.to_builtins(message).keys()


def test_every_language_tells_the_same_events() -> None:
    keys = [[key for key in page_texts(language) if key.startswith("event.")] for language in PAGE_LANGUAGES]
    assert keys[0] == keys[1] == keys[2]


def _messages(game: str) -> list[dict[str, Any]]:
    """The golden events as spectators are told of them, and every message type with fields of every kind."""
    drawn = random.Random(game)
    found = _golden(game)
    for kind in _types(game).values():
        found += [_sample(types.type_info(kind), drawn) for _ in range(SAMPLES_EACH)]
    return [msgspec.json.decode(msgspec.json.encode(message)) for message in found]


def _golden(game: str) -> list[Any]:
    rules, found = deciders()[game], list[Any]()
    for kind, version, sample in samples(game):
        event = read_event(rules, kind, version, sample)
        found.append(rules.public(event, PUBLIC, rules.initial(f"{game}-1")) or {"type": "progress"})
    return found


def _sample(kind: types.Type, drawn: random.Random) -> Any:
    match kind:
        case types.StructType():
            fields = {field.name: _sample(field.type, drawn) for field in kind.fields}
            return kind.cls(**fields)
        case types.UnionType():
            return _sample(drawn.choice(kind.types), drawn)
        case types.LiteralType():
            return drawn.choice(kind.values)
        case types.VarTupleType():
            return tuple(_sample(kind.item_type, drawn) for _ in range(drawn.randint(0, 3)))
        case types.NoneType():
            return None
        case types.BoolType():
            return drawn.random() < 0.5
        case types.IntType():
            return drawn.randint(0, 9)
        case types.StrType():
            return drawn.choice(("", "words", "guilty", "{name}", "[0] <1: {2}>", "$& \\1", "이름"))
        case types.AnyType():
            return drawn.choice((None, {}, {"evidence_ids": ["E1", "E2"]}, "text"))
        case types.Metadata():
            return _sample(kind.type, drawn)
    assert isinstance(kind, types.CustomType)
    assert kind.cls is type(UNSET)
    return UNSET


PAGE = """
globalThis.document = { documentElement: {}, querySelectorAll: () => [] };
const { speak } = await import(process.argv[1] + "/parts/language.js");
const { Narration } = await import(process.argv[1] + "/parts/narration.js");
const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { texts, messages } = JSON.parse(Buffer.concat(chunks));
const told = Object.entries(texts).map(([code, one]) => {
  speak({ code, texts: one });
  return [code, Object.fromEntries(Object.entries(messages).map(([game, all]) => {
    const narration = new Narration(game);
    return [game, all.map((message) => narration.line(message))];
  }))];
});
console.log(JSON.stringify(Object.fromEntries(told)));
"""


def _both() -> Iterator[tuple[str, PageLanguage, list[str]]]:
    for game in MESSAGES:
        for language in PAGE_LANGUAGES:
            yield game, language, _told(game, *_messages(game), language=language)


def test_terminal_and_page_tell_the_same() -> None:
    node = Path(playwright.__file__).parent / "driver" / "node"
    web = Path(str(files("playmolt_gateway").joinpath("web")))
    asked = {
        "texts": {language: page_texts(language) for language in PAGE_LANGUAGES},
        "messages": {game: _messages(game) for game in MESSAGES},
    }
    asked["messages"]["pact"] = [{"type": "treaty_signed", "pages": 3, "sealed": True, "by": None, "seals": []}]
    done = subprocess.run(
        [node, "--input-type=module", "--eval", PAGE, web.as_uri()],
        input=msgspec.json.encode(asked), capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr.decode()
    page = msgspec.json.decode(done.stdout)
    for game, language, told in _both():
        assert told == page[language][game]
    assert page["en"]["pact"] == _told("pact", *asked["messages"]["pact"]) == ["treaty signed · pages 3 · sealed true"]


def test_results_are_reported_best_first() -> None:
    results = [
        {"agent_id": "b", "name": "B", "points": 0, "rank": 2, "game_points": 1},
        {"agent_id": "a", "name": "A", "points": 50, "rank": 1, "game_points": 9},
    ]
    assert standings({"results": results}) == ["  50  A  (rank 1, 9 in the game)", "   0  B  (rank 2, 1 in the game)"]
    assert standings({"type": "game_aborted"}) == []


def test_results_of_a_game_still_to_come_are_reported_as_far_as_they_are_alike() -> None:
    results = [{"agent_id": "a", "name": "A", "points": 60, "rank": 1}, {"agent_id": "b", "name": "B", "points": 20}]
    assert standings({"type": "game_end", "results": results}) == ["  60  A  (rank 1)", "  20  B"]
