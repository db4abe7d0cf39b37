"""What an owner shows: one address while it stands, nobody else's to give, gone when it is taken back."""

import json
import re
from typing import Any

import pytest
from playmolt_schemas.codes import Code, problem_bytes
from playmolt_schemas.envelopes import Answer, Call
from playmolt_schemas.routes import sharing

JURY = "jury-0190c3f8-1111-7222-8333-444455556666"
LEGAL = "legal-0190c3f8-1111-7222-8333-444455556666"
EXPERIMENT = "experiment-0190c3f8-1111-7222-8333-444455556666"
PATHS = {
    JURY: f"/api/jury/sessions/{JURY}/share",
    LEGAL: f"/api/sessions/{LEGAL}/share",
    EXPERIMENT: f"/api/agora/experiments/{EXPERIMENT}/share",
}
PAGE = sharing.SharedPage(
    title="The <case>", description="Guilty, 3 to 2", language="en", body="<section>0xfeed</section>", log=True
)


class Owned:
    """An engine whose sessions are one agent's, or the operator's; `sections` are those that it was last asked for."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.status = 200
        self.asked: list[dict[str, Any]] = []

    def __call__(self, game: str, call: Call) -> Any:
        said = json.loads(call.body)
        self.asked.append(said)
        mine = call.operator if game == "experiment" else call.agent == self.owner
        if not mine:
            return 404, problem_bytes(Code.NOT_FOUND, "No such session.")
        match said["route"]:
            case sharing.ASK if self.status != 200:
                return self.status, problem_bytes(Code.NOT_FINISHED, "The session is not over.")
            case sharing.ASK:
                return 200, sharing.ShareTerms((said["body"] or {}).get("sections"))
            case sharing.PAGE:
                return self.status, PAGE
            case sharing.LOG if self.status != 200:
                return self.status, problem_bytes(Code.UNAVAILABLE, "Retry.")
            case sharing.LOG:
                return Answer(call.id, 200, b"{}\n", content_type="application/x-ndjson")
        return 200, sharing.ShareTerms()


@pytest.fixture
def owner(platform: Any) -> tuple[Owned, dict[str, str]]:
    agent, key = platform.agent()
    platform.bus.engine = Owned(agent)
    return platform.bus.engine, key


async def shared(platform: Any, key: dict[str, str], path: str, body: Any = None, **headers: str) -> str:
    answer = await platform.send("POST", path, json=body or {}, headers=key | headers)
    assert answer.status_code == 201, answer.text
    assert list(answer.json()) == ["url"]
    return str(answer.json()["url"])


def page_of(url: str) -> str:
    found = re.fullmatch(r"http://gateway(/shared/[A-Za-z0-9_-]{22,})", url)
    assert found
    return found[1]


@pytest.mark.parametrize("stream", PATHS)
async def test_an_address_stands_until_it_is_taken_back(platform: Any, owner: Any, stream: str) -> None:
    key = platform.operator if stream == EXPERIMENT else owner[1]
    url = await shared(platform, key, PATHS[stream])
    assert await shared(platform, key, PATHS[stream]) == url
    page = await platform.send("GET", page_of(url))
    assert page.status_code == 200
    assert "0xfeed" in page.text
    assert "The &lt;case&gt;" in page.text
    assert "no-store" in page.headers["cache-control"]

    taken = await platform.send("DELETE", PATHS[stream], headers=key)
    assert (taken.status_code, taken.content) == (204, b"")
    assert (await platform.send("DELETE", PATHS[stream], headers=key)).status_code == 204
    assert (await platform.send("GET", page_of(url))).status_code == 404
    assert (await platform.send("GET", f"{page_of(url)}/log.jsonl")).status_code == 404
    again = await shared(platform, key, PATHS[stream])
    assert again != url
    assert (await platform.send("GET", page_of(again))).status_code == 200


@pytest.mark.parametrize("stream", PATHS)
async def test_another_key_finds_nothing_to_share(platform: Any, owner: Any, stream: str, problem: Any) -> None:
    _, stranger = platform.agent("Eve")
    for method in ("POST", "DELETE"):
        body = {"json": {}} if method == "POST" else {}
        assert problem(await platform.send(method, PATHS[stream], headers=stranger, **body)) == (404, "not_found")
        assert problem(await platform.send(method, PATHS[stream], **body)) == (401, "unauthorized")
    assert platform.store.shares == {}


async def test_a_repeat_under_an_old_key_gives_what_stands_now_and_opens_nothing(platform: Any, owner: Any) -> None:
    first = await shared(platform, owner[1], PATHS[LEGAL], {}, **{"Idempotency-Key": "k1"})
    assert await shared(platform, owner[1], PATHS[LEGAL], {"sections": ["facts"]}) == first
    assert await shared(platform, owner[1], PATHS[LEGAL], {}, **{"Idempotency-Key": "k1"}) == first
    await platform.send("GET", page_of(first))
    assert owner[0].asked[-1]["query"] == {"sections": ["facts"]}

    await platform.send("DELETE", PATHS[LEGAL], headers=owner[1])
    second = await shared(platform, owner[1], PATHS[LEGAL])
    assert await shared(platform, owner[1], PATHS[LEGAL], {}, **{"Idempotency-Key": "k1"}) == second != first


async def test_a_key_that_came_with_another_body_is_refused(platform: Any, owner: Any, problem: Any) -> None:
    await shared(platform, owner[1], PATHS[LEGAL], {}, **{"Idempotency-Key": "k1"})
    answer = await platform.send(
        "POST", PATHS[LEGAL], json={"sections": ["facts"]}, headers=owner[1] | {"Idempotency-Key": "k1"}
    )
    assert problem(answer) == (422, "idempotency_mismatch")


async def test_what_its_game_does_not_show_yet_gets_no_address(platform: Any, owner: Any, problem: Any) -> None:
    owner[0].status = 409
    answer = await platform.send("POST", PATHS[JURY], json={}, headers=owner[1])
    assert problem(answer) == (409, "not_finished")
    assert platform.store.shares == {}


async def test_an_erased_session_has_no_page_any_more(platform: Any, owner: Any) -> None:
    url = await shared(platform, owner[1], PATHS[JURY])
    owner[0].status = 410
    assert (await platform.send("GET", page_of(url))).status_code == 410


@pytest.mark.parametrize("ending", ["", "/check"])
async def test_while_its_engine_is_away_a_page_says_so_in_the_readers_language(
    platform: Any, owner: Any, ending: str
) -> None:
    engine, key = owner
    address = page_of(await shared(platform, key, PATHS[LEGAL]))
    engine.status = Code.UNAVAILABLE.status
    answer = await platform.send("GET", f"{address}{ending}", params={"lang": "zh"})
    assert (answer.status_code, answer.headers["content-type"]) == (503, "text/html; charset=utf-8")
    assert int(answer.headers["retry-after"]) > 0
    assert "暂时无法查看" in answer.text
    assert "no-store" in answer.headers["cache-control"]


@pytest.mark.parametrize("file", ["log.jsonl", "picture.svg"])
async def test_a_file_whose_engine_is_unavailable_was_not_revoked(platform: Any, owner: Any, file: str) -> None:
    engine, key = owner
    address = page_of(await shared(platform, key, PATHS[JURY]))
    engine.status = Code.UNAVAILABLE.status
    answer = await platform.send("GET", f"{address}/{file}")
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert int(answer.headers["retry-after"]) > 0


async def test_the_head_is_told_to_who_only_looks_at_the_link(platform: Any, owner: Any) -> None:
    page = await platform.send("GET", page_of(await shared(platform, owner[1], PATHS[JURY])), params={"lang": "ko"})
    assert '<html lang="ko">' in page.text
    assert '<h1 lang="en">The &lt;case&gt;</h1>' in page.text
    assert '<div class="stack" lang="en"><section>0xfeed</section></div>' in page.text
    assert '<meta property="og:title" content="The &lt;case&gt;">' in page.text
    assert '<meta property="og:description" content="Guilty, 3 to 2">' in page.text
    assert "<script" not in page.text
    assert owner[0].owner not in page.text


async def test_the_log_is_taken_along_as_a_file(platform: Any, owner: Any) -> None:
    url = await shared(platform, owner[1], PATHS[JURY])
    log = await platform.send("GET", f"{page_of(url)}/log.jsonl")
    assert (log.status_code, log.text) == (200, "{}\n")
    assert log.headers["content-disposition"] == f'attachment; filename="{JURY}.jsonl"'


@pytest.mark.parametrize("token", ["x", "%2e%2e", "a" * 22, "a" * 23, "é" * 22])
async def test_an_address_of_nothing_is_the_page_that_says_so(platform: Any, token: str) -> None:
    answer = await platform.send("GET", f"/shared/{token}", headers={"Accept": "text/html"})
    assert answer.status_code == 404
    assert answer.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    ("node", "called"),
    [
        ("https://node.example", "https://node.example"),
        ("http://127.0.0.1:8545", "http://127.0.0.1:8545"),
        ("https://node.example/v3/secret", ""),
        ("https://node.example; script-src *", ""),
        ("https://*", ""),
        ("*", ""),
        ("https://NODE.example", ""),
        ("wss://node.example", ""),
        ("https://me@node.example", ""),
        ("https://node.example\n", ""),
    ],
)
async def test_the_page_that_checks_may_call_one_named_host_more(
    platform: Any, owner: Any, node: str, called: str
) -> None:
    page = page_of(await shared(platform, owner[1], PATHS[JURY]))
    plain = (await platform.send("GET", f"{page}/check")).headers["content-security-policy"]
    named = await platform.send("GET", f"{page}/check", params={"node": node})
    assert named.status_code == 200
    assert "no-store" in named.headers["cache-control"]
    found = named.headers["content-security-policy"]
    assert found == plain.replace("; object-src", f" {called}; object-src" if called else "; object-src")


async def test_nothing_is_checked_where_nothing_is_shared(platform: Any, owner: Any) -> None:
    page = page_of(await shared(platform, owner[1], PATHS[JURY]))
    await platform.send("DELETE", PATHS[JURY], headers=owner[1])
    for path in (f"{page}/check", "/shared/nothing/check"):
        assert (await platform.send("GET", path)).status_code == 404
