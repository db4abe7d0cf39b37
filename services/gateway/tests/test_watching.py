"""A game that is shared: what its link says before anybody opens it, its picture, its frame, its file."""

import asyncio
import gzip
import json
import re
from typing import Any

import brotli
import pytest
from playmolt_gateway.access.invites import invite_hash
from playmolt_gateway.http.compression import AT_ONCE_BYTES, LEAST_BYTES, LONG_AT_ONCE, JsonCompressor
from playmolt_gateway.http.responses import json_response
from playmolt_gateway.pictures import ox
from playmolt_gateway.pictures.png import png
from playmolt_gateway.pictures.scene import TALL, WIDE, PictureTexts, Sheet
from playmolt_gateway.pictures.svg import plain
from playmolt_schemas.codes import ARCHIVED, Code, problem_bytes
from playmolt_schemas.skill import page_texts
from playmolt_schemas.text import WITHHELD

GAME = "ox-0190c3f8-1111-7222-8333-444455556666"
NAMES = ("Ada", "Bo", "<b>Cy</b>", "\u202b\u05d0\u05d1", "Z\u0301\u0301\u0301\u0301\u0301algo")
SIDES = "OOXOX"
LAST = 20


def state(version: int = LAST, phase: str = "switch") -> dict[str, Any]:
    """An O/X game: revealed and counted from version 12 on, over at its last."""
    shown = version >= 12
    over = version == LAST and phase == "end"
    seats = [
        {"id": f"agent-{n}", "name": name, "handle": f"seat-{n}", "kind": "bot", "version": None, "model": None,
         "submitted": n < 2, "away": n == 4, "resigned": False}
        for n, name in enumerate(NAMES)
    ]  # fmt: skip
    lines = [
        {**seat, "points": 6 * (side == "X"), "monopolies": 0, "switch_available": True}
        for seat, side in zip(seats, SIDES, strict=True)
    ]
    choices = [
        {
            "id": seat["id"],
            "first_choice": side,
            "final_choice": side,
            "switched": False,
            "comment": "",
            "switch_comment": "",
        }
        for seat, side in zip(seats, SIDES, strict=True)
    ]
    counted = {
        "round": 1,
        "question": "Is it so?",
        "distribution": {"O": 3, "X": 2},
        "minority": "X",
        "points_awarded": 6,
        "winners": [],
        "choices": choices,
    }
    winner = {"agent_id": "agent-2", "name": NAMES[2], "rank": 1, "points": 200, "game_points": 6}
    revealed = [
        {"id": seat["id"], "name": seat["name"], "choice": side, "comment": ""}
        for seat, side in zip(seats, SIDES, strict=True)
    ]
    return {
        "game_id": GAME, "gameType": "ox", "version": version, "round": 1, "maxRounds": 5, "phase": phase,
        "question": "Is it so?", "participants": seats,
        "reveal": revealed if shown else [],
        "decisions": [], "scoreboard": lines, "history": [counted] if shown else [], "allowed_actions": [],
        "phase_submissions": {"submitted": 2, "total": 5}, "deadline": None, "seconds_left": None, "turn_id": None,
        "results": [winner] if over else None,
    }  # fmt: skip


@pytest.fixture
def served(platform: Any) -> Any:
    """A platform with one game, which is over."""

    def engine(_game: str, call: Any) -> tuple[int, Any]:
        asked = json.loads(call.body)
        if call.target != GAME or asked.get("at", 1) > LAST:
            return 404, {"code": "not_found", "detail": "", "status": 404, "title": ""}
        return 200, state(asked.get("at", LAST), "end" if asked.get("at", LAST) == LAST else "switch")

    platform.bus.engine = engine
    return platform


def content(html: str, name: str) -> str:
    found = re.search(rf'<meta (?:name|property)="{name}" content="([^"]*)">', html)
    assert found is not None, name
    return found[1]


