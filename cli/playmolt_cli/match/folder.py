"""The folder of a match: lock, game records, model transcripts, report."""

import fcntl
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec
from playmolt_core.game.decider import Command, Decider
from playmolt_core.game.fold import state_hash, step
from playmolt_core.log.chain import chain_record
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.records import ZERO_HASH, Metadata, Record
from playmolt_schemas.stored.event import Event

from playmolt_cli.match.entrants import Deal
from playmolt_cli.match.table import AT
from playmolt_cli.model_seats.calls import FinishedCall
from playmolt_cli.model_seats.requests import KINDS, TurnRequest

_BROKE: Final = "broke at "
"""Prefix of a causation that records which line of a player's file failed."""


class InUse(Exception):
    """Another command is using the folder."""


class PlanMismatch(Exception):
    """The folder belongs to another plan; the message lists the differences."""


class MatchFolder:
    """A match folder, open in one command at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._held = (path / ".in-use").open("wb")
        try:
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._held.close()
            raise InUse(
                f"{path} is in use by another command. Wait for it, or choose another folder with --out."
            ) from None
        (path / "games").mkdir(exist_ok=True)
        (path / "transcripts").mkdir(exist_ok=True)

    def close(self) -> None:
        self._held.close()

    @property
    def calls(self) -> Path:
        return self.path / "calls.jsonl"

    def hold(self, lock: Mapping[str, object]) -> None:
        """Store the lock, or compare it with the stored one; only the budget may differ. Raises PlanMismatch."""
        path = self.path / "lock.json"
        if path.exists():
            kept = json.loads(path.read_bytes())
            keys = sorted(_differences(_budgetless(kept), _budgetless(lock), ""))
            if keys:
                raise PlanMismatch("\n".join(f"{path}: {key} differs from the match in this folder" for key in keys))
        self.write("lock.json", msgspec.json.format(msgspec.json.encode(lock)) + b"\n")

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically."""
        path = self.path / name
        aside = path.with_name(f".{path.name}.new")
        with aside.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)

    def game(self, decider: Decider, deal: Deal) -> "GameFile":
        """The file of a game; restarts a game that was interrupted while its seats were being filled."""
        path = self.path / "games" / f"{deal.number}-{deal.game}.jsonl"
        file = GameFile(path, decider, deal.game_id)
        if file.state.phase != "waiting" or not file.state.version:
            return file
        file.close()
        path.unlink()
        return GameFile(path, decider, deal.game_id)

    def transcript(self, deal: Deal) -> "Transcript":
        return Transcript(self.path / "transcripts" / f"{deal.number}-{deal.game}.jsonl")


