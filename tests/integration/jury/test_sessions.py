"""The AI jury on a whole platform: games in both languages, every rule of its API, and a model that fails in every way.

Nothing is killed here; what is, is in test_jury_kills.py.
"""

import asyncio
import json
import os
import re
import signal
import threading
import uuid
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace
from playmolt_cli.jury.overseer import ARGUMENTS
from playmolt_cli.main import cli
from playmolt_core.db.pool import open_pool
from playmolt_core.game.decider import Accepted
from playmolt_core.log.chain import chain_record
from playmolt_core.log.port import NewKey, StreamAppend, Unit
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.sealing import SessionCodec
from playmolt_core.vault.key_file import KeyFile
from playmolt_core.vault.rows import PgKeyRows
from playmolt_core.vault.vault import Vault
from playmolt_jury import rules
from playmolt_jury.commands import OpenJury
from playmolt_jury.content.material import Weakness
from playmolt_jury.events import JuryOpened
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.records import ZERO_HASH, Metadata

from core.tests.llm.fake_server import CALLS_TOOLS, Canned, FakeServer, huge, raw, reply, status, truncated
from core.tests.waiting import suspend
from tests.integration.jury.person import (
    DOUBT,
    JURORS,
    SECRETS,
    Bench,
    Overseer,
    cast,
    conclusion,
    kind_of,
    turn_of,
)
from tests.platforms import Stack

OPEN_ITEMS = [f"E{number}" for number in range(1, 9)]
LOCKED_ITEMS = [f"E{number}" for number in range(9, 16)]
TALK = ({"evidence_id": "E8"}, {"choice": "was_it_you"}, {"choice": "dinner"}, {"choice": "and_then"},
        {"evidence_id": "E2"})  # fmt: skip
"""What breaks the student."""
AFTER = (
    "contract_deployed", "ended", "phase_changed", "progress", "tool_called", "verdict_read", "vote_cast",
    "vote_decided",
)  # fmt: skip
"""Messages of and after the verdict, and those whose order is the models' and the chain's."""
HEX = {"tx_hash": 66, "address": 42}


@pytest.fixture
def bench(model: FakeServer) -> Bench:
    model.forget()
    model.ignores_tools = False
    model.probe = CALLS_TOOLS
    played = Bench()
    model.otherwise = played
    return played


def turns(model: FakeServer) -> list[tuple[str, str]]:
    return [(turn_of(asked), kind_of(asked)) for asked in model.received]


async def playmolt(running: Stack, *arguments: str, typed: str = "") -> Result:
    """Run the command in a thread: it has a loop of its own."""
    own = {"DATABASE_URL": "", "EVM_RPC_URL": ""}
    command = [*arguments, "--data", str(running.folder.path)]
    return await asyncio.to_thread(CliRunner().invoke, cli, command, input=typed, env=own)


async def probed(overseer: Overseer) -> bool:
    """What the session says of its model's tools, once it was asked."""
    async with asyncio.timeout(60):
        while "calls_tools" not in (session := await overseer.has()):
            await asyncio.sleep(0.05)
    return bool(session["calls_tools"])


async def broken_student(overseer: Overseer) -> dict[str, Any]:
    for step in TALK:
        talk = await overseer.did("witnesses/lin_xia/talk", step)
    return talk


def checked_verdict(verdict: dict[str, Any]) -> None:
    assert set(verdict) == {"verdict", "guilty", "not_guilty", "votes", "contract", "chain_id", "log_hash"}
    assert [vote["juror_id"] for vote in verdict["votes"]] == list(JURORS)
    for vote in verdict["votes"]:
        assert set(vote) == {"juror_id", "guilty", "stance", "tx_hash", "address"}
        assert vote["guilty"] is (vote["stance"] > 50)
        assert all(vote[name].startswith("0x") and len(vote[name]) == size for name, size in HEX.items())
    assert len({vote["tx_hash"] for vote in verdict["votes"]}) == len({v["address"] for v in verdict["votes"]}) == 5
    assert verdict["guilty"] == sum(vote["guilty"] for vote in verdict["votes"]) == 5 - verdict["not_guilty"]
    assert verdict["verdict"] == ("guilty" if verdict["guilty"] >= 3 else "not_guilty")
    assert (len(verdict["contract"]), len(verdict["log_hash"])) == (42, 66)


