"""The pages: what is sent, under which policy, in which languages, and what they never do."""

import ast
import json
import os
import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path, PurePosixPath
from typing import Any, get_args

import httpx
import msgspec
import pytest
from playmolt_gateway.pages.assets import BUNDLED, assets, texts_name
from playmolt_gateway.pages.bundles import Bundler, UnbundledImport
from playmolt_gateway.server.app import ReadOnlyCors
from playmolt_gateway.uploads import refusals
from playmolt_schemas.agora import plan
from playmolt_schemas.codes import Code, FieldFault
from playmolt_schemas.games import jury, legal, ox, trial
from playmolt_schemas.routes.pages import PAGES_WEB
from playmolt_schemas.skill import PAGE_LANGUAGES, PageLanguage, page_texts
from playmolt_schemas.stored import jury as stored_jury
from playmolt_schemas.stored import legal as stored_legal
from playmolt_schemas.stored.agora import run, turn

WEB = Path(str(files("playmolt_gateway").joinpath("web")))
PATHS = {
    "/": "lobby.js",
    "/?utm_source=a-newsletter&lang=fr&lang=de": "lobby.js",
    "/watch/ox-0190c3f8-1111-7222-8333-444455556666": "watch/page.js",
    "/games?q=x&winner=GUILTY": "archive.js",
    "/watch/agora-0190c3f8-1111-7222-8333-444455556666": "watch/page.js",
    "/game": "jury/page.js",
    "/game?session=jury-0190c3f8-1111-7222-8333-444455556666&lang=zh": "jury/page.js",
    "/legal": "legal/page.js",
    "/agora": "agora.js",
    "/me": "me.js",
    "/operator": "operator.js",
    "/play/ox": "play/page.js",
    "/play/trial?game=x": "play/page.js",
}
LANGUAGES = ("en", "ko", "zh")
TEXTS: dict[str, dict[str, str]] = {
    code: json.loads(WEB.joinpath(f"texts.{code}.json").read_text()) for code in LANGUAGES
}
FILES = {path.relative_to(WEB).as_posix(): path for path in sorted(WEB.rglob("*")) if path.is_file()}
MODULES = {name: path.read_text() for name, path in FILES.items() if name.endswith(".js")}
CODES: dict[str, tuple[str, ...]] = {
    "phase": (
        *get_args(trial.Phase), *get_args(ox.Phase), *get_args(jury.PhaseName), "running", "paused", "ended",
        "FACTS_INTAKE", "FACTS_STIPULATE", "USER_GATE", "END_GATE", "FINALIZE_DONE",
        *(f"{role}_R{n}" for role in ("JUDGE", "CLAIMANT", "OPPOSING", "VERIFIER") for n in (1, 2, 3, 4)),
    ),
    "role": get_args(trial.Role),
    "verdict": (*get_args(trial.Verdict), *get_args(jury.VerdictName)),
    "band": get_args(jury.Band),
    "why": tuple(cause for cause in get_args(jury.Cause) if cause != "speech"),
    "impact": get_args(stored_jury.Impact),
    "gate": get_args(stored_legal.GateName),
    "refusal": get_args(stored_legal.RefusalReason),
    "section": get_args(legal.ReportSection),
    "side": get_args(stored_legal.Side),
    "change": tuple(action for action in get_args(stored_legal.FactChange) if action != "stipulated"),
    "fact_source": get_args(stored_legal.FactSource),
    "fact": get_args(stored_legal.FactState),
    "fact_state": get_args(stored_legal.FactState),
    "check": get_args(stored_legal.Check),
    "case": get_args(stored_legal.CaseType),
    "role_legal": get_args(legal.Role),
    "code.goal": get_args(stored_legal.Goal),
    "code.stance": get_args(stored_legal.Stance),
    "code.evidence_level": get_args(stored_legal.EvidenceLevel),
    "code.constraints": get_args(legal.Constraint),
    "code.report_style": get_args(stored_legal.ReportStyle),
    "field": stored_legal.SteeringSettings.__struct_fields__,
    "act": (*get_args(turn.Action), *get_args(turn.Skill)),
    "persona": get_args(turn.Persona),
    "world": get_args(turn.PhaseName),
    "pause": get_args(run.PauseCode),
    "outcome": get_args(run.Outcome),
    "status": (*get_args(plan.ExperimentStatus), *get_args(plan.RunStatus)),
}  # fmt: skip
"""Codes that a page shows by their words."""


