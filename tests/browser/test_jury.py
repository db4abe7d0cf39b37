"""The AI jury, played by a person from the prologue to an ending."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playmolt.client import Client
from playmolt_cli.content import packs as template
from playmolt_cli.jury import overseer
from playmolt_cli.jury.page import JuryPage
from playmolt_cli.jury.table import JuryTable
from playmolt_cli.jury.texts import JuryTexts
from playmolt_core.game.packs.folder import folder_files
from playmolt_schemas.games.jury import AddCaseRequest
from playmolt_schemas.routes import jury as routes
from playwright.sync_api import Page, Route, expect
from rich.console import Console

from tests.browser.conftest import OPERATOR_KEY, PHONE, WAIT_MS, Reader, answer

ROUNDS = 4
IN_VIEW = """(line) => {
  const [own, list] = [line, line.closest(".log")].map((one) => one.getBoundingClientRect());
  return own.top >= list.top - 1 && own.bottom <= list.bottom + 1;
}"""


class PageWords(NamedTuple):
    """What the person says, in the language of the story."""

    begin: str
    said: str
    note: str
    undecided: str
    verdicts: tuple[str, str]
    forgotten: tuple[str, str]
    """What is said of a node that lacks the transactions; of one that lacks their events, too."""
    denied: str


ENGLISH = PageWords(
    "Begin in English", "The log of the pump proves nothing about intent.", "Think of the girl.", "Undecided",
    ("Guilty", "Not guilty"),
    (
        "This node no longer has the transaction. The contract's event and its state match the log.",
        "This node no longer has the transaction or its event. The contract's state matches the log; to compare the "
        "transaction, choose a node that keeps all blocks.",
    ),
    "In the site settings (the icon beside the address), allow access to the local network or to apps on this device",
)  # fmt: skip
KOREAN = PageWords(
    "한국어로 시작", "펌프의 일지는 의도에 관해 아무것도 증명하지 못합니다.", "그 학생을 생각하십시오.", "미정",
    ("유죄", "무죄"),
    (
        "이 노드에는 해당 거래가 더 이상 없습니다. 계약의 이벤트와 상태는 기록과 일치합니다.",
        "이 노드에는 해당 거래와 이벤트가 더 이상 없습니다. 계약의 상태는 기록과 일치합니다. 거래까지 대조하려면 모든 "
        "블록을 보관하는 노드를 선택하십시오.",
    ),
    "사이트 설정에서 로컬 네트워크 또는 이 기기의 앱에 대한 접근을 허용한 뒤 다시 확인하십시오",
)  # fmt: skip
CHINESE = PageWords(
    "用中文开始", "泵的日志不能证明任何故意。", "想想那个女孩。", "未定", ("有罪", "无罪"),
    (
        "该节点已不再保存这笔交易。合约的事件和状态与日志一致。",
        "该节点已不再保存这笔交易及其事件。合约的状态与日志一致；如需核对交易，请选择保存全部区块的节点。",
    ),
    "请在网站设置（地址旁的图标）中允许访问本地网络或此设备上的应用，然后重新核对。",
)  # fmt: skip


def a_stranger_checks_what_is_shared(page: Page, words: PageWords, chain: str) -> None:
    """The link leads who has no key to the story with every transaction in full, which the browser compares with the
    chain; taken back, to nothing."""
    codes = page.locator("#panel-verdict tbody tr code")
    expect(codes).to_have_count(10)
    hashes = codes.all_inner_texts()
    share = page.locator("section[aria-labelledby=share]")
    share.locator("button.first").click()
    address = share.locator("[data-shared]").input_value()
    shown = page.context.new_page()
    shown.goto(address)
    for code in hashes:
        expect(shown.locator("main")).to_contain_text(code)
    expect(shown.locator("main")).to_contain_text(words.said)
    assert words.note not in shown.content()
    assert shown.locator("svg[role=img]:visible").count() == 1
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    compared_with_the_chain(shown, chain, hashes)
    if words == ENGLISH:  # what the page finds has no language
        a_changed_log_is_seen(shown, chain, hashes)
    the_page_names_what_a_node_lacks(shown, chain, words)
    shown.goto(address)
    share.locator("> .row button").last.click()
    expect(share.locator("[data-shared]")).to_have_count(0)
    gone = shown.reload()
    assert gone
    assert gone.status == 404
    shown.close()


def compared_with_the_chain(shown: Page, chain: str, hashes: list[str]) -> None:
    """The page calls the node that was named and pressed for."""
    shown.locator("a[href$='/check']").click()
    shown.locator("input[type=url]").fill(f"{chain}/")
    shown.locator("button.first").click()
    shown.wait_for_url("**/check?node=*")
    points = shown.locator("li.point")
    expect(points).to_have_count(10)
    expect(shown.locator("main [role=status] .notice")).to_have_count(0)
    for code in hashes[::2]:
        expect(points.filter(has_text=code)).to_have_count(1)


def a_changed_log_is_seen(shown: Page, chain: str, hashes: list[str]) -> None:
    points = shown.locator("li.point")

    def changed(route: Route) -> None:
        text = route.fetch().text()
        route.fulfill(body=text.replace(hashes[0], hashes[2]), content_type="application/x-ndjson")

    shown.route("**/log.jsonl", changed)
    asked: list[str] = []
    shown.on("request", lambda request: asked.append(request.url))
    shown.reload()
    expect(shown.locator("button.first")).to_be_visible()
    assert [url for url in asked if url.startswith(chain)] == [], "an address alone makes no browser call a node"
    shown.locator("input[type=url]").fill(f"{chain}/")
    shown.locator("button.first").click()
    expect(shown.locator("main [role=status] .notice")).to_be_visible()
    assert points.locator(".tag:not(.plain)").count() >= 2
    shown.unroute("**/log.jsonl")


FORGETS_TRANSACTIONS = {"eth_getTransactionByHash", "eth_getTransactionReceipt"}
DENIED = """Permissions.prototype.query = async ({ name }) => {
  if (name !== "local-network-access") throw new TypeError(`${name} is not a permission`);
  return { state: "denied" };
}"""
"""A reader who forbade the page to reach this machine, in a browser that has one name for all such permissions."""


def the_page_names_what_a_node_lacks(shown: Page, chain: str, words: PageWords) -> None:
    points = shown.locator("li.point")
    for methods, said in zip(
        (FORGETS_TRANSACTIONS, FORGETS_TRANSACTIONS | {"eth_getLogs"}), words.forgotten, strict=True
    ):
        node_forgets(shown, chain, methods)
        compared_again(shown, chain)
        expect(points.locator("p")).to_have_text([said] * 5)
        expect(points.locator(".tag.plain")).to_have_count(10)
        shown.unroute(f"{chain}/")
    shown.route(f"{chain}/", lambda route: route.abort())
    compared_again(shown, chain)
    expect(shown.get_by_role("alert")).not_to_contain_text(words.denied)
    shown.add_init_script(DENIED)
    compared_again(shown, chain)
    expect(shown.get_by_role("alert")).to_contain_text(words.denied)
    shown.unroute(f"{chain}/")


def compared_again(shown: Page, chain: str) -> None:
    shown.reload()
    shown.locator("input[type=url]").fill(f"{chain}/")
    shown.locator("button.first").click()


def node_forgets(shown: Page, chain: str, methods: set[str]) -> None:
    """Nodes drop old transactions, and some old events too: the contract's state is then all there is."""

    def answered(route: Route) -> None:
        call = json.loads(route.request.post_data or "{}")
        if call.get("method") not in methods:
            route.continue_()
            return
        found: Any = [] if call["method"] == "eth_getLogs" else None
        answer = {"jsonrpc": "2.0", "id": call["id"], "result": found}
        route.fulfill(json=answer, headers={"Access-Control-Allow-Origin": "*"})

    shown.route(f"{chain}/", answered)