async def test_a_game_in_english_is_won_by_arguments(running: Stack) -> None:
    async with Overseer(running.run.gateway) as overseer:
        session = await overseer.open("en")
        assert set(session) == {
            "id", "gameType", "language", "model", "version", "phase", "prologue", "notes_left", "round", "jurors",
            "failed", "case",
        }  # fmt: skip
        assert (session["gameType"], session["phase"], session["version"]) == ("jury", "prologue", 1)
        assert [juror["id"] for juror in session["jurors"]] == list(JURORS)
        assert {frozenset(juror) for juror in session["jurors"]} == {
            frozenset(("id", "name", "personality", "band", "rounds_left"))
        }
        assert {frozenset(line) for line in session["prologue"]} == {frozenset(("speaker", "text"))}
        live = asyncio.create_task(overseer.stream())
        await overseer.to("investigation")
        assert set(await overseer.has("dossier")) == {"title", "text"}
        listed = (await overseer.has("evidence"))["evidence"]
        assert [item for item in listed if item["locked"]] == [{"id": each, "locked": True} for each in LOCKED_ITEMS]
        assert {frozenset(item) for item in listed if not item["locked"]} == {frozenset(("id", "locked", "title"))}
        for item in OPEN_ITEMS:
            assert set(await overseer.has(f"evidence/{item}")) == {"id", "title", "text", "locked"}
        version = (await overseer.has())["version"]
        await overseer.has("evidence/E1")
        assert (await overseer.has())["version"] == version, "an item is read for the first time once"
        people = (await overseer.has("witnesses"))["witnesses"]
        assert [set(each) for each in people] == [{"id", "name", "cracked"}] * 3
        talk = await broken_student(overseer)
        assert set(talk) == {"witness_id", "node", "text", "choices", "pressure", "cracked", "unlocked", "ended"}
        assert (talk["cracked"], talk["unlocked"]) == (True, ["E9", "E10", "E11"])
        again = await overseer.did("witnesses/lin_xia/talk")
        assert (again["cracked"], again["unlocked"]) == (True, []), "what a step unlocks is told with that step"
        await overseer.to("persuasion")
        for juror in JURORS:
            for place, argument in enumerate(ARGUMENTS["en"]["not_guilty"], 1):
                said = (await overseer.chat(juror, argument)).json()
                assert set(said) == {"juror_id", "reply", "band", "rounds_left", "weakness_hit", "version", "repeats"}
                assert (said["juror_id"], said["rounds_left"]) == (juror, 10 - place)
        shown = await overseer.did("jurors/radical/present/E9")
        assert shown["rounds_left"] == 9 - len(ARGUMENTS["en"]["not_guilty"])
        await overseer.to("deliberation")
        assert await overseer.did("notes", {"juror_id": "radical", "text": "Somebody else was there."}) == {
            "notes_left": 2,
            "repeats": 0,
        }
        rounds = [await overseer.did("deliberation/next") for _ in range(4)]
        assert [told["round"] for told in rounds] == [1, 2, 3, 4]
        assert len({told["leader"] for told in rounds}) == 4
        for told in rounds:
            assert set(told) == {"round", "leader", "responders", "speeches", "changes", "phase"}
            assert [speech["juror_id"] for speech in told["speeches"]] == [told["leader"], *told["responders"]]
            assert [change["juror_id"] for change in told["changes"]] == list(JURORS)
        assert [told["phase"] for told in rounds] == ["deliberation"] * 3 + ["vote"]
        for rest in ("verdict", "ending"):
            await overseer.refused(409, "not_finished", rest, get=True)
        await overseer.refused(403, "not_finished", "log", get=True)
        before = "".join(overseer.answers)
        assert [secret for secret in SECRETS if secret in before] == []
        verdict = await overseer.votes()
        checked_verdict(verdict)
        assert (verdict["verdict"], verdict["votes"]) == ("not_guilty", (await overseer.has("verdict"))["votes"])
        ending = await overseer.has("ending")
        assert (set(ending), ending["id"]) == ({"id", "verdict", "title", "text"}, "not_guilty_something")
        await overseer.refused(409, "wrong_phase", "vote")
        ended = await overseer.has()
        assert ended["phase"] == "ended"
        assert [j["stance"] for j in ended["jurors"]] == [v["stance"] for v in verdict["votes"]]
        async with asyncio.timeout(60):
            await checked_stream(overseer, await live)
        await checked_log(overseer, verdict)
        agreed = await playmolt(running, "verify-verdict", overseer.session, "--json")
        assert (agreed.exit_code, json.loads(agreed.stdout)["differences"]) == (0, []), agreed.stderr
        assert set(json.loads(agreed.stdout)["transactions"]) == {vote["tx_hash"] for vote in verdict["votes"]}
        await tampering_is_seen(running, overseer)