def nobody_answers(_game: str, _call: Any) -> Exception:
    return ConnectionError("away")


def policy(response: httpx.Response) -> dict[str, list[str]]:
    parts = [part.split() for part in response.headers["content-security-policy"].split(";")]
    return {name: values for name, *values in parts}


@pytest.mark.parametrize(("path", "module"), PATHS.items())
async def test_a_page_is_a_shell_that_loads_its_module(platform: Any, path: str, module: str) -> None:
    platform.bus.engine = nobody_answers
    answer = await platform.send("GET", path)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert re.search(rf'<script type="module" src="/assets/[0-9a-f]{{16}}/{module}">', answer.text)
    assert module in MODULES


SLASHES = {
    "/legal/": "/legal",
    "/legal///?session=x%2Fy&lang=ko": "/legal?session=x%2Fy&lang=ko",
    "/watch/ox-0190c3f8-1111-7222-8333-444455556666/?v=3": "/watch/ox-0190c3f8-1111-7222-8333-444455556666?v=3",
    "/agents/%E9%87%91/": "/agents/%E9%87%91",
    "/play/ox/": "/play/ox",
    "/docs/": "/docs",
    "/skills/ox.md/": "/skills/ox.md",
    "/oembed/?url=/watch/x": "/oembed?url=/watch/x",
    "/datasets": "/datasets/",
    "/datasets//": None,
    "//legal/": None,
    "//evil.example/": None,
    "/legal%2F/": "/legal",
    "/agents/a%3Fb%23c%20d/": "/agents/a%3Fb%23c%20d",
    "/nowhere/": None,
    "/legal/x/": None,
}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize(("path", "address"), SLASHES.items())
async def test_a_page_is_found_with_or_without_a_slash_at_its_end(
    platform: Any, method: str, path: str, address: str | None
) -> None:
    answer = await platform.send(method, httpx.URL(f"http://gateway{path}"), headers={"accept": "text/html"})
    assert answer.headers.get("location") == address
    assert answer.status_code == (404 if address is None else 308)
    assert address is None or answer.headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    ("method", "path", "call"),
    [("GET", "/api/games/", "GET, HEAD, POST to /api/games"), ("POST", "/api/games/join/", "POST to /api/games/join"),
     ("POST", "/api/games/x/actions//", "POST to /api/games/x/actions"), ("PUT", "/api/agents/", "to /api/agents"),
     ("POST", "/auth/logout/", "POST to /auth/logout"), ("POST", "/datasets", "GET, HEAD to /datasets/")],
)  # fmt: skip
async def test_a_call_with_a_wrong_slash_is_refused_with_the_right_path(
    platform: Any, problem: Any, method: str, path: str, call: str
) -> None:
    answer = await platform.send(method, path, headers=platform.agent()[1], json={})
    assert problem(answer) == (404, "not_found")
    assert f"{call}, which differs in its slash" in answer.json()["detail"]


TAGS = {
    "ko-KR": "ko", "KO": "ko", "ko_KR": "ko", "ko-Kore-KR": "ko", "zh-Hans": "zh", "zh-TW": "zh", "ZH_hant_hk": "zh",
    "en-GB": "en", "EN": "en", "kok": "fr", "fr": "fr", "-ko": "fr", "": "fr", "zhx-Hans": "fr",
}  # fmt: skip
"""What `?lang=` says and the language of the page: "fr" is that of the browser, which no page has."""


@pytest.mark.parametrize(("tag", "language"), TAGS.items())
async def test_a_language_may_have_a_region_or_a_script(platform: Any, tag: str, language: str) -> None:
    own = "en" if language == "fr" else language
    for path in ("/", "/games", "/legal", "/docs", "/privacy"):
        page = await platform.send("GET", path, params={"lang": tag}, headers={"accept-language": "fr-CH"})
        assert f'lang="{own}"' in page.text.partition(">")[0] + page.text.partition("<html")[2].partition(">")[0]
    feed = await platform.send("GET", "/feeds/games.atom", params={"lang": tag})
    assert f'xml:lang="{own}"' in feed.text
    guide = await platform.send("GET", "/skills/ox.md", params={"lang": tag})
    assert guide.headers.get("content-language") == (None if language == "fr" else own)


