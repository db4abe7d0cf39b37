"""A plan's folder: what is read of it, every fault with its file and line, and a lock that names each byte."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.folder.source import Source, sha256
from playmolt_agora_runner.plan import preview, reading
from playmolt_core.llm.catalogue import Catalogue
from playmolt_schemas.agora.plan import PlanFault, Preview
from playmolt_schemas.stored.agora.plan import Plan
from playmolt_schemas.stored.agora.world import Rules

from tests.agora_locks import power

Changed = Callable[[str, str, str], PlanFolder]
PASTURE, GRABBER = "worlds/pasture.toml", "personas/grabber.toml"


def faults(found: PlanFolder) -> list[tuple[str, int | None, str]]:
    return [(fault.file, fault.line, fault.code) for fault in found.faults]


def line_of(folder: PlanFolder, path: str, part: str) -> int:
    return folder.texts[path][: folder.texts[path].index(part)].count("\n") + 1


def test_the_example_has_no_fault_and_all_of_it_is_locked(folder: PlanFolder, commons: Path) -> None:
    assert folder.faults == ()
    (room,) = folder.rooms
    assert (room.name, len(room.seats), room.turns) == ("pasture", 8, 12)
    assert folder.folder is not None
    on_disk = {path.relative_to(commons).as_posix() for path in commons.rglob("*.*") if path.name != "plan.yaml"}
    assert {file.path for file in folder.folder.files} == on_disk
    for file in folder.folder.files:
        assert file.sha256 == sha256((commons / file.path).read_text("utf-8"))


def test_another_byte_is_another_lock(folder: PlanFolder, changed: Changed) -> None:
    again = changed(GRABBER, "Harvest while you can.", "Harvest whenever you can.")
    assert again.faults == ()
    assert again.folder is not None
    assert folder.folder is not None
    assert again.folder.hash != folder.folder.hash


@pytest.mark.parametrize(
    ("written", "stored"),
    [("0", "0"), ("2", "2"), ("10.0", "10"), ("1e-3", "0.001"), ("0.3333333333333333", "0.3333333333333333")],
)
def test_a_rate_is_any_number_and_stored_as_decimal_text(changed: Changed, written: str, stored: str) -> None:
    read = changed(PASTURE, 'rate = "0.35"', f"rate = {written}")
    assert read.faults == ()
    own = read.rooms[0].rules["own"]
    assert own["resources"]["grass"]["regrowth"]["rate"] == stored


def test_a_whole_number_may_have_a_point(folder: PlanFolder, changed: Changed) -> None:
    read = changed(PASTURE, "max = 200", "max = 200.0")
    assert (read.faults, read.rooms) == ((), folder.rooms)


@pytest.mark.parametrize(
    ("path", "old", "new", "code"),
    [
        (PASTURE, "turns = 40", "turns = 4000", "out_of_range"),
        (PASTURE, 'hears = ["well"]', 'hears = ["moon"]', "out_of_range"),
        (PASTURE, "max = 200", "most = 200", "unknown_key"),
        (PASTURE, "turns = 40", 'shell = { ko = 3, en = "a.md" }\nturns = 40', "wrong_type"),
        (PASTURE, 'class = "A"', 'class = "D"', "out_of_range"),
        pytest.param(PASTURE, "max = 200", f"max = {'9' * 5000}", "unreadable", id="more digits than Python reads"),
        (GRABBER, 'home = "pasture"', 'house = "pasture"', "unknown_key"),
        (PASTURE, "resource = { grass = 0 }", "resource = { grass = 120 }", "world_ends_at_once"),
        (PASTURE, 'where = ["pasture"]\namount', 'where = ["moon"]\namount', "out_of_range"),
        (
            "measures/harvest_share.py",
            "SECONDS, MEMORY_MB = 60, 512",
            "SECONDS, MEMORY_MB = 6000, 512",
            "measure_declaration",
        ),
        ("measures/harvest_share.py", "def measure(turns):", "def measure(turns, other):", "measure_syntax"),
    ],
)
def test_a_fault_names_its_file_and_line(
    folder: PlanFolder, changed: Changed, path: str, old: str, new: str, code: str
) -> None:
    found = faults(changed(path, old, new))
    assert (path, line_of(folder, path, old), code) in found, found


def test_every_fault_is_reported_at_once(plan: Plan, folder: PlanFolder) -> None:
    files = dict(folder.texts)
    files[PASTURE] = files[PASTURE].replace("turns = 40", "turns = 4000")
    files[GRABBER] = files[GRABBER].replace("home =", "house =")
    assert {fault.file for fault in folder_reading.read(plan, Source(files)).faults} >= {PASTURE, GRABBER}


def test_a_world_in_which_nobody_can_pay_for_anything_is_refused(plan: Plan, folder: PlanFolder) -> None:
    text = folder.texts[PASTURE].replace('take = { grass = "amount" }', "take = { grass = 1000 }")
    found = folder_reading.read(plan, Source({**folder.texts, PASTURE: text}))
    (fault,) = (fault for fault in found.faults if fault.code == "world_unpayable")
    assert (fault.file, "harvest" in fault.field) == (PASTURE, True)


def test_what_no_plan_uses_is_named_and_not_locked(plan: Plan, folder: PlanFolder) -> None:
    found = folder_reading.read(plan, Source({**folder.texts, "worlds/other.toml": "not = [even, toml"}))
    assert found.faults == ()
    assert "worlds/other.toml" not in found.texts
    assert any("worlds/other.toml" in warning for warning in found.warnings)


@pytest.mark.parametrize("path", ["measures/README.md", "baselines/notes.txt"])
def test_only_python_files_are_measures_and_only_sheets_are_baselines(
    plan: Plan, folder: PlanFolder, path: str
) -> None:
    found = folder_reading.read(plan, Source({**folder.texts, path: "Notes."}))
    assert found.faults == ()
    assert found.warnings == (f"{path} is in the folder but not used by the plan.",)


@pytest.fixture(scope="session")
def rich(folder: PlanFolder) -> dict[str, str]:
    """The example's files with texts of its own, so that there is one of everything."""
    world = folder.texts[PASTURE] + '\n[places.barn]\ntitle = { ko = "헛간", en = "Barn" }\n'
    world = world.replace("turns = 40", f"turns = 40\n{TEMPLATES}")
    return {
        **folder.texts,
        PASTURE: world,
        "texts/turn_ko.md": "할 일:\n{actions}\n",
        "texts/turn_en.md": "Do:\n{actions}\n",
    }