async def checked_stream(overseer: Overseer, seen: list[dict[str, Any]]) -> None:
    assert [message["version"] for message in seen] == list(range(1, (await overseer.has())["version"] + 1))
    assert {message["session_id"] for message in seen} == {overseer.session}
    assert all(message["at"].endswith("Z") for message in seen)
    assert (seen[0]["type"], seen[-1]["type"]) == ("jury_opened", "ended")
    assert await overseer.stream() == seen, "read again from the beginning, the same"
    assert await overseer.stream(after=10) == seen[10:]
    verdict = next(place for place, message in enumerate(seen) if message["type"] == "verdict_read")
    early = "".join(json.dumps(message, separators=(",", ":")) for message in seen[:verdict])
    assert [secret for secret in SECRETS if secret in early] == []
    votes = [message for message in seen if message["type"] == "vote_cast"]
    assert sorted(message["juror_id"] for message in votes) == sorted(JURORS)


async def checked_log(overseer: Overseer, verdict: dict[str, Any]) -> None:
    answer = await overseer.get("log")
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert [record["version"] for record in records] == list(range(1, len(records) + 1))
    opened = records[0]["data"]
    assert {"language", "jurors", "evidence", "topics"} <= set(opened)
    assert len(opened["evidence"]) == 15
    assert {"id", "name", "initial_stance", "speaker_power", "topic_weights", "weakness", "personality",
            "role_prompt"} <= set(opened["jurors"][0])  # fmt: skip
    votes = [record["data"] for record in records if record["type"] == "vote_cast"]
    assert {vote["juror_id"]: vote["tx_hash"] for vote in votes} == {
        vote["juror_id"]: vote["tx_hash"] for vote in verdict["votes"]
    }
    begun = next(r for r in records if r["type"] == "phase_changed" and r["data"]["to"] == "vote")
    assert verdict["log_hash"] == f"0x{begun['hash']}"
    moved = [record["data"] for record in records if record["type"] == "stance_changed"]
    assert all({"juror_id", "cause", "by", "before", "after", "parts"} == set(change) for change in moved)
    assert {change["cause"] for change in moved} >= {"chat", "evidence", "note", "speech"}


async def tampering_is_seen(running: Stack, overseer: Overseer) -> None:
    copy = running.folder.path / "copy.jsonl"
    lines = (await overseer.get("log")).text.splitlines()
    copy.write_text("\n".join(lines))
    assert (await playmolt(running, "verify-verdict", overseer.session, "--log", str(copy))).exit_code == 0
    place = next(n for n, line in enumerate(lines) if '"vote_cast"' in line and '"guilty":false' in line)
    lines[place] = lines[place].replace('"guilty":false', '"guilty":true')
    copy.write_text("\n".join(lines))
    differ = await playmolt(running, "verify-verdict", overseer.session, "--log", str(copy))
    assert differ.exit_code == 1
    assert "DIFFERS" in differ.stdout


async def test_a_game_in_chinese_is_lost_by_silence(running: Stack) -> None:
    async with Overseer(running.run.gateway) as overseer:
        session = await overseer.open("zh")
        assert any("\u4e00" <= char <= "\u9fff" for char in session["prologue"][0]["text"])
        await overseer.to("vote")
        verdict = await overseer.votes()
        checked_verdict(verdict)
        assert verdict["verdict"] == "guilty"
        ending = await overseer.has("ending")
        assert ending["id"] == "guilty_nothing"
        assert any("\u4e00" <= char <= "\u9fff" for char in ending["text"])


async def test_a_person_plays_a_whole_game_by_numbers(running: Stack) -> None:
    typed = [
        "",  # after the prologue
        "99", "1",  # no such entry; the dossier
        "2", "E9", "3", "",  # evidence: a locked item, an open one, back
        "3", "1", "", "99", "q",  # the student: a question; an empty line and no such entry; leave
    ]  # fmt: skip
    left = await playmolt(running, "jury", "play", typed="\n".join(typed) + "\n")
    assert left.exit_code == 0, left.output
    assert "E3 · Certificate of death" in left.output
    assert left.output.count("Invalid choice.") == 4
    session = left.output.split("--session ")[-1].split()[0].strip("`.")
    typed = [
        "6",  # to the jurors
        "4", "1", "The log shows a lethal dose.",  # talk to the second
        "2", "1",  # show it the first item
        "3",  # and back
        "9",  # let them deliberate
        "2", "2", "Protect the public.",  # a note to it
        "1", "1", "1", "1", "1",  # four rounds and the vote
    ]  # fmt: skip
    played = await playmolt(running, "jury", "play", "--session", session, typed="\n".join(typed) + "\n")
    assert played.exit_code == 0, played.output
    for told in (
        "Radical · ",
        "rounds left: 8",
        "Left: 2",
        "Round 4: ",
        "Verdict: Guilty",
        "0x",
        "verify-verdict jury-",
    ):
        assert told in played.output
    again = await playmolt(running, "jury", "play", "--session", session, "--json")
    assert json.loads(again.stdout)["session"]["phase"] == "ended"
    assert json.loads(again.stdout)["verdict"]["votes"][1]["tx_hash"] in played.output
    ended = await playmolt(running, "jury", "play")
    assert (ended.exit_code, ended.stderr.count("--auto")) == (2, 1), "a script without answers is told what to do"


