"""What is left after the trouble: receipts, feeds and the log itself, compared with one another."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import httpx
import msgspec
from playmolt_schemas.limits import PAGE_MAX

_ANSWER_SECONDS: Final = 60


class _Metadata(msgspec.Struct):
    command_id: str


class _Record(msgspec.Struct):
    hash: str
    type: str
    metadata: _Metadata


class _Page(msgspec.Struct):
    events: list[dict[str, Any]]
    next_after: int


def lost(gateway: str, operator_key: str, receipts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Tell the receipts whose record is not in the log, and the acts that are there twice."""
    bearer = {"Authorization": f"Bearer {operator_key}"}
    with httpx.Client(base_url=gateway, timeout=_ANSWER_SECONDS, headers=bearer) as http:
        for game, hashes in receipts.items():
            text = http.get(f"/api/games/{game}/log").raise_for_status().text
            records = [msgspec.json.decode(line, type=_Record) for line in text.splitlines()]
            stored = {record.hash for record in records}
            yield from (f"{game}: the receipt {one} is not in the log" for one in hashes if one not in stored)
            acts = Counter((record.metadata.command_id, record.type) for record in records if record.type in _ACTS)
            yield from (f"{game}: {act} is there {n} times" for act, n in acts.items() if n > 1)


_ACTS: Final = ("first_choice_submitted", "switch_submitted", "speak", "vote_submitted")


def different(gateway: str, feeds: Mapping[str, Sequence[bytes]]) -> Iterator[str]:
    """Tell the feeds that did not say what the list of events says, or not all of it."""
    with httpx.Client(base_url=gateway, timeout=_ANSWER_SECONDS) as http:
        for game, told in feeds.items():
            if [msgspec.json.decode(message) for message in told] != [*_events(http, game)]:
                yield f"{game}: its feed is not what /events says"


def _events(http: httpx.Client, game: str) -> Iterator[dict[str, Any]]:
    after = 0
    while True:
        answer = http.get(f"/api/games/{game}/events", params={"after": after, "limit": PAGE_MAX})
        page = msgspec.json.decode(answer.raise_for_status().content, type=_Page)
        if not page.events:
            return
        yield from page.events
        after = page.next_after
