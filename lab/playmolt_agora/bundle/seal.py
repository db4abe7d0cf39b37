"""Sealing: an experiment's log, prompts, tables, figures and report in one directory, every file by its hash."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Final

import msgspec
from playmolt_schemas.records import Record
from playmolt_schemas.text import escape_line_ends

from playmolt_agora.bundle import verify

_LAST: Final = (verify.CRATE, "manifest.json")
"""Written when all other files are there, since they list them."""
_encode: Final = msgspec.json.Encoder().encode


class Unsealable(ValueError):
    """What was handed over does not make a bundle that would verify; the message names the first faults."""


class ModelNote(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the plan. Prices are per million tokens, decimal strings; None is unknown, never 0."""

    alias: str
    asked: str
    answered: tuple[str, ...] = ()
    input_price: str | None = None
    output_price: str | None = None
    scripted: bool = False
    cache_prompt: bool | None = None


class Contents(msgspec.Struct, frozen=True, kw_only=True):
    """What goes into a bundle beside the files of its analysis.

    `experiment` are the records of the experiment's stream, `runs` those of each run, in the order of versions.
    `prompts` is hash → text as it was hashed, `folder` path → text of the plan's folder. `facts` are what the manifest
    says first: when it was made, and the hashes of what it was made with.
    """

    experiment: Sequence[Record]
    runs: Mapping[str, Sequence[Record]]
    prompts: Mapping[str, str]
    folder: Mapping[str, str] = {}
    models: Sequence[ModelNote]
    facts: Mapping[str, str]


def seal(bundle: Path, contents: Contents, analysis: Iterable[Path]) -> str:
    """Seal the directory `bundle` with the files of its `analysis`; gives the manifest's hash.

    Adds `events/STREAM.jsonl`, `prompts/HASH.json`, `folder/`, `plan.txt`, `lock.json`, `models.json`, `README.txt`,
    `verify.py`, `ro-crate-metadata.json` and `manifest.json`, then verifies the result. Raises Unsealable for a
    directory with files of something else, and for what would not verify: a turn without its prompt, records out of
    order, a run that the experiment does not know.
    """
    if not contents.experiment or not all(contents.runs.values()):
        raise Unsealable("a stream without a record: export an experiment that was locked, and runs that were opened")
    own = {name for name, _ in _bodies(contents)} | {path.relative_to(bundle).as_posix() for path in analysis}
    # A stray file in the directory would be sealed and sent to readers by accident.
    if others := sorted(verify.Folder(bundle).names() - own - {*_LAST}):
        raise Unsealable(f"{bundle} holds other files ({', '.join(others[:5])}): export into a directory of its own")
    for name, pieces in _bodies(contents):
        path = bundle / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as out:
            out.writelines(pieces)
    manifest = _manifest(contents, _files(bundle, own))
    lock = msgspec.json.decode(_encode(contents.experiment[0]))
    ended = max(record.at for records in (contents.experiment, *contents.runs.values()) for record in records)
    (bundle / verify.CRATE).write_bytes(_pretty(verify.crate(manifest, lock, ended)))
    listed = manifest["files"] | _files(bundle, (verify.CRATE,))
    (bundle / "manifest.json").write_bytes(_pretty(manifest | {"files": dict(sorted(listed.items()))}))
    verifier = verify.Verifier(verify.Folder(bundle))
    digest = verifier.check()
    if verifier.faults:
        raise Unsealable("; ".join(verifier.faults[:5]))
    return digest


def _bodies(contents: Contents) -> Iterator[tuple[str, Iterable[bytes]]]:
    """What is written, a log in pieces: it may be larger than memory."""
    for records in (contents.experiment, *contents.runs.values()):
        yield _events(records), (escape_line_ends(_encode(record)) + b"\n" for record in records)
    preregistered = msgspec.json.decode(contents.experiment[0].data)
    ours = files("playmolt_agora.bundle")
    yield "plan.txt", (str(preregistered.get("text", "")).encode(),)
    yield "lock.json", (_pretty(preregistered),)
    yield "models.json", (_pretty(contents.models),)
    yield from ((name, (ours.joinpath(name).read_bytes(),)) for name in ("README.txt", "verify.py"))
    yield from ((f"prompts/{digest}.json", (prompt.encode(),)) for digest, prompt in contents.prompts.items())
    yield from ((f"folder/{path}", (text.encode(),)) for path, text in contents.folder.items())


def _events(records: Sequence[Record]) -> str:
    return f"events/{records[0].stream}.jsonl"


def _files(bundle: Path, names: Iterable[str]) -> dict[str, dict[str, object]]:
    folder = verify.Folder(bundle)
    return {name: dict(zip(("sha256", "bytes"), folder.digest(name), strict=True)) for name in names}


def _manifest(contents: Contents, listed: Mapping[str, object]) -> verify.Json:
    return {
        "format": verify.FORMAT,
        "experiment": contents.experiment[0].stream,
        **contents.facts,
        "streams": [
            {"stream": records[0].stream, "file": _events(records), "records": len(records), "head": records[-1].hash}
            for records in (contents.experiment, *contents.runs.values())
        ],
        "models": contents.models,
        "files": listed,
    }


def _pretty(value: object) -> bytes:
    return msgspec.json.format(_encode(value), indent=1) + b"\n"