async def test_what_is_out_of_its_phase_or_malformed_is_refused_by_name(running: Stack) -> None:
    async with Overseer(running.run.gateway) as overseer:
        for body, field in (({"language": "fr"}, "language"), ({}, "language"),
                            ({"language": "en", "model": "gpt-none"}, "model"),
                            ({"language": "en", "seed": 1}, "seed")):  # fmt: skip
            answer = await overseer.client.post("/api/jury/sessions", json=body, headers=overseer.headers)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
            assert field in [error["field"] for error in answer.json()["errors"]]
        await overseer.open()
        for rest, body in (("chat/radical", {"text": "x"}), ("witnesses/osei/talk", {}), ("vote", {}),
                           ("deliberation/next", {}), ("notes", {"juror_id": "radical", "text": "x"}),
                           ("jurors/radical/present/E1", {}), ("phase", {"to": "persuasion"}),
                           ("phase", {"to": "vote"}), ("phase", {"to": "ended"})):  # fmt: skip
            await overseer.refused(409, "wrong_phase", rest, body)
        same = await overseer.did("phase", {"to": "prologue"})
        assert (same["phase"], same["version"]) == ("prologue", 1), "to the present phase: no event"
        await overseer.to("investigation")
        await overseer.refused(400, "invalid_request", "witnesses/osei/talk", {"choice": "no_such_choice"})
        await overseer.refused(400, "invalid_request", "witnesses/osei/talk", {"choice": "x", "evidence_id": "E1"})
        await overseer.refused(404, "not_found", "witnesses/nobody/talk", {})
        for item in LOCKED_ITEMS[:2]:
            await overseer.refused(403, "locked", f"evidence/{item}", get=True)
            await overseer.refused(403, "locked", "witnesses/osei/talk", {"evidence_id": item})
        await overseer.refused(404, "not_found", "evidence/E16", get=True)
        await overseer.to("persuasion")
        assert (await overseer.did("phase", {"to": "investigation"}))["phase"] == "investigation"
        await overseer.to("persuasion")
        await overseer.refused(403, "locked", "jurors/radical/present/E9", {})
        await overseer.refused(404, "not_found", "jurors/radical/present/E16", {})
        await overseer.refused(404, "not_found", "chat/nobody", {"text": "x"})
        said: tuple[dict[str, Any], ...] = (
            {}, {"text": ""}, {"text": "  "}, {"text": 1}, {"text": "x" * 4001}, {"text": "x", "to": "y"},
        )  # fmt: skip
        for text in said:
            await overseer.refused(400, "invalid_request", "chat/radical", text)
        await overseer.to("deliberation")
        await overseer.refused(409, "wrong_phase", "phase", {"to": "investigation"})
        await overseer.refused(409, "wrong_phase", "chat/radical", {"text": "x"})
        for body in ({"juror_id": "radical", "text": "x" * 201}, {"juror_id": "nobody", "text": "x"},
                     {"juror_id": "radical"}, {"text": "x"}):  # fmt: skip
            await overseer.refused(400, "invalid_request", "notes", body)
        await overseer.to("vote")
        await overseer.refused(409, "wrong_phase", "notes", {"juror_id": "radical", "text": "x"})
        await overseer.refused(409, "wrong_phase", "deliberation/next")
        assert (await overseer.has())["jurors"][0]["rounds_left"] == 10, "no refusal takes a round"


async def test_ten_rounds_a_juror_chats_and_items_together_under_any_concurrency(running: Stack, bench: Bench) -> None:
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        await overseer.to("persuasion")
        calls = [overseer.chat("radical", f"Reason {n}.") for n in range(7)]
        calls += [overseer.post(f"jurors/radical/present/E{n}") for n in range(1, 6)]
        answers = await asyncio.gather(*calls)
        assert Counter(answer.status_code for answer in answers) == {200: 10, 409: 2}
        assert {a.json()["code"] for a in answers if a.status_code == 409} == {"no_rounds_left"}
        assert sorted(a.json()["rounds_left"] for a in answers if a.status_code == 200) == list(range(10))
        await overseer.refused(409, "no_rounds_left", "chat/radical", {"text": "One more."})
        assert (await overseer.chat("sympathizer")).json()["rounds_left"] == 9