SPACES = {
    "127.0.0.1": "loopback", "127.8.0.1": "loopback", "[::1]": "loopback", "localhost": "loopback",
    "node.localhost": "loopback", "[::ffff:7f00:1]": "loopback", "10.1.2.3": "local", "192.168.0.9": "local",
    "172.16.0.1": "local", "172.31.255.1": "local", "169.254.1.1": "local", "[fd00::1]": "local", "[fe80::1]": "local",
    "node.local": "local", "172.32.0.1": None, "11.0.0.1": None, "example.org": None, "localhost.example.org": None,
    "[2001:db8::1]": None, "127.example.org": None, "10.example.org": None, "fd.example.org": None,
}  # fmt: skip


def test_a_request_names_the_address_space_that_fits_its_host(reader: Reader) -> None:
    """A browser that knows the option asks for the right permission; one that does not is given none."""
    page = reader("/")
    script = """async (hosts) => {
  const at = document.querySelector("script[type=module]").src.replace(/[^/]+$/, "");
  const { addressSpace, spaceOptions } = await import(`${at}parts/browser.js`);
  const known = "targetAddressSpace" in Request.prototype;
  return [known, hosts.map((host) => [addressSpace(host), spaceOptions(host).targetAddressSpace ?? null])];
}"""
    known, found = page.evaluate(script, list(SPACES))
    assert dict(zip(SPACES, (space for space, _ in found), strict=True)) == SPACES
    if not known:
        assert {option for _, option in found} == {None}


