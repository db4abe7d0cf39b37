"""The content check: the shipped case passes, and each way to break it is told with file, line and code."""

import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from playmolt_core.game.packs.faults import PackFault
from playmolt_core.game.packs.folder import folder_files
from playmolt_core.game.packs.toml_lines import lines_of
from playmolt_jury.content import pack
from playmolt_schemas.canonical import Files, files_digest
from playmolt_schemas.limits import PACK_FILE_BYTES, PACK_FILES

STRUCTURE, CASE, EVIDENCE = "structure.toml", "en/case.toml", "en/evidence.toml"
JURORS, OSEI = "en/jurors.toml", "en/witness_osei.toml"


class Break(NamedTuple):
    """A change of one place, and where its fault stands: at the line of `at`, else of what was put in."""

    file: str
    old: str
    new: str
    code: str
    told: str
    at: str = ""


BREAKS: dict[str, Break] = {
    "no TOML": Break(CASE, "[dossier]", "[dossier", "syntax", "invalid TOML"),
    "an unknown key": Break(STRUCTURE, 'stem = "robin_statement"', 'sten = "x"\nstem = "y"', "unknown_key", "sten"),
    "a missing key": Break(
        STRUCTURE, "initial_stance = 78\n", "", "missing_key", "initial_stance", '[[jurors]]\nid = "radical"'
    ),
    "a wrong type": Break(STRUCTURE, "initial_stance = 78", 'initial_stance = "78"', "wrong_type", "a whole number"),
    "a truth value for a number": Break(STRUCTURE, "threshold = 60", "threshold = true", "wrong_type", "whole number"),
    "an unknown impact": Break(
        STRUCTURE,
        '{ topic = "ai_autonomy", impact = "positive" },\n  { topic = "moral_ambiguity", impact = "neutral" },',
        '{ topic = "ai_autonomy", impact = "maybe" },',
        "wrong_type",
        "negative, neutral, positive",
    ),
    "an item out of order": Break(STRUCTURE, 'id = "E2"', 'id = "E22"', "out_of_bounds", "call it E2"),
    "more rounds than memory": Break(
        STRUCTURE,
        "[[evidence]]",
        "[rules]\nrounds = 99999999999999999999\n\n[[evidence]]",
        "out_of_bounds",
        "choose 1 to 20",
        "rounds = 9",
    ),
    "rounds below zero": Break(
        STRUCTURE, "[[evidence]]", "[rules]\nrounds = -6\n\n[[evidence]]", "out_of_bounds", "choose 1 to 20", "rounds ="
    ),
    "a version with a point": Break("pack.toml", "format = 1", "format = 1.0", "wrong_type", "one of 1"),
    "a pressure beyond all use": Break(STRUCTURE, "threshold = 60", f"threshold = {10**22}", "out_of_bounds", "choose"),
    "the talk's own name for a stem": Break(
        STRUCTURE, 'stem = "robin_statement"', 'stem = "chat_history"', "bad_reference", "choose another stem"
    ),
    "another item's id for a stem": Break(
        STRUCTURE, 'stem = "robin_statement"', 'stem = "E1"', "bad_reference", "choose another stem"
    ),
    "a stem twice": Break(
        STRUCTURE,
        'id = "E2"\nstem = "robin_statement"',
        'id = "E2"\nstem = "system_log"',
        "bad_reference",
        "system_log is used twice",
    ),
    "no topic": Break(
        STRUCTURE,
        'topics = [{ topic = "human_responsibility", impact = "negative" }]',
        "topics = []",
        "out_of_bounds",
        "E5 has 0 topics",
    ),
    "an unknown topic": Break(
        STRUCTURE,
        'topics = [{ topic = "human_responsibility", impact = "negative" }]',
        'topics = [{ topic = "weather", impact = "negative" }]',
        "bad_reference",
        "unknown topic weather",
    ),
    "a lock nobody opens": Break(
        STRUCTURE,
        'stem = "system_log"\n',
        'stem = "system_log"\nlocked = true\n',
        "never_opens",
        "E1 is locked, but no witness unlocks it",
        '[[evidence]]\nid = "E1"',
    ),
    "a key without a lock": Break(
        STRUCTURE,
        'stem = "stair_keypad"\nlocked = true\n',
        'stem = "stair_keypad"\n',
        "bad_reference",
        "unlocks E9, which is not a locked item",
        'unlocks = ["E9", "E10", "E11"]',
    ),
    "a stance off the scale": Break(STRUCTURE, "initial_stance = 78", "initial_stance = 178", "out_of_bounds", "178"),
    "too much power": Break(STRUCTURE, 'speaker_power = "0.7"', 'speaker_power = "1.1"', "out_of_bounds", "'1.1'"),
    "too heavy": Break(STRUCTURE, "human_responsibility = -8", "human_responsibility = -11", "out_of_bounds", "-11"),
    "a weight on nothing": Break(STRUCTURE, "human_responsibility = -8", "weather = 8", "bad_reference", "weather"),
    "no start": Break(
        STRUCTURE, 'start = "canteen"', 'start = "attic"', "bad_reference", "'attic', which is not a node"
    ),
    "a choice to nowhere": Break(
        STRUCTURE,
        '{ id = "night", goto = "alibi" },\n  { id = "robin"',
        '{ id = "night", goto = "attic" },\n  { id = "robin"',
        "bad_reference",
        "node canteen, choice night leads to 'attic'",
    ),
    "a condition on no item": Break(
        STRUCTURE, 'when = { read = ["E7"] }', 'when = { read = ["E77"] }', "bad_reference", "E77"
    ),
    "no threshold": Break(STRUCTURE, "threshold = 60", "threshold = 0", "out_of_bounds", "threshold is 0; choose 1"),
    "a witness too strong": Break(
        STRUCTURE,
        "threshold = 60",
        "threshold = 6000",
        "never_breaks",
        "lin_xia can never be broken",
        '[[witnesses]]\nid = "lin_xia"',
    ),
    "so a lock stays shut": Break(
        STRUCTURE,
        "threshold = 60",
        "threshold = 6000",
        "never_opens",
        "E9 can never be unlocked",
        '[[evidence]]\nid = "E9"',
    ),
    "more taken than given": Break(
        STRUCTURE,
        '{ id = "leave", goto = "batch" }',
        '{ id = "leave", goto = "batch", pressure = -500 }',
        "lost_for_good",
        "lin_xia can become unbreakable",
        '[[witnesses]]\nid = "lin_xia"',
    ),
    "an empty node": Break(
        STRUCTURE,
        '[witnesses.nodes.hours]\nchoices = [\n  { id = "who_listens", goto = "idea", pressure = 10 },\n'
        '  { id = "back", goto = "canteen" },\n]',
        "[witnesses.nodes.hours]\nchoices = []",
        "dead_end",
        "node hours may offer no choice",
        "[witnesses.nodes.hours]",
    ),
    "an island": Break(
        STRUCTURE,
        "[witnesses.nodes.work]",
        "[witnesses.nodes.attic]\nends = true\n\n[witnesses.nodes.work]",
        "unreachable_node",
        "node attic is never reached",
    ),
    "an impossible condition": Break(
        STRUCTURE,
        '{ id = "work", goto = "work" }',
        '{ id = "work", goto = "work", when = { cracked = ["lin_xia"] } }',
        "never_offered",
        "choice work is never available",
    ),
    "an ending too few": Break(
        STRUCTURE,
        '[[endings]]\nid = "guilty_nothing"\nverdict = "guilty"\nwhen = "nothing"\n',
        "",
        "ending_missing",
        "no ending has verdict guilty and when nothing",
        "[[endings]]",
    ),
    "an ending twice": Break(
        STRUCTURE,
        'id = "guilty_nothing"\nverdict = "guilty"\nwhen = "nothing"',
        'id = "guilty_nothing"\nverdict = "guilty"\nwhen = "something"',
        "ending_twice",
        "another ending has verdict guilty",
        '[[endings]]\nid = "guilty_nothing"',
    ),
    "too many rounds": Break(
        STRUCTURE,
        'verdict = "not_guilty"\nwhen = "nothing"\n',
        'verdict = "not_guilty"\nwhen = "nothing"\n\n[rules]\nrounds = 21\n',
        "out_of_bounds",
        "rounds is 21",
        "rounds = 21",
    ),
    "an item without words": Break(EVIDENCE, "[E3]", "[E33]", "missing_text", "evidence E3 has no text", "#0"),
    "words without an item": Break(EVIDENCE, "[E3]", "[E33]", "extra_text", "evidence E33 is not in structure.toml"),
    "a choice without words": Break(
        OSEI,
        'leave = "I\'ve seen what I needed."\n',
        "",
        "missing_text",
        "node bay, choice leave",
        "[nodes.bay.choices]",
    ),
    "an empty text": Break(OSEI, 'back = "I see."', 'back = ""', "missing_text", "is empty; add a text"),
    "a title too long": Break(CASE, 'title = "What the Robin Knew"', f'title = "{"a" * 201}"', "out_of_bounds", "201"),
    "a keyword too short": Break(
        JURORS, '"scapegoat"', '"so"', "out_of_bounds", "'so' has 2", 'trigger_keywords = ["so"'
    ),
    "a keyword told": Break(
        OSEI, 'back = "I see."', 'back = "A Scapegoat."', "gives_away", "trigger keyword of radical"
    ),
    "a topic's id told": Break(
        OSEI, 'back = "I see."', 'back = "Call it moral_ambiguity."', "gives_away", "id of a topic"
    ),
    "a locked id told": Break(OSEI, 'back = "I see."', 'back = "See E15."', "gives_away", "locked evidence E15"),
    "a locked stem told": Break(
        OSEI, 'back = "I see."', 'back = "Ask for two_arms."', "gives_away", "locked evidence E14"
    ),
    "a stance told": Break(OSEI, 'back = "I see."', 'back = "I am 78 sure."', "gives_away", "stance of radical"),
    "another game": Break("pack.toml", 'game = "jury"', 'game = "ox"', "wrong_type", 'game must be "jury"'),
    "a bad id": Break("pack.toml", 'id = "silent-robin"', 'id = "Silent Robin"', "out_of_bounds", "id must be 3 to 40"),
    "a language that is none": Break(
        "pack.toml", '["en", "zh"', '["fr", "zh"', "wrong_type", "one of en, ko, zh", "languages"
    ),
}