async def test_a_link_says_what_happened_and_shows_it(served: Any) -> None:
    page = await served.send("GET", f"/watch/{GAME}?lang=ko")
    assert page.status_code == 200
    assert '<html lang="ko">' in page.text
    assert "승리" in content(page.text, "og:title")
    assert content(page.text, "description") == content(page.text, "og:description")
    assert content(page.text, "og:image").startswith("http://")
    picture = await served.send("GET", content(page.text, "og:image").replace("&amp;", "&"))
    assert picture.headers["content-type"] == "image/png"
    assert picture.content[16:24] == (1200).to_bytes(4, "big") + (630).to_bytes(4, "big")


async def test_each_moment_has_a_picture_of_its_own(served: Any) -> None:
    pages = [await served.send("GET", f"/watch/{GAME}?v={v}") for v in (3, 15)]
    assert len({content(page.text, "og:image") for page in pages}) == 2
    pictures = [await served.send("GET", f"/watch/{GAME}/picture.png?v={v}") for v in (3, 15)]
    assert pictures[0].content != pictures[1].content


async def test_a_picture_has_another_address_after_each_decision_of_moderation(served: Any) -> None:
    """Caches keep a picture by its address for a year."""
    inner, addresses = served.bus.engine, []

    def engine_with(comment: str, name: str) -> Any:
        def engine(game: str, call: Any) -> Any:
            status, found = inner(game, call)
            if status == 200:
                found["participants"][0] |= {"name": name}
                found["reveal"] = [each | {"comment": comment} for each in found["reveal"]]
            return status, found

        return engine

    handle = state()["participants"][0]["handle"]
    for comment, name in (("rude", NAMES[0]), (WITHHELD, NAMES[0]), (WITHHELD, handle), ("rude", NAMES[0])):
        served.bus.engine = engine_with(comment, name)
        page = await served.send("GET", f"/watch/{GAME}?v=15")
        addresses.append(content(page.text, "og:image").replace("&amp;", "&"))
        card = await served.send("GET", "/oembed", params={"url": f"/watch/{GAME}?v=15"})
        assert card.json()["thumbnail_url"].startswith(addresses[-1])
    plain, hidden, renamed, restored = addresses
    assert "m=" not in plain
    assert restored == plain
    assert len({plain, hidden, renamed}) == 3
    assert re.fullmatch(rf"{re.escape(plain)}&m=[0-9a-f]{{12}}", hidden)
    pictures = [(await served.send("GET", address)).content for address in (plain, hidden)]
    assert pictures[0] == pictures[1], "an old address answers with the new picture"


@pytest.mark.parametrize("moment", ["0", "-3", "99999", "abc", "1e9", "", "%00"])
async def test_a_moment_that_is_not_there_is_the_last(served: Any, moment: str) -> None:
    page = await served.send("GET", f"/watch/{GAME}?v={moment}")
    assert page.status_code == 200
    assert f"v={LAST}&" in content(page.text, "og:image").replace("&amp;", "&")


async def test_nobodys_game_is_not_found_on_a_page(served: Any) -> None:
    other = GAME.replace("1111", "2222")
    for path in (f"/watch/{other}", f"/embed/{other}", f"/watch/{other}/picture.png", f"/oembed?url=/watch/{other}"):
        assert (await served.send("GET", path)).status_code == 404


async def test_a_frame_may_stand_anywhere_and_a_page_nowhere(served: Any) -> None:
    page, frame = [await served.send("GET", f"/{kind}/{GAME}") for kind in ("watch", "embed")]
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
    assert "frame-ancestors" not in frame.headers["content-security-policy"]
    assert "x-frame-options" not in frame.headers
    assert "set-cookie" not in frame.headers
    card = (await served.send("GET", f"/oembed?url=http://gateway/watch/{GAME}?v=3")).json()
    assert (await served.send("GET", f"/oembed?url=http://gateway/embed/{GAME}?v=3")).json() == card
    assert f"/embed/{GAME}?v=3" in card["html"]


@pytest.mark.parametrize(
    "path", [f"/watch/{GAME}/picture.svg", f"/watch/{GAME}/picture.png", f"/api/games/{GAME}/replay.html"]
)
async def test_a_file_opened_by_itself_may_load_the_icon_and_is_framed_nowhere(served: Any, path: str) -> None:
    rules = (await served.send("GET", path)).headers["content-security-policy"]
    assert "img-src 'self'" in rules
    assert "frame-ancestors 'none'" in rules