def tab(page: Page, name: str) -> None:
    page.locator(f"#tab-{name}").click()
    expect(page.locator(f"#panel-{name}")).to_be_visible()


def go_on(page: Page) -> None:
    page.locator("main button.first:visible").last.click()


@pytest.mark.parametrize(
    ("language", "words", "screen"),
    [("en", ENGLISH, None), ("ko", KOREAN, None), ("zh-CN", CHINESE, PHONE)],
    ids=["english", "korean", "chinese-phone"],
)
def test_a_person_plays_to_the_ending(
    reader: Reader, chain: str, language: str, words: PageWords, screen: dict[str, int] | None
) -> None:
    page = reader("/game", language=language, screen=screen)
    page.get_by_role("button", name=words.begin).click()
    page.wait_for_url("**/game?session=jury-*")
    assert page.evaluate("localStorage['playmolt.key'].length") > 20
    expect(page.locator(".story .speech").first).to_be_visible()

    go_on(page)
    expect(page.locator("#panel-dossier .prose")).to_be_visible()
    tab(page, "evidence")
    page.locator("[data-focus=E1]").click()
    expect(page.locator("#panel-evidence article .prose")).to_be_visible()
    expect(page.locator("[data-focus=E1]")).to_contain_text("✓")
    assert page.locator("#panel-evidence button:disabled").count() > 0

    tab(page, "witnesses")
    page.locator("#panel-witnesses ul button").first.click()
    first = page.locator("blockquote").get_attribute("data-node")
    page.locator("[data-choice]").first.click()
    page.wait_for_selector(f"blockquote:not([data-node='{first}'])")
    witness = page.locator("blockquote").inner_text().splitlines()[0]

    go_on(page)
    talk = page.locator("#panel-jurors")
    talk.locator("textarea").fill(words.said)
    page.reload()
    expect(talk.locator("textarea")).to_have_value(words.said)
    talk.locator("button.first").click()
    expect(talk.locator(".said.mine")).to_contain_text(words.said)
    expect(talk.locator(".said:not(.mine)")).to_have_count(1)
    assert talk.locator(".talk > p").evaluate_all("all => all.map((one) => one.className)")[:3] == [
        "said mine", "said", "quiet small",
    ]  # fmt: skip
    expect(talk.locator(".talk p.quiet")).to_have_count(1)  # why the juror moved, or that it did not
    talk.locator("section .row.bottom button").click()
    expect(talk.locator(".said:not(.mine)")).to_have_count(2)
    expect(talk.locator("li .card.on")).to_contain_text("8")
    expect(talk).to_contain_text(words.undecided)

    talk.locator("textarea").fill(words.note)
    go_on(page)
    debate = page.locator("#panel-deliberation")
    expect(page.locator("section[aria-labelledby=unsent]")).to_contain_text(words.note)
    debate.locator("textarea").fill(words.note)
    debate.locator(".row.end button").click()
    expect(debate.locator("textarea")).to_have_value("")
    for spoken in range(1, ROUNDS):
        debate.locator("button.first").click()
        expect(debate.locator("section.card .speech")).to_have_count(3 * spoken)
        expect(debate.locator("button.first")).to_contain_text(str(spoken + 1))
        expect(debate.locator("button.first")).not_to_have_attribute("aria-busy", "true")
    debate.locator("button.first").click()

    page.locator("#panel-verdict button.first:visible").first.click()
    expect(page.locator("article.story .prose")).to_be_visible()
    assert page.locator("article.story .tag").inner_text() in words.verdicts
    votes = page.locator("#panel-verdict tbody tr")
    expect(votes).to_have_count(5)
    drawn = page.locator("main > * svg.picture")
    expect(drawn.locator("[role=img][aria-label]")).to_have_count(5)
    expect(drawn.locator("desc")).to_contain_text(page.locator("article.story .tag").inner_text())
    assert all(code.startswith("0x") for code in votes.locator("code").all_inner_texts())

    a_stranger_checks_what_is_shared(page, words, chain)

    tab(page, "history")
    expect(page.locator("#panel-history .timeline")).to_be_visible()
    lines = page.locator("#panel-history .log button").evaluate_all("all => all.map((one) => one.textContent)")
    said = next(place for place, line in enumerate(lines) if words.said in line)
    answer = next(place for place, line in enumerate(lines) if place > said and line.endswith("”"))
    assert not any(words.undecided in line for line in lines[said + 1 : answer])
    assert not lines[answer + 1].endswith("”")
    assert any(witness in line for line in lines)
    spoken_to = page.locator("#panel-history .log button", has_text=words.said)
    spoken_to.click()
    expect(page.locator("#panel-history [aria-live] p")).to_contain_text(words.said)
    expect(drawn.locator("desc")).to_contain_text(words.said)
    record = page.locator("#panel-history details.record")
    record.locator("summary").click()
    expect(record.locator("pre").last).to_contain_text(record.locator("[data-hash]").inner_text())
    expect(record.locator("pre").first).to_contain_text(words.said)
    expect(page.locator("#panel-history .band")).to_have_count(5)

    page.reload()
    moment = page.locator("#panel-history .log [aria-current]")
    expect(moment).to_contain_text(words.said)
    assert moment.evaluate(IN_VIEW)
    rounds = page.locator("#panel-history .marks [role=button]").evaluate_all(
        "all => all.map((one) => one.getAttribute('aria-label')).filter((name) => /\\d/.test(name))"
    )
    assert len(set(rounds)) == ROUNDS
    moment.press("Home")
    page.keyboard.press("Enter")
    expect(page.locator("#panel-history .timeline input")).to_have_value("1")
    page.get_by_role("tab").first.click()
    expect(page.locator("article.story .prose")).to_be_visible()