TEMPLATES = 'template = { ko = "turn_ko.md", en = "turn_en.md" }'
MEASURE, SEASONS, STEWARD = "measures/harvest_share.py", "events/seasons.toml", "personas/steward.toml"
EDITS = (
    (PASTURE, "turns = 40", "turns = 4000", "out_of_range"),
    (PASTURE, 'hears = ["well"]', 'hears = ["moon"]', "out_of_range"),
    (PASTURE, "max = 200", 'max = "much"', "wrong_type"),
    (PASTURE, 'class = "A"', 'class = "D"', "out_of_range"),
    (PASTURE, "events = 12", "events = 12\nloud = true", "unknown_key"),
    (PASTURE, 'title = { ko = "우물", en = "Well" }', 'title = { ko = "우물" }', "missing_text"),
    (PASTURE, 'label = { ko = "풀을 거두기"', 'labels = { ko = "풀을 거두기"', "unknown_key"),
    (PASTURE, 'label = { ko = "이동하기", en = "Move" }', 'label = { ko = "이동하기" }', "asymmetric"),
    (PASTURE, "cost = { influence", "cost = { energy = 1, influence", "out_of_range"),
    (PASTURE, "speaking_weight = 3", "speaking_weight = 30", "out_of_range"),
    (
        PASTURE,
        'title = { ko = "헛간", en = "Barn" }',
        f'title = {{ ko = "헛간", en = "{"Barn" * 16}" }}',
        "out_of_range",
    ),
    (GRABBER, 'home = "pasture"', 'house = "pasture"', "unknown_key"),
    (GRABBER, "Harvest while you can.", "Harvest 3 while you can.", "asymmetric"),
    (STEWARD, 'constraint_level = "high"', "constraint_level = 3", "wrong_type"),
    (SEASONS, "turn = ", "turn = -", "out_of_range"),
    (SEASONS, "A dry spell came", "A dry spell of 2 weeks came", "asymmetric"),
    (MEASURE, "SECONDS, MEMORY_MB = 60, 512", "SECONDS, MEMORY_MB = 6000, 512", "measure_declaration"),
    ("texts/turn_en.md", "{actions}", "{acts} {actions}", "unknown_key"),
)


