"""Compares receipts, feeds and the log after a soak."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
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


class _Drawn(msgspec.Struct):
    seed: str = ""


class _Opened(msgspec.Struct):
    data: _Drawn


_record: Final = msgspec.json.Decoder(_Record).decode


class _Page(msgspec.Struct):
    events: list[dict[str, Any]]
    next_after: int


def lost(logs: Mapping[str, Sequence[bytes]], receipts: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the receipts whose record is not in the log."""
    for game, hashes in receipts.items():
        stored = {record.hash for record in map(_record, logs[game])}
        yield from (f"{game}: the receipt {one} is not in the log" for one in hashes if one not in stored)


def doubled(logs: Mapping[str, Sequence[bytes]]) -> Iterator[str]:
    """Yield the actions that are in the log twice."""
    for game, lines in logs.items():
        acts = Counter((each.metadata.command_id, each.type) for each in map(_record, lines) if each.type in _ACTS)
        yield from (f"{game}: {act} is there {n} times" for act, n in acts.items() if n > 1)


def logs_of(gateway: str, operator_key: str, games: Iterable[str]) -> dict[str, list[bytes]]:
    """The log of each game, as an operator reads it."""
    bearer = {"Authorization": f"Bearer {operator_key}"}
    with httpx.Client(base_url=gateway, timeout=_ANSWER_SECONDS, headers=bearer) as http:
        return {game: http.get(f"/api/games/{game}/log").raise_for_status().content.splitlines() for game in games}


def seeds(logs: Mapping[str, Sequence[bytes]]) -> dict[str, str]:
    """The seed of each game's draws, which is secret until its end and in no process' log."""
    opened = {game: msgspec.json.decode(lines[0], type=_Opened).data for game, lines in logs.items()}
    return {game: data.seed for game, data in opened.items() if data.seed}


def leaked(
    keys: Iterable[str], seeds: Mapping[str, str], feeds: Mapping[str, Sequence[bytes]], files: Iterable[Path]
) -> Iterator[str]:
    """Yield the keys in a feed or a process' log, and the seeds in a process' log or in a feed before a game's end."""
    known = {key.encode() for key in keys}
    for game, messages in feeds.items():
        early = b"".join(messages[:-1])
        if game in seeds and seeds[game].encode() in early:
            yield f"{game}: its seed is in its feed"
        yield from (f"{game}: a key is in its feed" for key in known if key in early)
    for path in files:
        text = path.read_bytes()
        yield from (f"{path.name}: a key is in it" for key in known if key in text)
        yield from (
            f"{path.name}: the seed of {game} is in it" for game, seed in seeds.items() if seed.encode() in text
        )


_ACTS: Final = ("first_choice_submitted", "switch_submitted", "speak", "vote_submitted")


def different(gateway: str, feeds: Mapping[str, Sequence[bytes]]) -> Iterator[str]:
    """Yield the feeds that differ from the list of events or are incomplete."""
    with httpx.Client(base_url=gateway, timeout=_ANSWER_SECONDS) as http:
        for game, messages in feeds.items():
            if [msgspec.json.decode(message) for message in messages] != [*_events(http, game)]:
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