async def test_a_note_is_in_its_jurors_next_speech_and_in_no_other_prompt(
    running: Stack, bench: Bench, model: FakeServer
) -> None:
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        await overseer.to("deliberation")
        for place, juror in enumerate(("radical", "sympathizer", "radical"), 1):
            told = await overseer.did("notes", {"juror_id": juror, "text": f"psst-{juror}-{place}"})
            assert told == {"notes_left": 3 - place, "repeats": int(place == 3)}
        await overseer.refused(409, "no_notes_left", "notes", {"juror_id": "radical", "text": "a fourth"})
        assert [turn for turn, _ in turns(model)] == ["classify"] * 3
        await overseer.to("vote")
        for juror in ("radical", "sympathizer"):
            holding = [turn_of(a) for a in model.received if f"psst-{juror}" in json.dumps(a.body["messages"])]
            speeches = [turn for turn in holding if turn != "classify"]
            spoke = [turn for turn, kind in turns(model) if turn.startswith(f"speech:{juror}:") and kind == "ask"]
            assert speeches == spoke[:1], "its own next speech only"
            assert speeches
        assert {asked.turn.split(" ")[0] for asked in model.received} == {overseer.session}


async def test_a_juror_acts_at_most_three_times_and_then_has_to_answer(
    running: Stack, bench: Bench, model: FakeServer
) -> None:
    look = reply(tool_calls=[("lookup_evidence", {"evidence_ids": ["E1", "system_log", "E9", "chat_history"]})])
    bench.first["chat:radical"] = [look, look, look, reply("Enough.", tool_calls=[("lookup_evidence", {})])]
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        await overseer.to("persuasion")
        said = (await overseer.chat("radical")).json()
        assert said["reply"] == "Enough.", "tool calls of the forced reply are ignored"
        chats = [asked for asked in model.received if turn_of(asked) == "chat:radical"]
        assert [kind_of(asked) for asked in chats] == ["ask", "tool", "tool", "final"]
        assert ["tools" in a.body and a.body.get("tool_choice") != "none" for a in chats] == [True, True, True, False]
        result = next(m["content"] for m in chats[1].body["messages"] if m["role"] == "tool")
        assert result.startswith("E1 | system_log | ")
        prompts = json.dumps([asked.body for asked in model.received])
        assert "stair_keypad" not in prompts, "a prompt never names what is locked"
        await overseer.to("vote")
        await overseer.votes()
        records = [json.loads(line) for line in (await overseer.get("log")).text.splitlines()]
        tools = [r["data"] for r in records if r["type"] == "tool_called"]
        assert [t["tool"] for t in tools if t["juror_id"] == "radical"][:3] == ["lookup_evidence"] * 3
        assert sum(tool["tool"] == "cast_vote" for tool in tools) == 5


async def test_a_server_that_ignores_tools_still_plays(running: Stack, bench: Bench, model: FakeServer) -> None:
    bench.topics = DOUBT
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        assert await probed(overseer) is True
        model.ignores_tools = True
        await overseer.to("persuasion")
        assert (await overseer.chat("radical")).json()["reply"] == "I would rather talk."
        model.ignores_tools = False
        await overseer.to("vote")
        model.ignores_tools = True
        checked_verdict(await overseer.votes())
        records = [json.loads(line) for line in (await overseer.get("log")).text.splitlines()]
        probes = [r["data"] for r in records if r["type"] == "attempt_made" and r["data"]["turn"] == "tools"]
        assert [(one["kind"], one["attempt"]["outcome"]) for one in probes] == [("probe", "ok")]


async def test_a_session_says_that_its_model_calls_tools(running: Stack, bench: Bench) -> None:
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        assert await probed(overseer) is True
        await overseer.open(model="scripted")
        assert "calls_tools" not in await overseer.has()


async def test_a_session_says_that_its_model_calls_no_tool(running: Stack, bench: Bench, model: FakeServer) -> None:
    model.probe = reply("I would rather talk.")
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        assert await probed(overseer) is False


async def test_a_juror_that_votes_against_itself_is_told_once_and_overruled(
    running: Stack, bench: Bench, model: FakeServer
) -> None:
    bench.first["vote:radical"] = [lambda asked: cast(asked, not conclusion(asked))] * 4
    bench.first["vote:philosopher"] = [lambda asked: cast(asked, not conclusion(asked))]
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        await overseer.to("vote")
        checked_verdict(await overseer.votes())
        records = [json.loads(line) for line in (await overseer.get("log")).text.splitlines()]
        diverged = {r["data"]["juror_id"]: r["data"]["diverged"] for r in records if r["type"] == "vote_cast"}
        assert diverged["radical"] is True
        assert not any(diverged[juror] for juror in JURORS if juror not in ("radical", "philosopher"))
        assert all(r["data"]["guilty"] is (r["data"]["stance"] > 50) for r in records if r["type"] == "vote_cast")
        assert len([turn for turn, _ in turns(model) if turn == "vote:radical"]) == 2