def edited(files: Mapping[str, str], edits: Iterable[tuple[str, str, str, str]]) -> dict[str, str]:
    found = dict(files)
    for path, old, new, _ in edits:
        assert old in found[path], (path, old)
        found[path] = found[path].replace(old, new, 1)
    return found


def test_the_rich_folder_has_no_fault(plan: Plan, rich: dict[str, str]) -> None:
    assert folder_reading.read(plan, Source(rich)).faults == ()


@settings(max_examples=60)
@given(chosen=st.sets(st.sampled_from(EDITS), min_size=1))
def test_however_many_faults_there_are_each_is_reported_once_with_its_line(
    plan: Plan, rich: dict[str, str], chosen: set[tuple[str, str, str, str]]
) -> None:
    files = edited(rich, chosen)
    found = folder_reading.read(plan, Source(files))
    told = Counter((fault.file, fault.line, fault.code) for fault in found.faults)
    for path, _, new, code in chosen:
        last = files[path][: files[path].index(new) + len(new)].count("\n") + 1
        near = [line for file, line, each in told if (file, each) == (path, code) and line is not None]
        assert any(0 <= last - line <= 5 for line in near), (path, new, code, found.faults)
    assert sum(told.values()) == len(chosen), found.faults


def examined_plan(text: str, folder: PlanFolder, files: Mapping[str, str]) -> Preview:
    read = reading.reading(text)
    assert read.plan is not None
    return preview.examined(
        read, Catalogue(), folder=folder_reading.read(read.plan, Source(files), read.places), power=power
    )


TWO_ROOMS = """
name: two
seed: "1"
models: [scripted-steady]
languages: [ko, en]
rooms:
  - {name: first, world: pasture, runs: %s, turns: 12, events: [seasons], seats: [{persona: steward, count: %s}]}
  - {name: second, world: pasture, runs: 1, turns: %s, seats: [{persona: grabber, count: 2}, {persona: missing}]}
measures: [harvest_share]
"""


@pytest.mark.parametrize(
    ("values", "fields"),
    [
        (("1", "201", "4"), {"rooms[0].seats[0].count"}),
        (("1", "0", "4"), {"rooms[0].seats[0].count"}),
        (("-1", "2", "4"), {"rooms[0].runs"}),
        (("many", "2", "4"), {"rooms[0].runs"}),
        (("1", "2", "1001"), {"rooms[1].turns"}),
        (("many", "201", "0"), {"rooms[0].runs", "rooms[0].seats[0].count", "rooms[1].turns"}),
    ],
)
def test_a_value_at_fault_hides_no_other_fault_and_calls_no_used_file_unused(
    folder: PlanFolder, values: tuple[str, ...], fields: set[str]
) -> None:
    found = examined_plan(TWO_ROOMS % values, folder, folder.texts)
    assert {fault.field for fault in found.faults if not fault.file} == fields
    assert [fault.file for fault in found.faults if fault.file] == ["personas/missing.toml"]
    assert (found.runs, found.turns, found.calls) == (None, None, None)
    unused = {warning.partition(" ")[0] for warning in found.warnings if "not used" in warning}
    assert unused == {path for path in folder.texts if path.endswith(("follower.toml", "elder.toml"))}


def test_a_room_that_cannot_be_read_leaves_the_places_of_the_others(folder: PlanFolder) -> None:
    """Which files it uses is unknown."""
    text = (TWO_ROOMS % ("1", "2", "4")).replace("name: first, world: pasture", "name: first, world: [no]")
    found = examined_plan(text.replace("name: second", "name: phase1"), folder, folder.texts)
    assert {(fault.field, fault.code) for fault in found.faults if not fault.file} == {
        ("rooms[0].world", "wrong_type"), ("rooms[1].name", "name_taken"),
    }  # fmt: skip
    assert [warning for warning in found.warnings if "not used" in warning] == []