@pytest.fixture(scope="module")
def files() -> Files:
    return pack.shipped_files()


def edited(files: Files, file: str, old: str, new: str) -> Files:
    text = files[file].decode()
    assert old in text, old
    return {**files, file: text.replace(old, new, 1).encode()}


def line_of(files: Files, file: str, marker: str) -> int:
    text = files[file].decode()
    return 1 if marker == "#0" else text.count("\n", 0, text.index(marker)) + 1


def test_the_shipped_case_has_no_faults(files: Files) -> None:
    assert pack.check(files) == ()
    assert len(pack.shipped().digest) == 64


@pytest.mark.parametrize("way", BREAKS)
def test_a_broken_pack_is_reported(files: Files, way: str) -> None:
    broken = BREAKS[way]
    changed = edited(files, broken.file, broken.old, broken.new)
    line = line_of(changed, broken.file, broken.at or broken.new)
    found = [each for each in pack.check(changed) if each.code == broken.code and broken.told in each.message]
    assert found, pack.check(changed)[:5]
    near = 2 if broken.code in ("syntax", "missing_key") or "\n" in broken.new else 0
    assert found[0].file == broken.file
    assert line <= found[0].line <= line + near


def test_a_verdict_that_no_talk_can_bring_is_reported(files: Files) -> None:
    changed = edited(files, STRUCTURE, "initial_stance = 65", "initial_stance = 95")
    changed = edited(changed, STRUCTURE, "initial_stance = 54", "initial_stance = 95")
    assert pack.check(changed) == ()
    changed = edited(changed, STRUCTURE, "[[evidence]]", "[rules]\nrounds = 1\n\n[[evidence]]")
    faults = [each for each in pack.check(changed) if each.code == "ending_unreachable"]
    assert len(faults) == 3
    assert faults[0].line == line_of(changed, STRUCTURE, '[[endings]]\nid = "not_guilty_everything"')