async def test_a_finished_game_is_taken_along_as_one_file(served: Any) -> None:
    file = await served.send("GET", f"/api/games/{GAME}/replay.html")
    assert file.status_code == 200
    assert file.headers["content-disposition"].startswith("attachment")
    frames = json.loads(re.search(r'id="frames">(.*?)</script>', file.text)[1])["frames"]  # type: ignore[index]
    assert [version for version, _, _ in frames] == list(range(1, LAST + 1))
    assert not re.search(r'(?:src|href)="', file.text)


async def test_the_file_of_a_running_game_is_refused(served: Any, problem: Any) -> None:
    served.bus.engine = lambda _game, _call: (200, state(15))
    assert problem(await served.send("GET", f"/api/games/{GAME}/replay.html")) == (403, "not_finished")


async def test_the_file_of_a_private_game_takes_the_invite(served: Any, problem: Any) -> None:
    hidden = (404, {"code": "not_found", "detail": "", "status": 404, "title": ""})
    served.bus.engine = lambda _game, call: (200, state(15)) if call.invite == invite_hash(INVITE) else hidden
    assert problem(await served.send("GET", f"/api/games/{GAME}/replay.html?invite={INVITE}")) == (403, "not_finished")
    assert problem(await served.send("GET", f"/api/games/{GAME}/replay.html?invite=x")) == (404, "not_found")


@pytest.mark.parametrize(("query", "accepted", "language"), [("", "", "ko"), ("", "zh", "zh"), ("?lang=en", "", "en")])
async def test_the_file_is_in_the_games_language_where_none_is_wanted(
    served: Any, query: str, accepted: str, language: str
) -> None:
    inner = served.bus.engine
    served.bus.engine = lambda game, call: (inner(game, call)[0], inner(game, call)[1] | {"language": "ko"})
    headers = {"accept-language": accepted} if accepted else {}
    file = await served.send("GET", f"/api/games/{GAME}/replay.html{query}", headers=headers)
    assert f'<html lang="{language}"' in file.text


async def test_files_are_compressed_and_kept_by_what_they_hold(served: Any) -> None:
    page = await served.send("GET", "/", headers={"accept-encoding": "identity"})
    address = re.search(r"/assets/[0-9a-f]{16}/style.css", page.text)
    assert address is not None
    whole = await served.send("GET", address[0], headers={"accept-encoding": "identity"})
    assert "content-encoding" not in whole.headers
    assert "max-age=31536000" in whole.headers["cache-control"]
    assert "immutable" in whole.headers["cache-control"]
    for accepted, named in (("gzip, deflate", "gzip"), ("gzip, br;q=0", "gzip"), ("br", "br")):
        small = await served.send("GET", address[0], headers={"accept-encoding": accepted})
        assert small.headers["content-encoding"] == named
        assert small.content == whole.content
        assert int(small.headers["content-length"]) < len(whole.content) / 2
    assert len(brotli.compress(whole.content)) < len(whole.content)
    old = await served.send("GET", "/assets/0000000000000000/style.css")
    assert (old.status_code, old.headers["cache-control"]) == (200, "no-cache")


def drawn(moment: dict[str, Any], sheet: Sheet = WIDE) -> str:
    return ox.draw(moment, PictureTexts(page_texts("en")), sheet).svg()


def place(svg: str, agent: str) -> tuple[float, float]:
    found = re.search(rf'transform="translate\(([\d.]+) ([\d.]+)\)" data-key="{agent}"', svg)
    assert found is not None
    return float(found[1]), float(found[2])


def test_the_fields_part_the_seats_left_and_right_and_on_a_phone_above_and_below() -> None:
    wide, tall = drawn(state()), drawn(state(), TALL)
    for n, side in enumerate(SIDES):
        assert (place(wide, f"agent-{n}")[0] < 600) == (side == "O")
        assert (place(tall, f"agent-{n}")[1] < 480) == (side == "O")


def test_before_the_reveal_nothing_parts_the_seats() -> None:
    hidden = [place(drawn(state(5)), f"agent-{n}") for n in range(5)]
    assert len({y for _, y in hidden}) == 1
    assert [x for x, _ in hidden] == sorted(x for x, _ in hidden)