@pytest.mark.parametrize("path", PATHS)
async def test_a_page_runs_only_what_this_server_sends(platform: Any, path: str) -> None:
    platform.bus.engine = nobody_answers
    answer = await platform.send("GET", path)
    rules = policy(answer)
    assert rules["default-src"] == ["'none'"]
    assert rules["script-src"] == ["'self'"]
    assert rules["style-src"] == ["'self'"]
    assert rules["frame-ancestors"] == rules["base-uri"] == rules["object-src"] == ["'none'"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", answer.text)
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("asked", "settings", "feed"),
    [
        ("127.0.0.1:8080", {}, "http://127.0.0.1:8081"),
        ("localhost:8080", {}, "http://localhost:8081"),
        ("arena.local:8080", {}, "http://arena.local:8081"),
        ("10.0.0.7", {"host": "10.0.0.7", "spectator_port": 9000}, "http://10.0.0.7:9000"),
        ("a-name", {"host": "0.0.0.0"}, "http://a-name:8081"),  # noqa: S104 -- a setting, nothing is bound
        ("a-name", {"spectator_port": 0}, ""),
        ("a-name", {"spectator_url": "https://feeds.example:444/x"}, "https://feeds.example:444"),
        # No policy can name these: the page uses the gateway's feeds.
        ("[::1]:8080", {}, None),
        ("a_name:8080", {}, None),
        ("a-name.:8080", {}, None),
        # An invalid host is not repeated.
        ("x; script-src *", {}, "http://gateway:8081"),
        ("*.example", {}, "http://gateway:8081"),
    ],
)
async def test_a_page_connects_to_its_server_and_the_spectator_of_the_asked_host(
    make_platform: Callable[..., Any], asked: str, settings: dict[str, Any], feed: str | None
) -> None:
    platform = make_platform(**{"spectator_port": 8081, **settings})
    answer = await platform.send("GET", "/", headers={"host": asked})
    assert policy(answer)["connect-src"] == ["'self'", *filter(None, [feed])]
    assert f'<meta name="spectator" content="{"none" if feed is None else feed}">' in answer.text
    assert policy(answer)["script-src"] == ["'self'"]
    assert answer.headers["cache-control"] == "private, no-cache"
    await platform.client.aclose()


async def test_a_page_needs_no_engine_no_key_and_no_database(platform: Any) -> None:
    platform.store.away = True
    platform.bus.is_connected = False
    platform.bus.engine = nobody_answers
    for path in PATHS:
        assert (await platform.send("GET", path)).status_code == 200


async def test_what_cannot_be_a_game_is_told_on_a_page_and_not_found(platform: Any) -> None:
    for wrong in ("nothing", "legal-0190c3f8-1111-7222-8333-444455556666", "ox-1"):
        answer = await platform.send("GET", f"/watch/{wrong}")
        assert answer.status_code == 404
        assert "watch/page.js" in answer.text


async def test_every_file_is_sent_as_what_it_is(platform: Any) -> None:
    kinds = {"js": "text/javascript", "css": "text/css", "json": "application/json", "svg": "image/svg+xml"}
    kinds |= {"png": "image/png", "ico": "image/x-icon"}
    for name, path in FILES.items():
        if name.endswith(".html"):
            continue
        answer = await platform.send("GET", f"/assets/any/{name}")
        assert answer.status_code == 200
        joined = path.name == "style.css" or name in BUNDLED
        assert joined or answer.content == path.read_bytes()
        assert answer.headers["content-type"].startswith(kinds[path.name.rpartition(".")[2]])
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_the_pages_know_the_games_of_this_server(platform: Any) -> None:
    answer = await platform.send("GET", "/assets/any/games.js")
    told = json.loads(answer.text.partition("GAMES = ")[2].removesuffix(";\n"))
    assert answer.headers["content-type"].startswith("text/javascript")
    assert [(one["type"], one["kind"]) for one in told] == [("trial", "game"), ("ox", "game"), ("agora", "run")]
    assert all(one["drawn"] for one in told)
    views = (await platform.send("GET", "/assets/any/views.js")).text
    assert re.findall(r'"(\w+)": view', views) == ["trial", "ox", "agora"]