def test_all_faults_are_reported_at_once(files: Files) -> None:
    changed = edited(files, OSEI, 'back = "I see."', 'back = ""')
    changed = edited(changed, STRUCTURE, "threshold = 60", "threshold = 6000")
    changed = edited(changed, CASE, "[dossier]", "[dossier")
    faults = pack.check(changed)
    assert {each.code for each in faults} >= {"missing_text", "never_breaks", "syntax"}
    assert list(faults) == sorted(faults)


def test_a_missing_file_stands_in_line_one(files: Files) -> None:
    fewer = {path: content for path, content in files.items() if path not in (JURORS, "pack.toml")}
    faults = pack.check(fewer)
    assert PackFault(JURORS, 1, "missing_text", "en/jurors.toml is missing: add it") in faults
    assert PackFault("pack.toml", 1, "missing_key", "pack.toml is missing: add it") in faults


@pytest.mark.parametrize(
    "path", ["notes.txt", "en/witness_blake.toml", "en/deep/case.toml", "fr/case.toml", "case.toml"]
)
def test_a_file_that_no_pack_has_is_reported(files: Files, path: str) -> None:
    found = {(each.file, each.code) for each in pack.check({**files, path: b""})}
    assert found == {(path, "unknown_file")}


def test_what_is_too_large_is_reported(files: Files) -> None:
    many = {f"en/file_{number}.toml": b"" for number in range(PACK_FILES)}
    assert any(each.code == "out_of_bounds" and "files" in each.message for each in pack.check({**files, **many}))
    large = {**files, "en/large.toml": b"#" * (PACK_FILE_BYTES + 1)}
    assert any((each.file, each.code) == ("en/large.toml", "out_of_bounds") for each in pack.check(large))