def test_a_jury_to_whom_nothing_was_put_is_let_go_only_on_purpose(reader: Reader) -> None:
    page = reader("/game")
    page.get_by_role("button", name=ENGLISH.begin).click()
    expect(page.locator(".story .speech").first).to_be_visible()
    for panel in ("dossier", "jurors"):
        go_on(page)
        expect(page.locator(f"#panel-{panel}")).to_be_visible()
    go_on(page)
    assert "not questioned any jurors" in answer(page, yes=False)
    expect(page.locator("#panel-jurors")).to_be_visible()
    go_on(page)
    answer(page, yes=True)
    expect(page.locator("#panel-deliberation")).to_be_visible()


def test_a_juror_of_a_chinese_story_is_named_in_chinese_on_an_english_page(reader: Reader) -> None:
    page = reader("/game")
    page.locator("button[lang=zh]").click()
    page.wait_for_url("**/game?session=jury-*")
    expect(page.locator(".story .speech").first).to_be_visible()
    page.get_by_role("combobox").select_option("en")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect(page.locator(".story .speech").first).to_be_visible()
    for panel in ("dossier", "jurors"):
        go_on(page)
        expect(page.locator(f"#panel-{panel}")).to_be_visible()
    talk = page.locator("[data-juror]").first
    name = talk.locator("bdi[lang=zh]").inner_text()
    expect(talk).to_have_accessible_name(f"Talk {name}")
    talk.click()
    expect(page.locator("h2[lang=zh]").filter(has_text=name)).to_be_visible()
    expect(page.locator("label bdi[lang=zh]")).to_have_text(name)