@pytest.mark.parametrize("code", LANGUAGES)
async def test_a_page_has_the_sentences_of_all_games_and_they_change_no_other_text(platform: Any, code: str) -> None:
    sent = (await platform.send("GET", f"/assets/any/watch/page.{code}.json")).json()
    assert sent.items() <= page_texts(code).items()
    assert all(page_texts(code)[key] == text for key, text in TEXTS[code].items())
    for name, path in FILES.items():
        if name.endswith(f"narration.{code}.json") and path.parent.name in ("trial", "ox", "agora"):
            told = {f"event.{path.parent.name}.{key}": text for key, text in json.loads(path.read_text()).items()}
            assert told.items() <= sent.items()


@pytest.mark.parametrize(
    "name",
    [
        "games/ox/nothing.js",
        "games/nobody/watch.js",
        "games/ox/..%2f..%2fshell.html",
        "games",
        "shell.html",
        "nothing.js",
        "..%2fpages.py",
        "%2e%2e%2fapp.py",
        "web",
        "style.css%00",
    ],
)
async def test_no_other_file_is_sent(platform: Any, problem: Any, name: str) -> None:
    assert problem(await platform.send("GET", f"/assets/any/{name}")) == (404, "not_found")


def test_a_module_sets_texts_and_never_html() -> None:
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|setHTML|\.style\b"
    assert {name: re.findall(forbidden, text) for name, text in MODULES.items() if re.search(forbidden, text)} == {}


def test_nothing_is_loaded_from_elsewhere() -> None:
    for path in FILES.values():
        if path.suffix in (".png", ".ico"):
            continue
        text = path.read_text().replace("http://www.w3.org/2000/svg", "").replace("`http://${", "")
        assert not re.search(r"https?://|url\(|@import", text), path.name
    for name, text in MODULES.items():
        for imported in re.findall(r'from "([^"]+)"', text):
            assert imported.startswith(("./", "../")), name
            assert os.path.normpath(PurePosixPath(name).parent / imported) in {*MODULES, "games.js", "views.js"}, name


def test_every_language_says_the_same_things() -> None:
    def holes(text: str) -> set[str]:
        return set(re.findall(r"\{\w+\}", text))

    english = TEXTS["en"]
    for code in LANGUAGES:
        assert TEXTS[code].keys() == english.keys()
        assert all(text.strip() for text in TEXTS[code].values())
        assert [key for key, text in TEXTS[code].items() if holes(text) != holes(english[key])] == []


def test_every_text_that_a_module_asks_for_is_there() -> None:
    asked = {key for text in MODULES.values() for key in re.findall(r'\bt\(\s*"([^"]+)"', text)}
    asked |= {key for text in MODULES.values() for key in re.findall(r'[?:] "([a-z_]+\.[a-z_.]+)"', text)}
    assert len(asked) > 200
    assert sorted(asked - TEXTS["en"].keys()) == []


BUNDLER = Bundler(
    {name: asset.plain for name, asset in assets().items()} | {name: text.encode() for name, text in MODULES.items()}
)
"""Of all modules as they are written, with those that are made of the installed games."""


def sent_texts(module: str, code: PageLanguage) -> dict[str, str]:
    found: dict[str, str] = json.loads(assets()[texts_name(module, code)].plain)
    return found


@pytest.mark.parametrize("module", BUNDLED)
def test_a_page_loads_every_text_that_its_modules_ask_for(module: str) -> None:
    source = "\n".join(MODULES.get(name, "") for name in BUNDLER.modules(module))
    asked = set(re.findall(r'\bt\(\s*"([^"]+)"', source)) | set(re.findall(r'[?:] "([a-z_]+\.[a-z_.]+)"', source))
    groups = set(re.findall(r'\bword\(\s*"([^"]+)"', source)) & CODES.keys()
    asked |= {f"{group}.{code}" for group in groups for code in CODES[group]}
    asked |= {f"problem.{one.wire}" for one in Code}
    for code in PAGE_LANGUAGES:
        assert asked - sent_texts(module, code).keys() == asked - TEXTS[code].keys()


def test_a_page_loads_no_other_text_than_its_own() -> None:
    lobby, watch = sent_texts("lobby.js", "en"), sent_texts("watch/page.js", "en")
    assert {"lobby.title", "leaderboard.overall", "problem.not_found", "nav.lobby", "phase.end"} <= lobby.keys()
    assert not [key for key in lobby if key.startswith(("legal.", "jury.", "agora.", "event.", "play.", "me."))]
    assert {"event.ox.game_started", "role.JUDGE", "watch.events"} <= watch.keys()
    assert not [key for key in watch if key.startswith(("legal.", "leaderboard.", "lobby.", "play.", "me."))]


