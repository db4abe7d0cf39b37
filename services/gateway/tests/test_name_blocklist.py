"""Words that names must not contain: which names they are found in, and a file that changes while gateways run."""

from pathlib import Path
from typing import Any

import pytest
from playmolt_core.settings import InvalidSettings, sound
from playmolt_gateway.name_blocklist import MOST_BYTES, NameBlocklist, read_words
from playmolt_gateway.settings import GatewaySettings

LIST = "\ufeff# Words, one a line\n\nslur\n Straße \nvery bad\n나쁜말\n坏话\n88\nİz\n卐\n🖕\nnaïve\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "words.txt"
    made.write_text(LIST, "utf-8")
    return made


@pytest.mark.parametrize(
    "name",
    [
        "slur", "A SLUR!", "my-slur-bot", "slur_bot", "ｓｌｕｒ", "sl\u200bur", "x\u200dslur", "STRASSE 7",
        "very   bad", "Very-Bad", "나쁜말", "\u1102\u1161\u1108\u1173\u11ab\u1106\u1161\u11af", "坏话 bot", "agent 88",
        "nai\u0308ve", "🖕🖕", "卐",
    ],
)  # fmt: skip
def test_a_word_is_found_in_any_case_width_and_composition(file: Path, name: str) -> None:
    assert NameBlocklist(str(file)).blocks(name)


@pytest.mark.parametrize(
    "name", ["slurry", "aslur", "slur2", "very good bad", "bad very", "나쁜말들", "坏话儿", "1988", "naive", "", "Ada"]
)
def test_only_whole_words_are_found(file: Path, name: str) -> None:
    assert not NameBlocklist(str(file)).blocks(name)


@pytest.mark.parametrize("entry", ["می\u200cخوره", "क्\u200dष", "sl\u00adur", "👩\u200d🚀", "\u200bslur"])
def test_joiners_of_an_entry_do_not_count(tmp_path: Path, entry: str) -> None:
    """Keyboards put them in, and others leave them out."""
    file = tmp_path / "words.txt"
    file.write_text(entry, "utf-8")
    for name in (entry, "".join(char for char in entry if char not in "\u200b\u200c\u200d\u00ad")):
        assert NameBlocklist(str(file)).blocks(f"a {name} bot"), ascii(name)
    assert not NameBlocklist(str(file)).blocks("sl ur")


def test_without_a_file_every_name_is_allowed() -> None:
    assert not NameBlocklist("").blocks("slur")


def test_a_changed_file_applies_to_the_next_name(file: Path) -> None:
    words = NameBlocklist(str(file))
    assert not words.blocks("nice")
    file.write_text("nice\n", "utf-8")
    assert words.blocks("nice")
    assert not words.blocks("slur")
    other = file.with_name("other")
    other.write_text("slur\n", "utf-8")
    other.rename(file)
    assert words.blocks("slur"), "a file that replaces another, as a mounted ConfigMap does"


def test_the_last_good_list_applies_while_the_file_is_broken(file: Path) -> None:
    words = NameBlocklist(str(file))
    assert words.blocks("slur")
    for broken in (b"\xff\xfe", b"a\x00b", b"x" * (MOST_BYTES + 1)):
        file.write_bytes(broken)
        assert words.blocks("slur")
        assert not words.blocks("nice")
    file.unlink()
    assert words.blocks("slur")
    file.write_text("nice\n", "utf-8")
    assert words.blocks("nice")


@pytest.mark.parametrize(
    ("content", "fault"),
    [(None, "No such file"), (b"\xff", "not UTF-8"), (b"a\x00", "NUL"), (b"x" * (MOST_BYTES + 1), "larger")],
)
def test_a_file_that_cannot_be_read_is_one_clear_line_at_the_start(
    tmp_path: Path, content: bytes | None, fault: str
) -> None:
    file = tmp_path / "words.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidSettings, match=f"^PLAYMOLT_NAME_BLOCKLIST: .*{fault}") as caught:
        sound(GatewaySettings(name_blocklist=str(file)))
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="Is a directory"):
        read_words(tmp_path)


async def test_names_of_agents_owners_and_tournaments_are_refused(
    make_platform: Any, problem: Any, file: Path, tmp_path: Path
) -> None:
    platform = make_platform(name_blocklist=str(file), open_tournaments=True)
    owner = await platform.send("POST", "/api/owners", json={"name": "Ada"})
    key = {"Authorization": f"Bearer {owner.json()['owner_key']}"}
    new = {"game_type": "ox", "format": "arena", "duration_minutes": 5, "min_entrants": 5, "max_entrants": 9}
    calls = [
        ("POST", "/api/agents", {}, {}),
        ("POST", "/api/agents", platform.operator, {"kind": "house"}),
        ("POST", "/api/owners", {}, {}),
        ("POST", "/api/owners/me/agents", key, {}),
        ("POST", "/api/tournaments", key, new),
        ("PATCH", "/api/tournaments/tournament-0190c3f8-1111-7222-8333-444455556666", key, {}),
    ]
    for method, path, headers, more in calls:
        answer = await platform.send(method, path, json={"name": "A Slur", **more}, headers=headers)
        assert problem(answer) == (400, "invalid_request"), path
        assert [one["field"] for one in answer.json()["errors"]] == ["name"]
        assert "slur" not in answer.text.lower()
        allowed = await platform.send(method, path, json={"name": "A Slurry", **more}, headers=headers)
        assert allowed.status_code < 400, allowed.text