def test_the_rooms_without_a_fault_are_in_the_matrix(folder: PlanFolder) -> None:
    text = (TWO_ROOMS % ("1", "201", "4")).replace(", {persona: missing}", "")
    found = examined_plan(text, folder, folder.texts)
    assert {row.phase for row in found.matrix} == {"second"}
    assert [fault.field for fault in found.faults] == ["rooms[0].seats[0].count"]


def test_a_file_at_fault_hides_no_seat_from_a_question_and_no_run_from_a_total(folder: PlanFolder) -> None:
    """Its room still has its seats and its turns; how much it would cost is unknown."""
    text = (TWO_ROOMS % ("1", "2", "4")).replace(", {persona: missing}", "") + (
        "interviews:\n"
        "  - {id: trust, at: [6], ask: {ko: '믿습니까?', en: 'Do you trust?'}, scale: {from: 1, to: 7}, who: steward}\n"
    )
    asked = examined_plan(text, folder, folder.texts)
    assert (asked.faults, asked.runs) == ((), 4)
    broken = folder.texts | {"personas/steward.toml": folder.texts["personas/steward.toml"].replace("home", "house")}
    found = examined_plan(text, folder, broken)
    assert [(fault.file, fault.code) for fault in found.faults] == [("personas/steward.toml", "unknown_key")]
    assert (found.runs, found.agents, found.turns, found.calls, found.cost) == (None,) * 5
    late = examined_plan(text.replace("at: [6]", "at: [99]").replace("who: steward", "who: stewart"), folder, broken)
    assert [fault.field for fault in late.faults if not fault.file] == ["interviews[0].at[0]", "interviews[0].who"]


@pytest.mark.parametrize(
    "change", [{"runs": 1001}, {"turns": 0}, {"name": "Upper"}, {"seats": []}, {"colour": 1, "runs": -1}]
)
def test_a_plan_of_rooms_alone_has_one_fault_for_each_fault_of_a_room(change: dict[str, Any]) -> None:
    room = {"name": "r", "world": "phase1", "runs": 1, "seats": [{"persona": "merchant"}]}
    found = reading.reading({"name": "n", "models": ["scripted"], "rooms": [room | change]})
    assert [fault.field for fault in found.faults] == [f"rooms[0].{name}" for name in change]
    none = reading.reading({"name": "n", "models": ["scripted"], "rooms": [room | {"runs": 0}]})
    assert [fault.field for fault in none.faults] == ["phases"]


@pytest.mark.parametrize(
    ("path", "old", "new", "field"),
    [
        (PASTURE, 'take = { grass = "amount" }', "take = { grass = -1 }", "actions.harvest.take.grass"),
        (PASTURE, 'take = { grass = "amount" }', "take.grass = 1.5", "actions.harvest.take.grass"),
        (PASTURE, "resource = { grass = 0 }", "resource = { grass = true }", "end.resource.grass"),
        ("events/seasons.toml", "{ grass = 15 }", '{ grass = "much" }', "event[0].resources.grass"),
    ],
)
def test_a_fault_in_a_table_of_numbers_names_its_entry(
    changed: Callable[[str, str, str], PlanFolder], path: str, old: str, new: str, field: str
) -> None:
    found = [(fault.file, fault.field, fault.line is not None) for fault in changed(path, old, new).faults]
    assert found == [(path, field, True)]


ROOM = "  - {name: %s, world: %s, runs: 1, turns: 3, languages: %s, seats: [{persona: %s, count: 2}]}\n"


def rooms_of(folder: PlanFolder, files: Mapping[str, str], *rooms: tuple[str, str, str, str]) -> list[PlanFault]:
    """The faults of a plan in Korean with these rooms: name, world, languages, persona."""
    head = 'name: n\nseed: "1"\nmodels: [scripted-steady]\nlanguages: [ko]\nmeasures: []\nrooms:\n'
    found = examined_plan(head + "".join(ROOM % room for room in rooms), folder, {**folder.texts, **files})
    return list(found.faults)