def test_a_chosen_language_is_kept_when_the_story_speaks_another(reader: Reader) -> None:
    page = reader("/game?lang=en")
    page.get_by_role("combobox").select_option("ko")
    expect(page.get_by_role("combobox")).to_have_value("ko")
    assert "lang=" not in page.url
    page.locator("button[lang=zh]").click()
    page.wait_for_url("**/game?session=jury-*")
    expect(page.locator(".story .speech").first).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "ko")


def test_a_page_speaks_as_its_story_until_another_language_is_chosen(reader: Reader) -> None:
    page = reader("/game")
    page.locator("button[lang=zh]").click()
    page.wait_for_url("**/game?session=jury-*")
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    page.get_by_role("combobox").select_option("ko")
    expect(page.locator("html")).to_have_attribute("lang", "ko")
    page.reload()
    expect(page.locator(".story .speech").first).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "ko")


def test_what_is_typed_while_a_juror_answers_stays(reader: Reader) -> None:
    page, held = reader("/game"), list[Route]()
    page.get_by_role("button", name=ENGLISH.begin).click()
    expect(page.locator(".story .speech").first).to_be_visible()
    for panel in ("dossier", "jurors"):
        go_on(page)
        expect(page.locator(f"#panel-{panel}")).to_be_visible()

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/chat/*", hold)
    talk, words = page.locator("#panel-jurors section"), page.locator("#panel-jurors textarea")
    words.fill("The first sentence.")
    with page.expect_request("**/chat/*"):
        talk.locator("button.first").click()
    words.fill("The next sentence.")
    with page.expect_response("**/chat/*"):
        held.pop().continue_()
    expect(talk.locator("button.first")).not_to_have_attribute("aria-busy", "true")
    expect(words).to_have_value("The next sentence.")
    with page.expect_request("**/chat/*"):
        talk.locator("button.first").click()
    page.locator("[data-juror]").last.click()
    words.fill("A word to another.")
    with page.expect_response("**/chat/*"):
        held.pop().continue_()
    expect(page.locator("#panel-jurors li").first).to_contain_text("8")
    expect(words).to_have_value("A word to another.")


def test_a_session_of_somebody_else_is_unknown(reader: Reader) -> None:
    page = reader("/game?session=jury-00000000-0000-5000-8000-000000000000")
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_vote_that_a_juror_failed_in_can_be_called_again(reader: Reader) -> None:
    page, jurors = reader("/game"), ("ophiuchus", "radical", "sympathizer", "opportunist", "philosopher")
    seats = [{"id": each, "name": each, "personality": [], "band": "undecided", "rounds_left": 10} for each in jurors]
    session = {"id": "jury-1", "language": "en", "phase": "vote", "prologue": [], "round": 4, "notes_left": 3}
    words: list[dict[str, Any]] = [{"type": "turn_started", "turn": "vote", "juror_id": each} for each in jurors]
    words += [{"type": "vote_decided", "juror_id": each} for each in jurors[1:]]
    words += [{"type": "turn_failed", "turn": "vote", "juror_id": jurors[0], "code": "model_unavailable"}]
    stream = "".join(f"data: {json.dumps(each | {'version': place})}\n\n" for place, each in enumerate(words, 1))
    called = []

    def answer(route: Route) -> None:
        match route.request.url.partition("/jury-1")[2].partition("?")[0]:
            case "/stream":
                route.fulfill(body=stream, content_type="text/event-stream")
            case "/witnesses":
                route.fulfill(json={"witnesses": []})
            case "/vote":
                called.append(route.request.headers["idempotency-key"])
                route.fulfill(status=202, json=session | {"jurors": seats})
            case "":
                route.fulfill(json=session | {"jurors": seats})
            case _:
                route.fulfill(status=409, json={"code": "not_finished", "detail": "There is no verdict yet."})

    page.route("**/api/jury/sessions/jury-1**", answer)
    page.route("**/api/jury/sessions/jury-1/**", answer)
    page.goto("/game?session=jury-1")
    expect(page.locator("#panel-verdict ol li")).to_have_count(4)
    page.locator("#panel-verdict button.first:visible").first.click()
    expect(page.locator("#panel-verdict button.first:visible")).not_to_have_attribute("aria-busy", "true")
    assert len(called) == 1