def test_what_others_write_is_text_and_keeps_its_place() -> None:
    svg = drawn(state())
    assert "<b>" not in svg
    assert "&lt;b&gt;Cy&lt;/b&gt;" in svg
    assert "style=" not in svg
    assert plain("a" + "\u0301" * 40 + "\x07\u2028b") == "a\u0301\u0301  b"
    assert png(ox.draw(state(), PictureTexts(page_texts("zh")), WIDE), "dark")[:4] == b"\x89PNG"


INVITE = "an-invite"


@pytest.mark.parametrize(
    ("asked", "frame", "thumbnail"),
    [
        ("", (800, 520), 1200), ("&maxwidth=400", (400, 520), 400), ("&maxheight=210&maxwidth=1000", (800, 210), 400),
        ("&maxwidth=330", (330, 520), 320), ("&maxwidth=79", (79, 520), None), ("&maxwidth=abc", (800, 520), 1200),
        ("&maxwidth=5000&maxheight=5000&format=json", (800, 520), 1200), ("&maxheight=52", (800, 52), 80),
    ],
)  # fmt: skip
async def test_what_is_embedded_stays_within_what_is_asked(
    served: Any, asked: str, frame: tuple[int, int], thumbnail: int | None
) -> None:
    card = (await served.send("GET", f"/oembed?url=http://gateway/watch/{GAME}?v=3{asked}")).json()
    assert (card["width"], card["height"]) == frame
    assert f'width="{frame[0]}" height="{frame[1]}"' in card["html"]
    if thumbnail is None:
        assert not {name for name in card if name.startswith("thumbnail")}
        return
    assert (card["thumbnail_width"], card["thumbnail_height"]) == (thumbnail, thumbnail * 630 // 1200)
    picture = await served.send("GET", card["thumbnail_url"])
    size = picture.content[16:24]
    assert (int.from_bytes(size[:4], "big"), int.from_bytes(size[4:], "big")) == (
        card["thumbnail_width"], card["thumbnail_height"],
    )  # fmt: skip


OURS = f"/watch/{GAME}"


@pytest.mark.parametrize(
    "url",
    [OURS, f"{OURS}/", f"http://gateway{OURS}", f"https://GATEWAY:443{OURS}", f"http://localhost{OURS}", f"http://[::1]:8080{OURS}",
     f"//gateway{OURS}#v=3",
     f"https://arena.example{OURS}", f"https://arena.example/embed/{GAME}"],
)  # fmt: skip
async def test_every_spelling_of_this_servers_address_is_embedded(make_platform: Any, url: str) -> None:
    platform = make_platform(public_url="https://arena.example")
    platform.bus.engine = lambda _game, _call: (200, state())
    card = (await platform.send("GET", "/oembed", params={"url": url})).json()
    assert f'src="https://arena.example/embed/{GAME}"' in card["html"]


@pytest.mark.parametrize(
    "path",
    [
        f"/oembed?url={OURS}",
        f"/api/games/{GAME}/replay.html",
        f"/watch/{GAME}/picture.png",
        f"/watch/{GAME}/picture.svg",
    ],
)
async def test_an_archived_game_is_refused_with_where_its_log_is(served: Any, problem: Any, path: str) -> None:
    served.bus.engine = lambda _game, _call: (404, problem_bytes(Code.ARCHIVED, ARCHIVED))
    answer = await served.send("GET", path)
    assert (problem(answer), answer.json()["detail"]) == ((404, "archived"), ARCHIVED)


@pytest.mark.parametrize(
    "url",
    [f"https://evil.example{OURS}", f"http://gateway@evil.example{OURS}", f"http://gateway.evil.example{OURS}",
     f"http://gateway:81{OURS}", f"//evil.example{OURS}", f"ftp://gateway{OURS}", f"javascript:{OURS}",
     f"http://[::1{OURS}", f"http://\u2100{OURS}", f"http:\\\\gateway{OURS}", f"http://gateway/x{OURS}",
     f"http://gateway/watch/x/{GAME}", f"http://gateway{OURS}/picture.png", "http://gateway/", GAME, "", "%00"],
)  # fmt: skip
async def test_what_is_no_games_page_of_this_server_is_not_embedded(served: Any, problem: Any, url: str) -> None:
    answer = await served.send("GET", "/oembed", params={"url": url})
    assert problem(answer) == (404, "not_found")
    assert "not a game's page on this server" in answer.json()["detail"]
    assert "http://gateway/watch/ox-" in answer.json()["detail"]
    assert not served.bus.calls


@pytest.mark.parametrize("file", ["picture.jpg", "picture.webp", "picture", "picture.PNG", "log", "%2e%2e"])
async def test_a_picture_in_another_format_is_refused_with_what_to_request(
    served: Any, problem: Any, file: str
) -> None:
    answer = await served.send("GET", f"/watch/{GAME}/{file}", headers={"accept": "image/*"})
    assert problem(answer) == (404, "not_found")
    for known in ("picture.png", "picture.svg"):
        assert f"/watch/{GAME}/{known}" in answer.json()["detail"]


@pytest.mark.parametrize("kind", ["xml", "XML", "yaml"])
async def test_only_json_is_embedded(served: Any, problem: Any, kind: str) -> None:
    answer = await served.send("GET", f"/oembed?url=/watch/{GAME}&format={kind}")
    assert problem(answer) == (501, "unsupported_format")


async def test_the_preview_of_a_private_game_carries_its_invite(served: Any) -> None:
    asked: list[str | None] = []
    inner = served.bus.engine

    def engine(game: str, call: Any) -> Any:
        asked.append(call.invite)
        return inner(game, call)

    served.bus.engine = engine
    page = await served.send("GET", f"/watch/{GAME}?v=3&invite={INVITE}")
    image = content(page.text, "og:image").replace("&amp;", "&")
    assert f"invite={INVITE}" in image
    assert content(page.text, "og:url").replace("&amp;", "&").endswith(f"/watch/{GAME}?v=3&invite={INVITE}")
    link = re.search(r'<link rel="alternate" type="application/json\+oembed" href="([^"]*)">', page.text)
    assert link
    asked.clear()
    card = (await served.send("GET", link[1].replace("&amp;", "&"))).json()
    assert f"/embed/{GAME}?v=3&amp;invite={INVITE}" in card["html"]
    assert f"invite={INVITE}" in card["thumbnail_url"]
    await served.send("GET", card["thumbnail_url"])
    assert asked
    assert all(asked)


@pytest.mark.parametrize(
    ("path", "accepted", "language", "locale"),
    [
        (f"/watch/{GAME}", "", "zh", "zh_CN"),
        (f"/watch/{GAME}", "ko", "ko", "ko_KR"),
        (f"/watch/{GAME}?lang=en", "", "en", "en_US"),
        (f"/watch/{GAME}", "fr-FR", "en", "en_US"),
        ("/", "", "en", "en_US"),
        ("/privacy?lang=zh", "", "zh", "zh_CN"),
        ("/docs?lang=ko", "", "ko", "ko_KR"),
    ],
)
async def test_a_preview_is_in_the_games_language_where_none_is_wanted(
    served: Any, path: str, accepted: str, language: str, locale: str
) -> None:
    inner = served.bus.engine
    served.bus.engine = lambda game, call: (inner(game, call)[0], inner(game, call)[1] | {"language": "zh"})
    headers = {"accept-language": accepted} if accepted else {}
    page = await served.send("GET", path, headers=headers)
    assert f'<html lang="{language}">' in page.text
    assert content(page.text, "og:locale") == locale
    if path.startswith("/watch"):
        assert content(page.text, "og:url") == f"http://gateway/watch/{GAME}"
        assert f"lang={language}" in content(page.text, "og:image")
        card = (await served.send("GET", f"/oembed?url=/watch/{GAME}", headers=headers)).json()
        assert card["thumbnail_url"]
        pictures = [
            await served.send("GET", f"/watch/{GAME}/picture.svg{query}", headers=headers)
            for query in (path.removeprefix(f"/watch/{GAME}"), f"?lang={language}")
        ]
        assert pictures[0].text == pictures[1].text, "a picture is in the language of its page"


async def test_an_agent_has_one_face_wherever_its_profile_is_shown(served: Any) -> None:
    ids = [f"agent-0190c3f8-1111-7222-8333-44445555{n:04}" for n in range(8)]
    faces = [await served.send("GET", f"/agents/{one}/avatar.svg") for one in ids]
    assert {face.headers["content-type"] for face in faces} == {"image/svg+xml"}
    assert all("immutable" in face.headers["cache-control"] for face in faces)
    assert all("<circle" in face.text and "fill: #e8b04b" in face.text for face in faces)
    assert len({face.text for face in faces}) == len(ids)
    assert (await served.send("GET", f"/agents/{ids[0]}/avatar.svg")).text == faces[0].text
    assert (await served.send("GET", "/agents/nobody/avatar.svg")).status_code == 404


@pytest.mark.parametrize("path", ["/games/rows?limit=24", f"/watch/{GAME}/picture.svg"])
@pytest.mark.parametrize(("accepted", "named"), [("br", "br"), ("gzip", "gzip"), ("identity", "")])
async def test_rows_and_drawings_are_compressed(served: Any, path: str, accepted: str, named: str) -> None:
    inner = served.bus.engine
    line = {
        "game_id": GAME, "gameType": "ox", "phase": "end", "round": 1, "seated": 5, "needed": 5, "over": True,
        "created_at": "2026-01-01T00:00:00.000000Z", "updated_at": "2026-01-01T00:00:01.000000Z", "version": 9,
    }  # fmt: skip
    served.bus.engine = lambda game, call: (
        (200, {"games": [line] if game == "ox" else []}) if call.op == "games" else inner(game, call)
    )
    answer = await served.send("GET", path, headers={"accept-encoding": accepted})
    assert answer.status_code == 200
    assert answer.headers.get("content-encoding", "") == named
    assert "Accept-Encoding" in answer.headers["vary"]
    assert int(answer.headers["content-length"]) < len(answer.content) or not named


FROM_A_PAGE = {"sec-fetch-site": "same-origin"}


@pytest.mark.parametrize(("accepted", "named"), [("gzip, br", "br"), ("gzip", "gzip"), ("br;q=0", ""), ("", "")])
async def test_json_that_everybody_may_read_is_compressed_for_pages(served: Any, accepted: str, named: str) -> None:
    headers = {"accept-encoding": accepted, **FROM_A_PAGE}
    answer = await served.send("GET", f"/api/games/{GAME}/state", headers=headers)
    assert answer.json() == state(LAST, "end")
    assert answer.headers.get("content-encoding", "") == named
    assert answer.headers["vary"] == "Accept-Encoding"
    assert int(answer.headers["content-length"]) < len(answer.content) / 2 or not named


@pytest.mark.parametrize("headers", [{}, {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "none"}])
async def test_json_for_programs_is_not_compressed(served: Any, headers: dict[str, str]) -> None:
    answer = await served.send("GET", f"/api/games/{GAME}/state", headers={"accept-encoding": "br, gzip", **headers})
    assert "content-encoding" not in answer.headers
    assert int(answer.headers["content-length"]) == len(answer.content) > LEAST_BYTES


async def test_json_with_a_secret_or_little_content_is_not_compressed(served: Any) -> None:
    """A compressed length says which parts of an answer are alike, so it could betray a secret."""
    address, (_, key) = f"/api/games/{GAME}/state", served.agent()
    for headers, query in ((key, ""), ({}, "?invite=a-private-games-invite")):
        whole = await served.send("GET", address + query, headers={"accept-encoding": "br", **FROM_A_PAGE, **headers})
        assert whole.status_code == 200
        assert "content-encoding" not in whole.headers
        assert int(whole.headers["content-length"]) == len(whole.content) > LEAST_BYTES
    served.bus.engine = lambda _game, _call: (200, {"version": 4})
    small = await served.send("GET", address, headers={"accept-encoding": "br", **FROM_A_PAGE})
    assert ("content-encoding" in small.headers, small.headers["vary"]) == (False, "Accept-Encoding")
    refused = await served.send("GET", "/api/games/nothing/state", headers={"accept-encoding": "br", **FROM_A_PAGE})
    assert (refused.status_code, "content-encoding" in refused.headers) == (404, False)


async def test_long_json_is_compressed_in_a_few_threads_and_waits_for_none() -> None:
    compressor, body = JsonCompressor(), b'"%s"' % (b"x" * AT_ONCE_BYTES)
    answers = await asyncio.gather(
        *(compressor.compress(json_response(200, body), "gzip") for _ in range(LONG_AT_ONCE + 1))
    )
    assert [one.headers.get("content-encoding") for one in answers] == [*["gzip"] * LONG_AT_ONCE, None]
    assert gzip.decompress(bytes(answers[0].body)) == bytes(answers[-1].body) == body
    later = await compressor.compress(json_response(200, body), "gzip")
    assert later.headers["content-encoding"] == "gzip"


async def test_a_right_to_left_name_stays_in_its_place(served: Any) -> None:
    page = await served.send("GET", f"/watch/{GAME}?v=15")
    name = "\u202b\u05d0\u05d1"
    assert f"\u2068{name}\u2069 " in content(page.text, "og:description").replace("&amp;", "&")
    words = PictureTexts({"x": "Guilty, 2 votes to 1: {side} · {name}"})
    assert words.text("x", side="Ada", name=name) == f"Guilty, 2 votes to 1: Ada · \u2068{name}\u2069"


async def test_a_row_says_how_long_a_running_game_has_been_still(served: Any) -> None:
    line = {
        "game_id": GAME, "gameType": "ox", "phase": "switch", "round": 1, "seated": 5, "needed": 5, "over": False,
        "created_at": "2026-01-01T00:00:00.000000Z", "updated_at": "2026-01-01T00:00:01.000000Z", "version": 9,
    }  # fmt: skip
    served.bus.engine = lambda game, call: (
        (200, {"games": [line] if game == "ox" else []}) if call.op == "games" else (200, state(15))
    )
    [row] = (await served.send("GET", "/games/rows?limit=24")).json()["rows"]
    assert row["quiet_seconds"] > 24 * 3600


def shared_first() -> dict[str, Any]:
    """A game whose first rank two share."""
    ended = state(LAST, "end")
    [winner] = ended["results"]
    other = {**winner, "agent_id": "agent-3", "name": NAMES[3], "handle": "dee-3"}
    return {**ended, "results": [other, winner, {**winner, "agent_id": "agent-0", "name": NAMES[0], "rank": 3}]}


async def test_a_game_is_found_under_each_of_those_who_share_the_first_rank(served: Any) -> None:
    line = {
        "game_id": GAME, "gameType": "ox", "phase": "end", "round": 5, "seated": 5, "needed": 5, "over": True,
        "created_at": "2026-01-01T00:00:00.000000Z", "updated_at": "2026-01-01T00:00:01.000000Z", "version": LAST,
    }  # fmt: skip
    served.bus.engine = lambda game, call: (
        (200, {"games": [line] if game == "ox" else []}) if call.op == "games" else (200, shared_first())
    )
    found = {
        winner: [row["game_id"] for row in (await served.send("GET", f"/api/games?winner={winner}")).json()["games"]]
        for winner in ("agent-2", "agent-3", "dee-3", "agent-0")
    }
    assert found == {"agent-2": [GAME], "agent-3": [GAME], "dee-3": [GAME], "agent-0": []}
    [row] = (await served.send("GET", "/games/rows?limit=24")).json()["rows"]
    assert [one["id"] for one in row["winners"]] == ["agent-3", "agent-2"]


@pytest.mark.parametrize(("language", "said"), [("en", "Shared first place"), ("ko", "공동 우승"), ("zh", "并列第一")])
def test_the_headline_of_a_shared_first_rank_names_all_who_share_it(language: Any, said: str) -> None:
    svg = ox.draw(shared_first(), PictureTexts(page_texts(language)), WIDE).svg()
    headline = next(line for line in re.findall(r">([^<]*)<", svg) if said in line)
    assert NAMES[2].replace("<", "&lt;").replace(">", "&gt;") in headline
    assert NAMES[3] in headline
