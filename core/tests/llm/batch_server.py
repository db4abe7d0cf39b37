"""A stand-in for `/files` and `/batches`, on a FakeServer, which also answers plain requests.

async with FakeServer() as server:
    batches = BatchServer(server, say=lambda body: reply("yes"))
"""

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from core.tests.llm.fake_server import Canned, FakeServer, ReceivedRequest, raw, reply, status

Say = Callable[[dict[str, Any]], Canned | None]
"""Gives the answer to the body of a line; None for no answer."""


class BatchServer:
    """Finishes a batch at the poll after `slow` others. `plain` has the requests outside of batches.

    `lists`: whether it can list its batches, which some servers cannot. `cancels`: whether it can cancel a batch, of
    which it has then answered the first question.
    """

    def __init__(
        self, server: FakeServer, say: Say, *, slow: int = 0, lists: bool = True, cancels: bool = True
    ) -> None:
        server.otherwise = self._answer
        self.files: dict[str, str] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.plain: list[ReceivedRequest] = []
        self.polls = 0
        self.say, self.slow, self.lists, self.cancels = say, slow, lists, cancels

    def lines(self, batch: str) -> list[dict[str, Any]]:
        """The requests of a batch."""
        return [json.loads(line) for line in self.files[self.batches[batch]["input_file_id"]].splitlines()]

    def _answer(self, request: ReceivedRequest) -> Canned:
        path = urlsplit(request.path).path.removeprefix("/v1")
        if path == "/chat/completions":
            self.plain.append(request)
            return self.say(request.body) or reply("plainly")
        if path == "/files":
            return self._upload(request)
        if path.startswith("/files/"):
            return raw(self.files[path.split("/")[2]].encode())
        if path == "/batches":
            return self._create(request.body) if request.body else self._list()
        if path.endswith("/cancel"):
            return self._cancel(path.split("/")[2])
        if path.startswith("/batches/"):
            return self._poll(path.removeprefix("/batches/"))
        return status(404)

    def _upload(self, request: ReceivedRequest) -> Canned:
        boundary = request.headers["content-type"].partition("boundary=")[2]
        part = next(each for each in request.body["text"].split(f"--{boundary}") if 'name="file"' in each)
        file = f"file-{len(self.files)}"
        self.files[file] = part.partition("\r\n\r\n")[2].strip()
        return _json({"id": file, "object": "file", "bytes": 1, "created_at": 1, "filename": "f", "purpose": "batch"})

    def _create(self, body: dict[str, Any]) -> Canned:
        batch = f"batch_{len(self.batches)}"
        self.batches[batch] = {**body, "id": batch, "object": "batch", "status": "in_progress", "created_at": 1}
        return _json(self.batches[batch])

    def _list(self) -> Canned:
        if not self.lists:
            return status(404)
        return _json({"object": "list", "data": [*self.batches.values()], "has_more": False})

    def _poll(self, batch: str) -> Canned:
        self.polls += 1
        found = self.batches.get(batch)
        if found is None:
            return status(404)
        found["polls"] = found.get("polls", 0) + 1
        if found["status"] == "cancelling":
            self._complete(batch, "cancelled", self.lines(batch)[:1])
        if found["status"] == "in_progress" and found["polls"] > self.slow:
            self._complete(batch, "completed", self.lines(batch))
        return _json(found)

    def _cancel(self, batch: str) -> Canned:
        if not self.cancels or batch not in self.batches:
            return status(404)
        self.batches[batch]["status"] = "cancelling"
        return _json(self.batches[batch])

    def _complete(self, batch: str, ended: str, lines: list[dict[str, Any]]) -> None:
        answers, errors = [], []
        for line in lines:
            said = self.say(line["body"])
            if said is None:
                continue
            response = {"status_code": said.status, "request_id": "r", "body": json.loads(said.body)}
            result = json.dumps({"id": "x", "custom_id": line["custom_id"], "response": response, "error": None})
            (answers if said.status == 200 else errors).append(result)
        self.files[f"{batch}-out"], self.files[f"{batch}-err"] = "\n".join(answers), "\n".join(errors)
        self.batches[batch] |= {
            "status": ended,
            "output_file_id": f"{batch}-out" if answers else None,
            "error_file_id": f"{batch}-err" if errors else None,
        }


def _json(value: dict[str, Any]) -> Canned:
    return Canned(body=json.dumps(value).encode())