class GameFile:
    """The records of one game, in the export format. Existing records are folded."""

    def __init__(self, path: Path, decider: Decider, game_id: str) -> None:
        self._decider = decider
        self._game_id = game_id
        self._prev_hash = ZERO_HASH
        self.state = decider.initial(game_id)
        self.broken: list[tuple[str, str, str]] = []
        """(agent, what, FILE:LINE) of each forfeit caused by a player's error."""
        records = _records(path)
        if records:
            self._fold(records)
        self._file: IO[bytes] = path.open("ab", buffering=0)

    def commit(self, command: Command, steps: Sequence[tuple[Event, Any]], at: str | None) -> None:
        """Append the records of a step in one write."""
        version = steps[0][1].version
        lines = [self._line(command, version, event, state, at) for event, state in steps]
        self._file.write(b"".join(lines))
        self.state = steps[-1][1]
        if at is not None:
            self.broken.append((getattr(command, "agent_id", ""), getattr(command, "what", ""), at))

    def close(self) -> None:
        self._file.close()

    def _line(self, command: Command, first: int, event: Event, state: Any, at: str | None) -> bytes:
        command_id = f"{self._game_id}/{first}"
        hashed = self._decider.hashes_state(state.version, closes=event.closes)
        what = getattr(command, "what", "")
        metadata = Metadata(
            command_id=command_id,
            correlation=command_id,
            causation=command_id if at is None else f"{_BROKE}{at} {what}",
            actor=getattr(command, "agent_id", "host"),
            state_hash=state_hash(state) if hashed else msgspec.UNSET,
        )
        new = chain_record(
            stream=self._game_id, version=state.version, prev_hash=self._prev_hash, at=AT, event_type=event.type,
            schema_version=event.schema_version, data=canonical_json(event), metadata=metadata,
            closes=event.closes,
        )  # fmt: skip
        self._prev_hash = new.hash
        record = Record(
            stream=self._game_id, version=new.version, position=new.version, type=new.type,
            schema_version=new.schema_version, data=msgspec.Raw(new.data), metadata=msgspec.Raw(new.metadata),
            at=rfc3339(AT), salt=new.salt, prev_hash=new.prev_hash, hash=new.hash,
        )  # fmt: skip
        return msgspec.json.encode(record) + b"\n"

    def _fold(self, records: Iterable[Record]) -> None:
        seen = set()
        for record in records:
            self.state = step(self._decider, self.state, record)
            self._prev_hash = record.hash
            metadata = msgspec.json.decode(record.metadata, type=Metadata)
            if metadata.causation.startswith(_BROKE) and metadata.command_id not in seen:
                seen.add(metadata.command_id)
                at, _, what = metadata.causation.removeprefix(_BROKE).rpartition(" ")
                self.broken.append((metadata.actor, what, at))


class Transcript:
    """Requests and replies of the models in one game."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = {(line["turn"], line["kind"]): line for line in map(json.loads, _whole(path).splitlines())}

    def add(self, asked: TurnRequest, call: FinishedCall, player: str, model: str, prompt: str) -> None:
        """Append a finished call once."""
        line = {
            "turn": asked.turn,
            "kind": asked.kind,
            "player": player,
            "alias": asked.request.alias,
            "model": model,
            "prompt": prompt,
            "messages": msgspec.to_builtins(asked.request.messages),
            "reply": call.reply,
            "outcome": call.outcome,
            "usage": call.usage,
            "cost": call.cost,
        }
        if (asked.turn, asked.kind) not in self._lines:
            self._lines[asked.turn, asked.kind] = line
            with self._path.open("ab") as file:
                file.write(msgspec.json.encode(line) + b"\n")

    def settle(self) -> None:
        """Sort the lines of a finished game by version, seat and kind."""
        if not self._lines:
            return
        lines = sorted(self._lines.values(), key=_order)
        self._path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))


def _order(line: Mapping[str, object]) -> tuple[int, int, int]:
    _, seat, version = str(line["turn"]).split(":")
    return int(version), int(seat), KINDS.index(line["kind"])


def _records(path: Path) -> list[Record]:
    return [msgspec.json.decode(line, type=Record) for line in _whole(path).splitlines()]


def _whole(path: Path) -> bytes:
    """The complete lines of a file; truncates a partial last line left by a kill."""
    if not path.exists():
        return b""
    data = path.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data):
        os.truncate(path, len(whole))
    return whole


def _budgetless(lock: Mapping[str, Any]) -> dict[str, Any]:
    plan = {name: value for name, value in lock["plan"].items() if name != "budget"}
    return {**lock, "plan": plan}


def _differences(kept: object, now: object, key: str) -> list[str]:
    """The keys that differ between two locks."""
    if isinstance(kept, dict) and isinstance(now, dict):
        found = []
        for name in {*kept, *now}:
            found += _differences(kept.get(name), now.get(name), f"{key}.{name}".removeprefix("."))
        return found
    if isinstance(kept, list) and isinstance(now, list) and len(kept) == len(now):
        pairs = enumerate(zip(kept, now, strict=True))
        return [found for place, (a, b) in pairs for found in _differences(a, b, f"{key}[{place}]")]
    return [] if kept == now else [key]