async def test_a_reply_that_does_not_parse_is_repaired_and_a_fault_uses_nothing_up(
    running: Stack, bench: Bench, model: FakeServer
) -> None:
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        await overseer.to("persuasion")
        bench.first["classify"] = [reply("no JSON"), reply('{"topics": [], "topics": []}'), reply('{"topics": []}')]
        assert (await overseer.chat("radical")).json()["rounds_left"] == 9
        assert [kind for turn, kind in turns(model) if turn == "classify"] == ["ask", "repair", "repair"]
        for spoiled in ([reply("no JSON")] * 3, [huge()] * 3, [reply(refusal="I will not")] * 3,
                        [status(503, retry_after="0")] * 4, [truncated(), raw(b"<html>"), status(429, retry_after="0"),
                        status(500, retry_after="0")]):  # fmt: skip
            bench.first["classify"] = list(spoiled)
            before = (await overseer.has())["jurors"]
            problem = await overseer.refused(503, "unavailable", "chat/radical", {"text": "Listen."})
            assert "No round or note was used" in problem["detail"]
            assert (await overseer.has())["jurors"] == before
            assert bench.first["classify"] == []


async def test_half_a_sentence_is_no_answer_of_a_juror_and_uses_no_round(
    running: Stack, bench: Bench, model: FakeServer
) -> None:
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        await overseer.to("persuasion")
        bench.first["chat:radical"] = [reply("The pump was in its hand, and yet I", finish_reason="length")]
        problem = await overseer.refused(503, "unavailable", "chat/radical", {"text": "Listen."})
        assert "tokens before it answered" in problem["detail"]
        assert [kind for turn, kind in turns(model) if turn == "chat:radical"] == ["ask"], "not asked in vain again"
        bench.first["chat:radical"] = [reply("The pump was in its hand.", finish_reason="length")]
        assert (await overseer.chat("radical")).json()["rounds_left"] == 9


async def test_a_failed_call_made_again_with_its_key_is_a_new_try(
    running: Stack, bench: Bench, model: FakeServer
) -> None:
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        await overseer.to("persuasion")
        bench.first["chat:radical"] = [reply("")] * 3
        assert (await overseer.chat("radical", key="k1")).status_code == 503
        told = await overseer.chat("radical", key="k1")
        assert (told.status_code, told.json()["rounds_left"]) == (200, 9)
        asked = len(model.received)
        again = await overseer.chat("radical", key="k1")
        assert (again.status_code, again.json()) == (200, told.json())
        assert len(model.received) == asked, "what was answered is not asked again"
        other = await overseer.chat("radical", "Another text.", key="k1")
        assert (other.status_code, other.json()["code"]) == (422, "idempotency_mismatch")
        both = await asyncio.gather(*(overseer.chat("sympathizer", key="k2") for _ in range(2)))
        assert both[0].json() == both[1].json()
        assert both[0].json()["rounds_left"] == 9
        await overseer.to("deliberation")
        bench.first["classify"] = [reply("no JSON")] * 3
        note = {"juror_id": "radical", "text": "psst"}
        assert (await overseer.post("notes", note, key="k3")).status_code == 503
        assert (await overseer.has())["notes_left"] == 3
        assert (await overseer.did("notes", note, key="k3"))["notes_left"] == 2
        assert (await overseer.did("notes", note, key="k3"))["notes_left"] == 2


async def test_a_round_whose_speech_failed_goes_on_where_it_stopped(
    running: Stack, bench: Bench, model: FakeServer
) -> None:
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(model="fake")
        await overseer.to("deliberation")
        first = await overseer.did("deliberation/next")
        second = f"speech:{first['responders'][0]}"
        bench.first = {f"{second}:2": [reply("no JSON")] * 3, f"speech:{first['leader']}:2": [reply("no JSON")] * 3}
        answer = await overseer.post("deliberation/next")
        if answer.status_code == 503:
            answer = await overseer.post("deliberation/next")
        for _ in range(2):
            answer = answer if answer.status_code == 200 else await overseer.post("deliberation/next")
        told = answer.json()
        assert (answer.status_code, told["round"], len(told["speeches"])) == (200, 2, 3)
        spoke = Counter(turn for turn, kind in turns(model) if turn.endswith(":2") and kind == "ask")
        failed = {f"{second}:2", f"speech:{first['leader']}:2"}
        assert {count for turn, count in spoke.items() if turn not in failed} <= {1}, "no speech is asked for twice"