def test_a_file_has_its_texts_in_the_languages_of_all_rooms_that_use_it(folder: PlanFolder) -> None:
    files = {
        PASTURE: folder.texts[PASTURE].replace(', en = "Well" }', " }"),
        GRABBER: folder.texts[GRABBER].partition("en = '''")[0],
    }
    korean, both = ("first", "pasture", "[ko]", "grabber"), ("second", "pasture", "[ko, en]", "grabber")
    assert rooms_of(folder, files, korean) == []
    for rooms in ((korean, both), (both, korean)):
        found = {(fault.file, fault.field, fault.code) for fault in rooms_of(folder, files, *rooms)}
        assert found == {(PASTURE, "places.well.title.en", "missing_text"), (GRABBER, "en", "missing_text")}


def test_a_question_has_its_texts_in_the_languages_of_every_room(folder: PlanFolder) -> None:
    asked = '{id: trust, at: [0, 2], ask: {ko: "믿습니까?"}, scale: {from: 1, to: 7}}'
    head = 'name: n\nseed: "1"\nmodels: [scripted-steady]\nlanguages: [ko]\nmeasures: []\nrooms:\n'
    text = f"{head}{ROOM % ('room', 'pasture', '[en]', 'grabber')}interviews: [{asked}]\n"
    found = examined_plan(text, folder, folder.texts).faults
    assert [(fault.field, fault.line, fault.code) for fault in found] == [("interviews[0].ask.en", 8, "missing_text")]


def test_a_fault_of_a_world_that_others_begin_with_is_reported_once_at_its_own_line(folder: PlanFolder) -> None:
    base = folder.texts[PASTURE].replace('hears = ["well"]', 'hears = ["moon"]').replace("max = 200", 'max = "much"')
    files = {PASTURE: base, **{f"worlds/{name}.toml": 'like = "pasture"\nturns = 9\n' for name in ("one", "two")}}
    found = rooms_of(folder, files, *((name, name, "[ko, en]", "grabber") for name in ("one", "two")))
    wrong = {"places.pasture.hears": "hears = ", "resources.grass.max": 'max = "much"'}
    assert {(fault.file, fault.line, fault.field) for fault in found} == {
        (PASTURE, base[: base.index(part)].count("\n") + 1, field) for field, part in wrong.items()
    }
    assert len(found) == len(wrong)


def test_a_world_sets_a_table_in_part_and_keeps_the_rest_of_what_it_begins_with(plan: Plan, folder: PlanFolder) -> None:
    child = 'like = "pasture"\n[hearing]\nevents = 3\n[end]\nalive = 1\n'
    base = folder.texts[PASTURE].replace('who = "place"', 'who = "ring"\nreach = 2')
    (room,) = plan.rooms or ()
    made = folder_reading.read(
        msgspec.structs.replace(plan, rooms=(msgspec.structs.replace(room, world="child"),)),
        Source({**folder.texts, PASTURE: base, "worlds/child.toml": child}),
    )
    (locked,) = made.rooms
    own = msgspec.convert(locked.rules, Rules).own
    assert own
    assert own.hearing
    assert (own.hearing.who, own.hearing.reach, own.hearing.events) == ("ring", 2, 3)
    assert (own.end.alive, own.end.resource) == (1, {"grass": 0})


def test_a_place_can_be_entered_where_a_seat_of_a_later_room_starts(folder: PlanFolder) -> None:
    world = folder.texts[PASTURE].replace("[places.well]", '[places.well]\nto = ["pasture"]')
    world = world.replace('hears = ["well"]', 'hears = ["well"]\nto = ["well"]')
    world += '\n[places.isle]\ntitle = { ko = "섬", en = "Isle" }\n'
    islander = folder.texts[GRABBER].replace('home = "pasture"', 'home = "isle"')
    files = {PASTURE: world, "personas/islander.toml": islander}
    first, later = ("first", "pasture", "[ko]", "grabber"), ("later", "pasture", "[ko]", "islander")
    assert [fault.code for fault in rooms_of(folder, files, first)] == ["world_unreachable"]
    assert rooms_of(folder, files, first, later) == []