def test_every_text_is_asked_for_by_a_page_or_by_the_server() -> None:
    """So a key that a module puts together in a way that `text_use` does not see is found."""
    known: dict[str, str] = {}
    for module in BUNDLED:
        uses = [BUNDLER.module(name).texts for name in BUNDLER.modules(module)]
        if any(use.any_group for use in uses):  # it loads all texts, so its own are those that it names
            begins = tuple(one for use in uses for one in use.beginnings)
            known |= {key: "" for key in TEXTS["en"] if key.startswith(begins) or any(key in use.keys for use in uses)}
        else:
            known |= sent_texts(module, "en")
    root = Path(__file__).parents[3]
    parts = ("services/gateway", "services/trial-engine", "cli")
    python = "\n".join(path.read_text("utf-8") for part in parts for path in root.glob(f"{part}/playmolt_*/**/*.py"))
    literals = set(re.findall(r"""["']([\w.]+)["']""", python))
    begins = (*re.findall(r'f"([a-z_]+\.[\w.]*)\{', python), *re.findall(r'\.word\(\s*"([\w.]+)"', python))
    rest = TEXTS["en"].keys() - known.keys() - literals
    assert [key for key in rest if not key.startswith(begins)] == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (b't("a.b");', {"a.b"}),
        (b'const KEYS = ["a.b", "c"]; t(KEYS[0]);', {"a.b", "c"}),
        (b"t(`a.${code}`);", {"a.b", "a.c.d"}),
        (b"t(`a.c.${code}`);", {"a.c.d"}),
        (b'word("a", code);', {"a.b", "a.c.d"}),
        (b"word(group, code);", {"a.b", "a.c.d", "c", "event.ox.won", "verdict.x"}),
        (b't("none");', set()),
        (b'import { a } from "./parts/narration.js";\na("ox");', {"event.ox.won", "verdict.x"}),
    ],
)
def test_texts_are_found_by_key_and_by_the_beginning_of_their_key(source: bytes, found: set[str]) -> None:
    texts = {"a.b": "", "a.c.d": "", "c": "", "event.ox.won": "{verdict:verdict} wins", "verdict.x": ""}
    narration = b"export const a = (game) => textsUnder(`event.${game}.`);\n"
    assert Bundler({"page.js": source, "parts/narration.js": narration}).texts("page.js", texts).keys() == found


@pytest.mark.parametrize("group", CODES)
def test_every_code_has_its_word(group: str) -> None:
    assert [code for code in CODES[group] if f"{group}.{code}" not in TEXTS["en"]] == []


@pytest.mark.parametrize("told", [legal.Report, legal.PageOne, legal.Burden, legal.VerifiedRound, legal.ReportFacts])
def test_the_page_of_a_report_names_every_key_of_it(told: type[msgspec.Struct]) -> None:
    module = MODULES["legal/report.js"] + MODULES["legal/sections.js"]
    elsewhere = {
        "issues",
        "best_cases",
        "next_steps",
        "stale",
    }  # the same sentences stand in the answer, the arguments and the marks
    named = set(re.findall(r"\b[a-z_]+\b", module))
    assert sorted(set(told.__struct_fields__) - named - (elsewhere if told is legal.Report else set())) == []


def test_every_page_is_declared_once() -> None:
    paths = [route.path for route in PAGES_WEB]
    assert len(paths) == len(set(paths))