async def test_a_session_is_its_owners_alone(running: Stack) -> None:
    async with Overseer(running.run.gateway) as owner, Overseer(running.run.gateway) as stranger:
        opened = await owner.open()
        await owner.to("persuasion")
        stranger.session = owner.session
        for rest in ("", "dossier", "evidence", "evidence/E1", "evidence/E9", "witnesses", "verdict", "ending",
                     "stream", "log"):  # fmt: skip
            await stranger.refused(404, "not_found", rest, get=True)
        for rest, body in (("phase", {"to": "persuasion"}), ("witnesses/osei/talk", {}), ("vote", {}),
                           ("chat/radical", {"text": "x"}), ("jurors/radical/present/E9", {}),
                           ("deliberation/next", {}), ("notes", {"juror_id": "radical", "text": "x"})):  # fmt: skip
            mine = await stranger.refused(404, "not_found", rest, body)
        stranger.session = "jury-00000000-0000-0000-0000-000000000000"
        theirs = await stranger.refused(404, "not_found", rest, body)
        assert mine == theirs, "what is another's looks like what is not there"
        assert (await owner.client.get("/api/jury/sessions", headers=stranger.headers)).json() == {"sessions": []}
        listed = (await owner.client.get("/api/jury/sessions", headers=owner.headers)).json()["sessions"]
        assert [each["id"] for each in listed] == [opened["id"]]
        for path in ("state", "events", "stream", "log"):
            answer = await owner.client.get(f"/api/games/{owner.session}/{path}", headers=owner.headers)
            assert answer.status_code == 404
        assert owner.session not in (await owner.client.get("/api/games")).text
        async with httpx.AsyncClient(timeout=60) as spectator:
            feed = f"{running.run.spectator}/sse/games/{owner.session}"
            assert (await spectator.get(feed)).status_code == 404
        assert (await owner.client.get(owner.path())).status_code == 401


async def test_the_operator_sees_and_ends_a_session(running: Stack) -> None:
    async with Overseer(running.run.gateway) as owner:
        await owner.open()
        path, key = f"/api/admin/games/{owner.session}", {"Authorization": f"Bearer {running.run.operator_key}"}
        assert (await owner.client.get(path, headers=owner.headers)).status_code == 403
        assert (await owner.client.get(path, headers=key)).json()["gameType"] == "jury"
        ended = await owner.client.post(f"{path}/end", headers=key, json={"reason": "enough"})
        assert (ended.status_code, ended.json()["phase"]) == (200, "aborted")
        told = await owner.client.get(owner.path("stream"), headers=owner.headers)
        assert "game_aborted" in told.text
        await owner.refused(409, "wrong_phase", "witnesses/osei/talk", {})


async def test_twins_that_differ_in_secrets_look_the_same_until_the_verdict(running: Stack, bench: Bench) -> None:
    seen, stances = [], []
    for other in (False, True):
        bench.first["classify"] = [reply(json.dumps(DOUBT))]
        async with Overseer(running.run.gateway) as overseer:
            await open_with_secrets(overseer, running, other=other)
            seen.append(await everything_before_the_verdict(overseer))
            stances.append([vote["stance"] for vote in (await overseer.has("verdict"))["votes"]])
    assert stances[0] != stances[1], "the secrets did differ"
    assert [[text for text in seen[a] if text not in seen[1 - a]] for a in (0, 1)] == [[], []]


async def open_with_secrets(overseer: Overseer, running: Stack, *, other: bool) -> None:
    """Open a session; with `other`, its radical juror has another stance within its band, power, weakness and role.

    They are near enough that nothing which may be seen follows from them: who leads, who answers, a band. Event 1 pins
    all of it, so it is put where the engine reads it.
    """
    owner = (await overseer.client.get("/api/agents/me", headers=overseer.headers)).json()["id"]
    overseer.session, jury, at = f"jury-{uuid.uuid4()}", rules.jury(), datetime.now(UTC)
    before = jury.initial(overseer.session)
    body = {"language": "en", "model": "fake"}
    decided = jury.decide(before, OpenJury(agent_id=owner, name="overseer", seed="7", body=body, aliases=("fake",)), at)
    assert isinstance(decided, Accepted)
    (opened,) = decided.events
    assert isinstance(opened, JuryOpened)
    radical = opened.jurors[1]
    radical = replace(
        radical, initial_stance=radical.initial_stance - 2, speaker_power="0.3", role_prompt="Be brief.",
        topic_weights=radical.topic_weights | {"procedural_justice": -4, "ai_autonomy": 9},
        weakness=Weakness(trigger_keywords=("lullaby",)),
    )  # fmt: skip
    assert radical != opened.jurors[1]
    twin = replace(opened, jurors=(opened.jurors[0], radical, *opened.jurors[2:])) if other else opened
    state = jury.evolve(before, twin, at)
    names = dict.fromkeys(("command_id", "correlation", "causation"), uuid.uuid4().hex)
    pool = await open_pool(running.run.database_url)
    try:
        log = PostgresLog(pool, codec=SessionCodec(Vault(PgKeyRows(pool), KeyFile(running.folder.seal_keys))))
        key = log.new_key(overseer.session)
        assert key is not None
        record = chain_record(
            overseer.session, 1, ZERO_HASH, at, twin.type, twin.schema_version,
            key.seal_record(1, twin.type, twin.schema_version, canonical_json(twin)),
            Metadata(**names, actor="", trace=""),
            closes=False,
        )  # fmt: skip
        part = StreamAppend(
            stream=overseer.session, expected=0, prev_hash=ZERO_HASH, records=[record], summary=jury.summary(state),
            key=NewKey(key, owner),
        )  # fmt: skip
        assert await log.append([Unit(streams=[part])]) != [None]
    finally:
        await pool.close()