@pytest.mark.parametrize(
    ("language", "calls_none", "too_long"),
    [
        ("en", "never look up evidence", "context is 2,048"),
        ("ko", "증거를 찾아보지 못합니다", "더 긴 문맥을 읽는 모델"),
        ("zh", "无法查阅证据", "上下文更长的模型"),
    ],
)
def test_the_limits_of_a_model_are_said_in_the_language_of_the_page(
    reader: Reader, language: str, calls_none: str, too_long: str
) -> None:
    page = reader("/game")
    seat = {"id": "radical", "name": "R", "personality": [], "band": "undecided", "rounds_left": 10}
    session = {"id": "jury-1", "language": language, "phase": "persuasion", "prologue": [], "round": 0, "version": 4,
               "notes_left": 3, "jurors": [seat], "calls_tools": False}  # fmt: skip
    detail = "The model gave no usable answer: the prompt is too long: it has 9,000 tokens, the context is 2,048."

    def answer(route: Route) -> None:
        match route.request.url.partition("/jury-1")[2].partition("?")[0]:
            case "/stream":
                route.fulfill(body=": nothing\n\n", content_type="text/event-stream")
            case "/chat/radical":
                route.fulfill(status=503, json={"code": "unavailable", "detail": detail})
            case "":
                route.fulfill(json=session)
            case path:
                route.fulfill(json={path[1:]: []})

    page.route("**/api/jury/sessions/jury-1**", answer)
    page.route("**/api/jury/sessions/jury-1/**", answer)
    page.goto(f"/game?session=jury-1&lang={language}")
    expect(page.get_by_role("status").filter(has_text=calls_none)).to_be_visible()
    page.locator("textarea[name=text]").fill("Listen.")
    page.locator("#panel-jurors button.first").first.click()
    expect(page.get_by_role("alert")).to_contain_text(too_long)
    expect(page.locator("textarea[name=text]")).to_have_value("Listen.")