def test_of_too_many_files_nothing_else_is_reported(tmp_path: Path, files: Files) -> None:
    for path, content in (files | {f"en/witness_w{number}.toml": b"" for number in range(PACK_FILES)}).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    read, _ = folder_files(tmp_path)
    assert [(each.file, each.code) for each in pack.check(read)] == [("pack.toml", "out_of_bounds")]


def test_the_mark_of_some_editors_is_not_a_fault(files: Files) -> None:
    marked = {path: b"\xef\xbb\xbf" + content for path, content in files.items()}
    assert pack.check(marked) == ()
    assert pack.read(marked).materials == pack.read(files).materials


def test_what_is_not_text_is_reported(files: Files) -> None:
    assert any(each.code == "syntax" for each in pack.check({**files, CASE: b"\n\xff"}) if each.line == 2)


def test_a_list_of_words_is_read_as_one(files: Files) -> None:
    found = pack.check({**files, "lexicon.en.json": b'{"negators": [], "topics": {"weather": {}}}'})
    assert [(each.file, each.code) for each in found] == [("lexicon.en.json", "wrong_type")]
    empty = '{"positive": ["rain"], "negative": [], "neutral": []}'
    found = pack.check({**files, "lexicon.en.json": f'{{"negators": [], "topics": {{"weather": {empty}}}}}'.encode()})
    assert [(each.file, each.code) for each in found] == [("lexicon.en.json", "bad_reference")]


def test_another_byte_is_another_digest(files: Files) -> None:
    assert files_digest({**files, CASE: files[CASE] + b"\n"}) != files_digest(files)
    assert files_digest(dict(reversed(list(files.items())))) == files_digest(files)


def test_a_link_is_not_a_file_of_a_pack(tmp_path: Path, files: Files) -> None:
    (tmp_path / "pack.toml").write_bytes(files["pack.toml"])
    (tmp_path / "structure.toml").symlink_to(tmp_path / "pack.toml")
    found, faults = folder_files(tmp_path)
    assert list(found) == ["pack.toml"]
    assert [(each.file, each.code) for each in faults] == [("structure.toml", "unknown_file")]


@pytest.mark.parametrize("text", ["It was 02:65.", "165 pages", "6.65 metres", "E150 is a dye", "Grade 65:2"])
def test_what_only_looks_like_a_secret_may_be_told(files: Files, text: str) -> None:
    assert pack.check(edited(files, OSEI, 'back = "I see."', f'back = "{text}"')) == ()


@pytest.mark.parametrize("path", sorted(path for path in pack.shipped_files() if path.endswith(".toml")))
def test_every_key_of_a_file_has_its_line(files: Files, path: str) -> None:
    text = files[path].decode()
    lines, source = lines_of(text), text.split("\n")

    def walk(value: object, at: tuple[str | int, ...]) -> None:
        children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, each in children:
            line = lines[(*at, key)]
            assert isinstance(key, int) or key in source[line - 1]
            walk(each, (*at, key))

    walk(tomllib.loads(text), ())


LINES: dict[str, tuple[str, tuple[str | int, ...], int]] = {
    "a quoted key": ('\n"a b" = 1\n', ("a b",), 2),
    "a dotted key": ("x.y = 1\n[z]\nx.y = 2", ("z", "x", "y"), 3),
    "a long text": ("a = '''\n[no]\n'''\nb = 2", ("b",), 4),
    "a comment in a list": ("a = [\n 1, # ]\n 2,\n]\nb = 1", ("b",), 5),
    "a table in a list": ("[[a]]\nx = 1\n[[a]]\n[a.b]\ny = 2", ("a", 1, "b", "y"), 5),
    "a date and a float": ("a = 2026-11-26T01:02:03Z\nb = 1.5e3\nc = {d = [{e = 1}]}", ("c", "d", 0, "e"), 3),
}


@pytest.mark.parametrize("way", LINES)
def test_lines_are_found_in_any_toml(way: str) -> None:
    text, path, line = LINES[way]
    assert tomllib.loads(text)
    assert lines_of(text)[path] == line