def test_rooms_that_are_equal_have_a_fault_each(folder: PlanFolder) -> None:
    room = ("same", "pasture", "[ko]", "grabber")
    found = rooms_of(folder, {}, room, room)
    assert [(fault.line, fault.field) for fault in found] == [(7, "rooms[0].name"), (8, "rooms[1].name")]


@pytest.mark.parametrize(
    ("path", "text", "line", "field"),
    [
        (GRABBER, "ko = '''\nhome = 3\n[x]\n'''\nen = '''\nhome = 3\n[x]\n'''\nhome = 5\n", 9, "home"),
        (GRABBER, "ko = 'a'\nen = 'a'\nhome = 'moon'\n", 3, "home"),
        (SEASONS, "[[event]]\nturn = 1\nko = 'a'\nen = 'a'\n[event.resources]\ngrass = 'x'\n", 6, "event[0].resources"),
        (SEASONS, "[[event]]\nturn = 1\nko = 'a'\nen = 'a'\nresources.wheat = 1\n", 5, "event[0].resources"),
        (SEASONS, "[[event]]\nko = 'a'\nen = 'a'\nturn = 13\n", 4, "event[0].turn"),
    ],
)
def test_a_fault_is_at_the_line_of_its_value(
    plan: Plan, folder: PlanFolder, path: str, text: str, line: int, field: str
) -> None:
    found = folder_reading.read(plan, Source({**folder.texts, path: text})).faults
    assert [(fault.file, fault.line) for fault in found if fault.field.startswith(field)] == [(path, line)]


@pytest.mark.parametrize(
    ("energy", "field", "code"),
    [
        ("start = 0\nmax = 30", "energy.start", "out_of_range"),
        ('start = "ten"\nmax = 30', "energy.start", "wrong_type"),
        ('start = 30\nledger = "none"\ndeath = true', "energy.death", "out_of_range"),
    ],
)
def test_a_fault_of_energy_has_its_own_name_and_is_the_only_one(
    folder: PlanFolder, changed: Changed, energy: str, field: str, code: str
) -> None:
    found = changed(PASTURE, "[end]", f"[energy]\n{energy}\n\n[end]").faults
    assert [(fault.field, fault.code) for fault in found] == [(field, code)]
    first = line_of(folder, PASTURE, "[end]") + 1
    assert found[0].line == first + energy.split("\n").index(next(e for e in energy.split("\n") if field[7:] in e))


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("turns = 40", "turns = 1000", None),
        ("turns = 40", "turns = 1001", "out_of_range"),
        ("turns = 40", "turns = 0", "out_of_range"),
        ("turns = 40", 'turns = "many"', "wrong_type"),
        ("turns = 40", 'turns = 40\nshell = "well"', "wrong_type"),
        ("turns = 40", 'turns = 40\nlike = ""', "missing_file"),
        ("[end]", "[influence]\nstart = 10000\n\n[end]", None),
        ("[end]", "[influence]\nstart = 10001\n\n[end]", "out_of_range"),
        ("[end]", '[influence]\nstart = "much"\n\n[end]', "wrong_type"),
        ("[end]", "[influence]\nfirst = 1\n\n[end]", "unknown_key"),
        ("[end]", "[energy]\ndecay = 10000\n\n[end]", None),
        ("[end]", "[energy]\ndecay = 10001\n\n[end]", "out_of_range"),
        ("[end]", "[energy]\nstart = 0\n\n[end]", "out_of_range"),
        ("[end]", "[energy]\nmax = 10001\n\n[end]", "out_of_range"),
        ("[end]", "[energy]\ndeath = 1\n\n[end]", "wrong_type"),
        ('en = "The pasture"', f'en = "{"x" * 60}"', None),
        ('en = "The pasture"', f'en = "{"x" * 61}"', "out_of_range"),
    ],
)
def test_the_bounds_of_keys_that_no_struct_declares(
    changed: Callable[[str, str, str], PlanFolder], old: str, new: str, code: str | None
) -> None:
    found: list[Any] = [fault.code for fault in changed(PASTURE, old, new).faults]
    assert (found == []) if code is None else (code in found), found