def test_an_answer_that_was_overtaken_is_dropped(reader: Reader) -> None:
    page, held = reader("/game"), dict[str, Route]()
    line = {"speaker": "Narrator", "text": "It begins."}
    before = {"id": "jury-1", "language": "en", "phase": "prologue", "prologue": [line], "round": 0, "notes_left": 3}
    before |= {"version": 2, "jurors": []}
    after = before | {"version": 3, "phase": "investigation"}
    ready, versions = [before], iter(range(3, 100))

    def answer(route: Route) -> None:
        match route.request.url.partition("/jury-1")[2].partition("?")[0]:
            case "/stream":  # each connection brings one message, after which the page asks for the session
                message = {"type": "phase_changed", "phase": "investigation", "version": next(versions)}
                route.fulfill(body=f"data: {json.dumps(message)}\n\n", content_type="text/event-stream")
            case "" if ready:
                route.fulfill(json=ready.pop())
            case ("" | "/phase") as path:
                held[path] = route
            case "/dossier":
                route.fulfill(json={"title": "A case", "text": "It is short."})
            case ("/witnesses" | "/evidence") as path:
                route.fulfill(json={path[1:]: []})
            case _:
                route.fulfill(status=404, json={"code": "not_found", "detail": "There is none."})

    def answered(path: str, session: dict[str, Any]) -> None:
        """Answer the request of this path once it is made, and let the page take the answer."""
        for _ in range(WAIT_MS // 10):
            if path in held:
                break
            page.wait_for_timeout(10)
        with page.expect_response(f"**/jury-1{path}"):
            held.pop(path).fulfill(json=session)
        page.evaluate("new Promise((done) => setTimeout(done))")

    page.route("**/api/jury/sessions/jury-1**", answer)
    page.route("**/api/jury/sessions/jury-1/**", answer)
    page.goto("/game?session=jury-1")
    with page.expect_request("**/phase"):
        go_on(page)
    drawn = page.locator("#panel-dossier")
    answered("", after)
    drawn.evaluate("(panel) => { panel.dataset.first = 'yes'; }")
    answered("/phase", after)
    expect(drawn).to_have_attribute("data-first", "yes")
    answered("", before)
    expect(drawn).to_have_attribute("data-first", "yes")


def test_another_case_is_chosen_heard_and_checked(reader: Reader, platform: str, chain: str, tmp_path: Path) -> None:
    """The operator's case of three jurors, in the languages that it has."""
    template.write(tmp_path / "ferry", "jury", ("zh", "en"))
    files = {path: content.decode() for path, content in folder_files(tmp_path / "ferry")[0].items()}
    with Client(platform, OPERATOR_KEY) as operator:
        brought = operator.call(routes.BRING_CASE, body=AddCaseRequest(files=files))
    page = reader("/game")
    page.get_by_role("button", name="Find other cases").click()
    choice = page.get_by_label("Case")
    expect(page.get_by_role("button", name="Begin in Korean")).to_have_count(1)
    choice.select_option(brought.id)
    expect(page.locator("main")).to_contain_text("3 jurors")
    expect(page.get_by_role("button", name="Begin in Korean")).to_have_count(0)
    page.get_by_role("button", name=ENGLISH.begin).click()
    page.wait_for_url("**/game?session=jury-*")
    expect(page.locator(".story .speech").first).to_be_visible()
    for panel in ("dossier", "jurors"):
        go_on(page)
        expect(page.locator(f"#panel-{panel}")).to_be_visible()
    expect(page.locator("#panel-jurors ul.thirds > li, #panel-jurors nav li")).to_have_count(3)
    with Client(platform, page.evaluate("localStorage['playmolt.key']")) as owner:
        session = owner.call(routes.READ, page.url.partition("session=")[2])
        overseer.play(JuryTable(owner, JuryPage(Console(quiet=True), JuryTexts("en")), session), "guilty")
        shared = owner.call(routes.SHARE, session.id).url
    with Client(platform, OPERATOR_KEY) as operator:
        operator.call(routes.DROP_CASE, brought.id)
    page.goto(f"{shared}/check")
    page.locator("input[type=url]").fill(f"{chain}/")
    page.locator("button.first").click()
    page.wait_for_url("**/check?node=*")
    expect(page.locator("li.point")).to_have_count(8)
    expect(page.locator("main [role=status] .notice")).to_have_count(0)