async def everything_before_the_verdict(overseer: Overseer) -> list[str]:
    """Use every call; give all bytes that came, without ids, times and hashes."""
    await overseer.to("investigation")
    assert await probed(overseer), "its event comes at the same place in both"
    overseer.answers.clear()
    await overseer.get()
    for rest in ("dossier", "evidence", "evidence/E1", "evidence/E9", "witnesses"):
        await overseer.get(rest)
    await broken_student(overseer)
    await overseer.get("evidence")
    await overseer.to("persuasion")
    for juror in ("radical", *JURORS):
        # An engine on a busy machine may be late for the gateway; the call's key makes its repeat the same call.
        await overseer.chat(juror, "Listen. There is a doubt.", key=uuid.uuid4().hex, patient=True)
    await overseer.post("jurors/radical/present/E4", key=uuid.uuid4().hex, patient=True)
    await overseer.to("deliberation")
    note = {"juror_id": "radical", "text": "Think of it."}
    await overseer.post("notes", note, key=uuid.uuid4().hex, patient=True)
    await overseer.to("vote")
    for rest in ("verdict", "ending", "log", ""):
        await overseer.get(rest)
    told = list(overseer.answers)
    await overseer.votes()
    told += [json.dumps(message) for message in await overseer.stream() if message["type"] not in AFTER]
    return sorted(re.sub(r'0x[0-9a-f]{40,64}|jury-[0-9a-f-]{36}|"at": ?"[^"]+"', "", text) for text in told)


async def test_while_models_or_the_chain_are_slow_calls_answer_202_and_finish_by_themselves(
    running: Stack, bench: Bench
) -> None:
    answered = threading.Event()
    bench.first["chat:radical"] = [Canned(body=reply("At last.").body, gate=answered)]
    async with Overseer(running.run.gateway) as talking, Overseer(running.run.gateway) as voting:
        await talking.open(model="fake")
        await talking.to("persuasion")
        await voting.open()
        await voting.to("vote")
        chain = running.run.processes["evm-1"]
        suspend(chain)
        try:
            terminal = asyncio.create_task(
                playmolt(running, "jury", "play", "--auto", "--language", "zh", "--aim", "guilty", "--json")
            )
            chat, vote = await asyncio.gather(talking.chat("radical", key="slow"), voting.post("vote", key="slow"))
        finally:
            answered.set()
            os.kill(chain, signal.SIGCONT)
        for answer in (chat, vote):
            assert (answer.status_code, answer.json()["gameType"]) == (202, "jury"), answer.text
        assert chat.json()["jurors"][1]["rounds_left"] == 10
        assert vote.json()["phase"] == "vote"
        await voting.refused(409, "wrong_phase", "vote")
        told = await talking.did("chat/radical", {"text": "Listen to me."}, key="slow")
        assert (told["reply"], told["rounds_left"]) == ("At last.", 9)
        await voting.until(lambda session: session["phase"] == "ended")
        checked_verdict(await voting.has("verdict"))
        await checked_terminal(running, await terminal)


async def checked_terminal(running: Stack, played: Result) -> None:
    assert played.exit_code == 0, played.stderr
    told = json.loads(played.stdout)
    assert (told["verdict"]["verdict"], told["ending"]["id"]) == ("guilty", "guilty_everything")
    assert all(vote["tx_hash"] in played.stderr for vote in told["verdict"]["votes"])
    by_key = await playmolt(running, "verify-verdict", told["session"]["id"], "--url", running.run.gateway)
    assert (by_key.exit_code, by_key.stdout[:5]) == (0, "AGREE"), by_key.stderr
