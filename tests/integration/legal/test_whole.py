"""A session with all that a person may do: files, speech that comes as it is said, a last word, its log."""

import asyncio
import base64
import json
from typing import Any

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, raw, reply
from tests.integration.legal.person import LEASE, Person, Roles
from tests.platforms import Stack

WISH = "Write it in two sentences."
FINAL = {
    "Answer": [{"text": "a lease was signed", "basis": ["F1"], "issue": "deposit"}],
    "NotFollowed": ["There is no sum to name."],
    "SteeringComplianceCheck": "OK",
}


class Streaming(Roles):
    """Says each answer in pieces of a few characters."""

    def __call__(self, asked: ReceivedRequest) -> Canned:
        turn = asked.turn.split(" ")[1]
        whole = reply(json.dumps(FINAL)) if turn == "FINAL" else super().__call__(asked)
        if not asked.body["stream"]:
            return whole
        text = json.loads(whole.body)["choices"][0]["message"]["content"]
        pieces = [{"choices": [{"index": 0, "delta": {"content": text[at : at + 9]}}]} for at in range(0, len(text), 9)]
        pieces.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        return raw(b"".join(b"data: %b\n\n" % json.dumps(piece).encode() for piece in pieces) + b"data: [DONE]\n\n")


async def messages(person: Person, stop: str, begun: asyncio.Event | None = None) -> list[dict[str, Any]]:
    """The messages of the stream up to a type. Sets `begun` after the first: what is not stored is sent from then."""
    told: list[dict[str, Any]] = []
    path = f"/api/sessions/{person.session}/stream"
    async with asyncio.timeout(60), person.client.stream("GET", path, headers=person.headers) as answer:
        name = ""
        async for line in answer.aiter_lines():
            if line.startswith("event:"):
                name = line[6:].strip()
            if line.startswith("data:"):
                told.append({"event": name, **json.loads(line[5:])})
                name = ""
                if begun:
                    begun.set()
                if told[-1]["type"] == stop:
                    break
    return told


async def test_a_whole_session(platform: Stack, server: FakeServer) -> None:
    server.otherwise = Streaming()
    async with Person(platform.run.gateway) as person:
        await person.open(model="streaming")
        path = f"/api/sessions/{person.session}"
        content = base64.b64encode(b"The flat was handed over clean. " * 100).decode()
        told = {"title": "record", "kind": "evidence", "media_type": "text/plain", "content": content}
        added = await person.client.post(f"{path}/evidence", json=told, headers=person.headers)
        assert (added.status_code, added.json()["id"]) == (201, "E1")
        whole = await person.get(f"{path}/evidence/E1")
        assert whole.json()["text"].startswith("The flat was handed over clean.")
        begun = asyncio.Event()
        reading = asyncio.create_task(messages(person, "gate_opened", begun))
        await asyncio.wait_for(begun.wait(), 60)
        await person.post(f"{path}/facts", LEASE)
        heard = await reading
        spoken = [each for each in heard if each["type"] == "speaking"]
        assert {each["phase"] for each in spoken} == {"JUDGE_R1", "CLAIMANT_R1", "OPPOSING_R1", "VERIFIER_R1"}
        assert all(each["event"] == "speaking" and "version" not in each for each in spoken)
        claimed = "".join(each["delta"] for each in spoken if each["phase"] == "CLAIMANT_R1")
        assert claimed.split("\n")[:2] == ["the deposit is due", "a lease was signed"]
        versions = [each["version"] for each in heard if each["type"] != "speaking"]
        assert versions == list(range(1, len(versions) + 1))

        await person.argue()
        form = {"gate": "end", "resolution": "final_report", "report_style": "risk", "final_instructions": WISH}
        answered = await person.post(f"{path}/steering", form)
        assert answered.json()["gate"] is None
        assert (await messages(person, "session_done"))[-1]["type"] == "session_done"
        session = (await person.get(path)).json()
        assert session["final"] == {"instructions": WISH, "status": "done"}
        report = (await person.get(f"{path}/report")).json()
        assert report["final"]["not_followed"] == FINAL["NotFollowed"]
        log = await person.get(f"{path}/log")
        records = [json.loads(line) for line in log.text.splitlines()]
        assert records[-1]["type"] == "session_done"
        assert len(records) == session["version"]
        assert "evidence_added" in {record["type"] for record in records}