BROWSER = {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.mark.parametrize("path", ["/watch", "/watch/", "/lobby", "/game/x", "/watch/a/b/c"])
async def test_a_person_who_strays_gets_a_page(platform: Any, path: str) -> None:
    answer = await platform.send("GET", path, headers=BROWSER)
    assert answer.status_code == 404
    assert answer.headers["vary"].startswith("Accept,")
    assert "/nowhere.js" in answer.text
    assert "script-src 'self'" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/lobby", {"accept": "*/*"}),
        ("GET", "/lobby", {}),
        ("POST", "/lobby", BROWSER),
        ("GET", "/api/nothing", BROWSER),
        ("GET", "/api/games/ox-1/state", BROWSER),
    ],
)
async def test_a_program_that_strays_gets_a_problem_document(
    platform: Any, method: str, path: str, headers: dict[str, str]
) -> None:
    answer = await platform.send(method, path, headers=headers)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not_found"


RUN = "agora-0190c3f8-1111-7222-8333-444455556666"
HELD = {
    "game_id": RUN, "gameType": "agora", "phase": "phase1", "round": 3, "seated": 12, "needed": 12,
    "created_at": "2026-01-01T00:00:00.000000Z", "updated_at": "2026-01-01T00:00:01.000000Z",
    "over": False, "version": 9,
}  # fmt: skip


async def test_a_run_is_called_by_its_experiments_name_its_cell_and_its_number(platform: Any) -> None:
    def engine(game: str, call: Any) -> Any:
        if game == "experiment":
            assert call.operator
            return 200, {"name": "a first look"}
        state = {"id": RUN, "gameType": "agora", "experiment": "experiment-1", "cell": "phase1/ko/m", "number": 2}
        return (200, {"games": [HELD]}) if call.op == "games" else (200, state)

    platform.bus.engine = engine
    listed = await platform.send("GET", "/games/rows", params={"runs": "true"})
    assert listed.status_code == 200, listed.text
    assert [row["about"] for row in listed.json()["rows"]] == ["a first look · phase1/ko/m · 2"]


def test_a_bundle_holds_each_module_once_before_who_takes_it() -> None:
    files = {
        "page.js": b'import { a } from "./parts/a.js";\nimport { b as c } from "./parts/b.js";\na(c);\n',
        "parts/a.js": b'import { b } from "./b.js";\n\nexport function a(x) { return b + x; }\n',
        "parts/b.js": b"export const b = 1;\n",
    }
    text = Bundler(files).bundle("page.js").decode()
    assert "import" not in text
    assert "export" not in text
    assert text.index("_parts_b_js = ") < text.index("_parts_a_js = ") < text.index("\na(c);")
    assert text.count("const b = 1;") == 1
    assert "const { b: c } = _parts_b_js;" in text


def test_a_bundle_has_no_comments_and_no_indentation() -> None:
    source = b"""/** What it
 * does. */

// Why.
export function a(x) {
  /** One. */
  const text = "// no comment"; // this one stays

  return `/** ${x} */`;
}
"""
    kept = 'function a(x) {\nconst text = "// no comment"; // this one stays\nreturn `/** ${x} */`;\n}\n'
    assert kept in Bundler({"a.js": source}).bundle("a.js").decode()


def test_a_module_with_a_text_of_several_lines_is_bundled_as_it_is() -> None:
    source = "const a = `\n  // a\n`;\n// b\n"
    assert source in Bundler({"a.js": source.encode()}).bundle("a.js").decode()


@pytest.mark.parametrize("source", [b'import x from "./b.js";\n', b"export default 1;\n", b'await import("./b.js");\n'])
def test_a_module_of_another_form_is_not_part_of_a_bundle(source: bytes) -> None:
    with pytest.raises(UnbundledImport, match=r"page\.js"):
        Bundler({"page.js": source, "b.js": b""}).bundle("page.js")


@pytest.mark.parametrize("page", ["/", "/games", "/game", "/legal", "/agora", "/me", "/play/ox"])
async def test_a_bundled_page_names_one_module_that_is_sent(platform: Any, page: str) -> None:
    text = (await platform.send("GET", page)).text
    named = re.findall(r'<script type="module" src="([^"]+)"', text)
    assert len(named) == 1
    sent = await platform.send("GET", named[0])
    assert sent.status_code == 200
    assert "import" not in {line.partition(" ")[0] for line in sent.text.splitlines()}


async def test_what_comes_early_is_asked_for_in_a_way_that_the_policy_allows(platform: Any) -> None:
    # A prefetch is subject to default-src; a preload with crossorigin is never taken by WebKit.
    platform.bus.engine = nobody_answers
    for path in PATHS:
        text = (await platform.send("GET", path)).text
        assert 'rel="prefetch"' not in text
        early = re.findall(r'<link rel="preload"[^>]*>', text)
        assert early
        assert all('as="fetch"' in one and "crossorigin" not in one for one in early)
    frame = await platform.send("GET", f"/embed/{RUN}")
    assert 'rel="preload"' not in frame.text


OWN_WAYS = (
    "localStorage", "sessionStorage", "navigator.clipboard", "navigator.languages", "navigator.share", "randomUUID",
    "AbortSignal.timeout", "AbortSignal.any", "replaceState", "pushState", "confirm(", "alert(", "prompt(",
    "checkVisibility", "TextDecoderStream", "structuredClone", "showSaveFilePicker", "URL.canParse",
    "Promise.withResolvers", "toSorted", "Object.groupBy", "requestIdleCallback", "startViewTransition",
)  # fmt: skip
"""What a browser may lack or refuse: in a sandbox, over plain http, in an in-app browser, in an older engine."""


def test_what_a_browser_may_lack_is_used_where_it_has_a_second_way_alone() -> None:
    used = {
        name: [way for way in OWN_WAYS if way in text] for name, text in MODULES.items() if name != "parts/browser.js"
    }
    assert {name: ways for name, ways in used.items() if ways} == {}


@pytest.mark.parametrize("path", [*PATHS, "/docs", "/privacy", "/nowhere", "/agents/x", "/assets/x/mark.svg"])
async def test_a_page_is_framed_by_no_other_site(platform: Any, path: str) -> None:
    platform.bus.engine = nobody_answers
    answer = await platform.send("GET", path, headers=BROWSER)
    assert policy(answer)["frame-ancestors"] == ["'none'"]


@pytest.mark.parametrize(
    ("own", "shared"),
    [
        ([(b"content-type", b"text/html")], True),
        ([(b"set-cookie", b"session=1")], False),
        ([(b"vary", b"Accept, Cookie")], False),
    ],
)
async def test_no_other_origin_reads_what_depends_on_a_cookie(own: list[tuple[bytes, bytes]], shared: bool) -> None:
    sent: list[Any] = []

    async def answering(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": own})

    async def kept(message: Any) -> None:
        sent.append(message)

    await ReadOnlyCors(answering)({"type": "http", "method": "GET", "path": "/me", "headers": []}, None, kept)  # type: ignore[arg-type]
    origins = [value for name, value in sent[0]["headers"] if name == b"access-control-allow-origin"]
    assert origins == ([b"*"] if shared else [])


CAUSES = ("too_long", "only_thought", "cut", "cut_in")
"""What a turn can fail of within a code."""


@pytest.mark.parametrize("language", ["en", "ko", "zh"])
def test_a_session_whose_turn_failed_says_why_in_its_language(language: str) -> None:
    words = json.loads(WEB.joinpath(f"texts.{language}.json").read_text("utf-8"))
    assert {f"failure.{code}" for code in (*get_args(stored_legal.FailureCode), *CAUSES)} <= set(words)


REASONED = ("fault", "FieldFault", "faults")
SOURCES = ("legal-orchestrator/playmolt_legal", "trial-engine/playmolt_jury", "gateway/playmolt_gateway")


def _texts_in(node: ast.AST) -> Iterator[str]:
    """A text as a reader may see it: holes of an f-string hold a number or a name."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(str(part.value) if isinstance(part, ast.Constant) else "7" for part in node.values)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _texts_in(value)
    elif isinstance(node, ast.IfExp):
        yield from _texts_in(node.body)
        yield from _texts_in(node.orelse)


def reasons() -> set[str]:
    """Every reason of a field's fault that the services of people's pages name."""
    root = Path(__file__).parents[2]
    paths = [path for source in SOURCES for path in (root / source).rglob("*.py")]
    paths.append(root.parent / "schemas/playmolt_schemas/body_fields.py")
    found: set[str] = set()
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if not isinstance(node, ast.Call):
                continue
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in REASONED and node.args:
                found |= set(_texts_in(node.args[1 if len(node.args) > 2 else -1]))
        if path.name in ("reading.py", "uploads.py"):
            for node in ast.walk(tree):
                if isinstance(node, ast.Return) and node.value is not None:
                    found |= set(_texts_in(node.value))
                if isinstance(node, ast.AnnAssign | ast.Assign) and node.value is not None:
                    found |= set(_texts_in(node.value))
    found |= {fault.message for fault in refusals.every()}
    return {text for text in found if " " in text.strip() and not text.startswith(("/", "…"))}


def test_every_code_and_every_reason_is_in_the_languages_of_the_pages() -> None:
    table = re.findall(r'^  \[/(.+)/i, "([^"]+)"\],$', MODULES["parts/faults.js"], re.MULTILINE)
    assert len(table) > 20
    for code in LANGUAGES:
        assert {key for _, key in table} <= TEXTS[code].keys()
        assert [one.wire for one in Code if f"problem.{one.wire}" not in TEXTS[code]] == []
    known = reasons()
    assert len(known) > 30
    assert any("needs a password" in text for text in known)
    unread = [text for text in known if not any(re.search(pattern, text, re.IGNORECASE) for pattern, _ in table)]
    assert unread == []


@pytest.mark.parametrize(
    ("reason", "korean"),
    [
        ("must contain at least one visible character", "보이는"),
        ("exceeds the limit of 20 uploads", "20"),
        ("has 2001 characters; the maximum is 2000", "2000"),
        ("is required", "입력"),
        ("contains a control or bidi control character", "보이지 않는"),
    ],
)
def test_a_reason_is_said_in_korean_with_its_bound(reason: str, korean: str) -> None:
    bounds = re.findall(r"\d[\d,]*", reason)
    assert korean in said(reason, "ko").replace("{n}", bounds[-1] if bounds else "")


def said(reason: str, language: str) -> str:
    """A reason as a page says it, with what its pattern finds."""
    table = re.findall(r'^  \[/(.+)/i, "([^"]+)"\],$', MODULES["parts/faults.js"], re.MULTILINE)
    found, key = next((found, key) for pattern, key in table if (found := re.search(pattern, reason, re.IGNORECASE)))
    text = TEXTS[language][key]
    for name, value in zip("abc", found.groups(), strict=False):
        text = text.replace(f"{{{name}}}", value)
    return text


@pytest.mark.parametrize("fault", refusals.every(), ids=lambda fault: fault.message[:40])
def test_a_refused_file_says_the_same_in_every_language(fault: FieldFault) -> None:
    """With the same figures and formats, and in English in the words of the API."""
    assert said(fault.message, "en") == fault.message
    for language in ("ko", "zh"):
        text = said(fault.message, language)
        assert "{" not in text
        assert re.search(r"[가-힣]" if language == "ko" else r"[一-龥]", text)
        for word in re.findall(r"\d[\d,]{3,}|HWPX|DOCX|cp1252", fault.message):
            assert word.lower() in text.lower()


@pytest.mark.parametrize("people", [True, False])
async def test_the_page_of_a_game_says_whether_people_play_in_public(make_platform: Any, people: bool) -> None:
    platform = make_platform(people=people)
    async with platform.client:
        text = (await platform.send("GET", "/play/trial?lang=ko")).text
        assert re.findall('<meta name="people" content="([^"]*)">', text) == ["yes" if people else ""]
        assert re.findall("<title>([^<]+)</title>", text) == ["모의재판 플레이 · PlayMolt"]
        assert (await platform.send("GET", "/play/legal", headers=BROWSER)).status_code == 404


BUDGETS = {
    "lobby.js": 30_000, "archive.js": 25_000, "agent.js": 25_500, "watch/page.js": 46_000, "watch/embed.js": 22_500,
    "tournaments.js": 23_500, "tournament.js": 29_500, "play/page.js": 59_000, "jury/page.js": 44_500,
    "jury/check.js": 25_500, "legal/page.js": 54_000, "agora.js": 28_500, "me.js": 29_500, "operator.js": 25_000,
    "nowhere.js": 19_000, "erased.js": 19_000, "away.js": 19_000,
}  # fmt: skip
"""The bytes of a page's files over the line: its module, style and icon, and its texts in the heaviest language. What
lobby, archive and watch page load beside them is held by `tests/browser/test_speed.py`."""


def test_every_page_has_a_budget() -> None:
    assert BUDGETS.keys() == set(BUNDLED)


@pytest.mark.parametrize("module", BUNDLED)
def test_a_page_keeps_its_budget(module: str) -> None:
    sizes = {name: len(assets()[name].best("gzip, br")[0]) for name in (module, "style.css", "mark.svg")}
    texts = {code: len(assets()[texts_name(module, code)].best("gzip, br")[0]) for code in PAGE_LANGUAGES}
    assert sum(sizes.values()) + max(texts.values()) <= BUDGETS[module], (sizes, texts)
