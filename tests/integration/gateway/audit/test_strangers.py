"""The audit's pages of elsewhere, titles that are no titles, and other users of the machine."""

import json
import re
import stat
from typing import Any

import httpx
import pytest
from playmolt_jury.chain import EMBEDDED_DEPLOYER_KEY

from tests.integration.gateway.audit.wire import address
from tests.integration.gateway.rows import Platform, accepted, refused

TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
CHAIN = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
CONTROLS = ["\x1b[2J", "\x07", "\u0085", "\u202e", "\u2066", "\u2028", "\u2029"]
LEGAL = {"case_type": "civil", "jurisdiction": "Korea", "title": "A deposit", "language": "en"}


def posted(url: str, body: Any, **headers: str) -> int:
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    answer = httpx.post(url, content=json.dumps(body), headers={**sent, **named}, trust_env=False, timeout=60)
    return answer.status_code


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}"])
def test_mcp_takes_this_machines_names(audited: Platform, host: str) -> None:
    port = address(audited, "gateway")[1]
    named = host.format(port=port)
    assert posted(f"{audited.gateway}/mcp", TOOLS, Host=named) == 200
    assert posted(f"{audited.gateway}/mcp", TOOLS, Host=named, Origin=f"http://{named}") == 200


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "file://"}]
)
def test_mcp_takes_no_name_and_no_page_of_elsewhere(audited: Platform, headers: dict[str, str]) -> None:
    assert 400 <= posted(f"{audited.gateway}/mcp", TOOLS, **headers) < 500


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Content_Type": "text/plain"}, 415),
    ],
)
def test_a_page_of_elsewhere_does_not_speak_to_the_chain(
    audited: Platform, headers: dict[str, str], status: int
) -> None:
    host, port = address(audited, "evm")
    sent = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    answer = httpx.post(f"http://{host}:{port}", content=json.dumps(CHAIN), headers=sent, trust_env=False, timeout=60)
    assert answer.status_code == status


def test_the_chains_key_is_this_data_folders(audited: Platform) -> None:
    key = audited.stack.folder.chain_key()
    assert re.fullmatch(r"0x[0-9a-f]{64}", key)
    assert key != EMBEDDED_DEPLOYER_KEY


def test_the_data_folder_is_its_owners(audited: Platform) -> None:
    folder = audited.stack.folder.path
    assert not stat.S_IMODE(folder.stat().st_mode) & 0o066
    logs = [path for path in (folder / "logs").iterdir() if path.is_file()]
    assert logs
    assert {stat.S_IMODE(path.stat().st_mode) for path in [*logs, folder / "run.json", folder / "reader.json"]} == {
        0o600
    }


@pytest.mark.parametrize("kind", ["md", "html"])
def test_a_document_runs_nothing(audited: Platform, kind: str) -> None:
    guest = audited.guest()
    session = accepted(guest.post("/api/jury/sessions", {"language": "en"}), 201)["id"]
    accepted(audited.operator.post(f"/api/admin/games/{session}/end", {"reason": "seen"}))
    answer = guest.get(f"/api/jury/sessions/{session}/transcript", format=kind)
    assert answer.status_code == 200, answer.text
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-disposition"].startswith("inline" if kind == "html" else "attachment")


@pytest.mark.parametrize("control", CONTROLS)
def test_no_title_holds_a_control(audited: Platform, control: str) -> None:
    guest = audited.guest()
    for field in ("title", "jurisdiction"):
        refused(guest.post("/api/sessions", {**LEGAL, field: f"a{control}b"}), 400, "invalid_request")
    refused(guest.post("/api/agents", {"name": f"a{control}b"}), 400, "invalid_request")
    plan = audited.operator.post("/api/agora/experiments", {"plan": f'name = "a{control}b"\n'})
    assert 400 <= plan.status_code < 500


@pytest.mark.parametrize("control", ["\x1b", "\u202e"])
def test_no_speech_holds_a_control(audited: Platform, control: str) -> None:
    audited.clear()
    table = audited.table("ox")
    said = table[0].act(table.game_id, {"type": "first_choice", "choice": "O", "comment": f"a{control}b"})
    assert refused(said, 400, "invalid_action")


def test_line_separators_of_a_speech_are_escaped_where_readers_split(audited: Platform) -> None:
    audited.clear()
    table = audited.table("ox")
    table.choose("OOOOX", comment="a\u0085b\u2028c\u2029d")
    events = audited.anonymous.get(f"/api/games/{table.game_id}/events").text
    assert r"a\u0085b\u2028c\u2029d" in events
    assert not {"\u0085", "\u2028", "\u2029"} & set(events)
