"""Checks a sealed bundle of an Agora experiment. Needs Python 3.9 or later, nothing else, and no network.

    python verify.py [BUNDLE] [--manifest SHA256]

BUNDLE is a directory or a zip file; without it, the directory of this program. Exit status 0: everything
holds. 1: something does not, each fault on a line of its own, or the bundle does not exist.

What is checked: the hash of every file; the hash chain of every stream, with versions 1, 2, 3 … and no hole; that each
prompt has the hash it is named by, and that every prompt of a turn or a judge is there; that `turns.jsonl` holds the
turns of the log, all of them and nothing else; that the files of the plan's folder are those that were locked; that the
lock is the first event of the experiment, holds the plan of the bundle, and came before the first event of every run;
that every run belongs to the experiment and ended as the experiment says, and that judges coded turns of these runs;
that `ro-crate-metadata.json` names the authors and the licence of the locked plan, the dates of the log, and every file
with its size and hash.

A person who can write every file of a bundle can forge all of it. Compare the hash of `manifest.json`, which this
program prints, with one that was published elsewhere (`--manifest` does it).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import sys
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

FORMAT = "playmolt-agora-bundle/1"
FIELDS = (
    "stream", "version", "position", "type", "schema_version", "data", "metadata", "at", "salt", "prev_hash", "hash",
)  # fmt: skip
TURNS = ("agent_acted", "turn_failed")
ADDED = ("run_added", "forked")
ASKED = {"judge_coded": "a judge", "interviewed": "a question", **dict.fromkeys(TURNS, "a turn")}
"""The events with a prompt, and who used it."""
INTERVIEW = ("run", "turn", "agent", "id", "parse_code", "value", "choice", "text")
SHOWN = 50
Json = dict[str, Any]
"""An object of JSON."""
CHUNK = 1 << 20
CRATE = "ro-crate-metadata.json"
RO_CRATE = "https://w3id.org/ro/crate/1.2"
NO_LICENSE = "The plan names no licence. Ask the authors before you use this dataset."
MEDIA = {
    "css": "text/css", "csv": "text/csv", "html": "text/html", "json": "application/json", "jsonl": "application/jsonl",
    "md": "text/markdown", "parquet": "application/vnd.apache.parquet", "pdf": "application/pdf", "png": "image/png",
    "py": "text/x-python", "svg": "image/svg+xml", "toml": "application/toml", "txt": "text/plain",
}  # fmt: skip


# What reading raises of a file that is damaged, encrypted (RuntimeError) or nested too deeply.
UNREADABLE = (OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile)


class NoBundle(Exception):
    """There is nothing that could be checked; the message says what is missing."""


class Folder:
    """A bundle in a directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self) -> set[str]:
        """Give the paths of all files, with forward slashes."""
        found = (path for path in self.root.rglob("*") if path.is_file() or path.is_symlink())
        return {path.relative_to(self.root).as_posix() for path in found}

    def open(self, name: str) -> IO[bytes]:
        """Open a file."""
        return (self.root / name).open("rb")

    def lines(self, name: str) -> Iterator[bytes]:
        """Give a file line by line."""
        with self.open(name) as file:
            yield from file

    def digest(self, name: str) -> tuple[str, int]:
        """Give the SHA-256 (hex) and the size of a file."""
        made, size = hashlib.sha256(), 0
        with self.open(name) as file:
            for piece in iter(lambda: file.read(CHUNK), b""):
                made.update(piece)
                size += len(piece)
        return made.hexdigest(), size


class Archive(Folder):
    """A bundle in a zip file, at its top or in one folder."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.zip = zipfile.ZipFile(path)
        inside = [name for name in self.zip.namelist() if not name.endswith("/")]
        tops = {name.split("/", 1)[0] for name in inside}
        self.prefix = "" if "manifest.json" in inside or len(tops) != 1 else f"{tops.pop()}/"

    def names(self) -> set[str]:
        """Give the paths of all files, with forward slashes."""
        return {name[len(self.prefix) :] for name in self.zip.namelist() if not name.endswith("/")}

    def open(self, name: str) -> IO[bytes]:
        """Open a file."""
        return self.zip.open(self.prefix + name)


def canonical(value: object) -> str:
    """Give the RFC 8785 JSON of a stored value (stored values hold no floats and have ASCII keys)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def record_hash(record: Json) -> str:
    """Give the hash that a record must have."""
    hashed = {key: value for key, value in record.items() if key not in ("hash", "position")}
    return hashlib.sha256((record["prev_hash"] + canonical(hashed)).encode()).hexdigest()


def turn_key(turn: dict[str, object]) -> tuple[str, str]:
    """A turn's identity and its display name; both short, because there are many turns."""
    name = f"turn {turn.get('turn')} of {turn.get('agent')} in {turn.get('run')}"
    return hashlib.sha256(canonical(turn).encode()).hexdigest(), name


def crate(manifest: Json, lock: Json, ended: str) -> Json:
    """Give the RO-Crate of a bundle: what archives show of it.

    `lock` is the experiment's first record, `ended` the time of the last record of all. Neither the crate itself nor
    the manifest, which contains the crate's hash, has size and hash here.
    """
    plan = lock["data"]["plan"]
    people, others = _authors(plan.get("authors") or [])
    sizes = {name: file for name, file in manifest["files"].items() if name != CRATE}
    parts = [_part(name, sizes.get(name)) for name in sorted({*sizes, "manifest.json"})]
    root: Json = {
        "@id": "./",
        "@type": "Dataset",
        "name": plan["name"],
        "description": f"Sealed bundle of an experiment with language models in PlayMolt's Agora: plan, events, "
        f"prompts, tables, figures and report. Check it with: python verify.py. Experiment: {manifest['experiment']}",
        "identifier": manifest["experiment"],
        "inLanguage": plan["languages"],
        "dateCreated": lock["at"],
        "datePublished": ended,
        "license": NO_LICENSE,
    }
    if plan.get("license"):
        licence = f"https://spdx.org/licenses/{plan['license']}"
        root["license"] = {"@id": licence}
        others.append({"@id": licence, "@type": "CreativeWork", "name": plan["license"]})
    if people:
        root["author"] = [{"@id": each["@id"]} for each in people]
    root["hasPart"] = [{"@id": each["@id"]} for each in parts]
    described = {
        "@id": CRATE, "@type": "CreativeWork", "conformsTo": {"@id": RO_CRATE}, "about": {"@id": "./"},
    }  # fmt: skip
    return {"@context": f"{RO_CRATE}/context", "@graph": [described, root, *people, *others, *parts]}


def _authors(authors: list[Json]) -> tuple[list[Json], list[Json]]:
    people = []
    places: dict[str, str] = {}
    for number, author in enumerate(authors, 1):
        orcid, place = author.get("orcid"), author.get("affiliation")
        named = f"https://orcid.org/{orcid}" if orcid else f"#author-{number}"
        person: Json = {"@id": named, "@type": "Person", "name": author["name"]}
        if place:
            person["affiliation"] = {"@id": places.setdefault(place, f"#organization-{len(places) + 1}")}
        people.append(person)
    return people, [{"@id": known, "@type": "Organization", "name": name} for name, known in places.items()]


def _part(name: str, file: Json | None) -> Json:
    media = MEDIA.get(name.rpartition(".")[2], "application/octet-stream")
    part = {"@id": quote(name), "@type": "File", "name": name, "encodingFormat": media}
    return part if file is None else {**part, "contentSize": str(file["bytes"]), "sha256": file["sha256"]}


def interview_key(row: dict[str, object]) -> tuple[str, str]:
    """An interview's identity with its answer, as the table has it, and its display name."""
    # The table writes an apostrophe before what a spreadsheet would take for a formula.
    cells = ["" if row[name] is None else str(row[name]).replace("'", "") for name in INTERVIEW]
    run, turn, agent, name = cells[:4]
    return canonical(cells), f"question {name} to {agent} after turn {turn} of {run}"


class Stream:
    """What the check of a run, or of the experiment, found in its file: what other checks need of its records."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.first: Json = {}
        self.ended = ""
        self.hashes: dict[int, str] = {}
        self.prompts: dict[str, str] = {}
        self.turns: list[tuple[str, str]] = []
        self.interviews: list[tuple[str, str]] = []
        self.judged: list[tuple[str, str]] = []
        self.ends: list[Json] = []
        self.runs: set[str] = set()

    def take(self, record: Json) -> None:
        """Keep what other checks need of a record."""
        kind, data = record["type"], record["data"]
        self.first = self.first or record
        self.ended = max(self.ended, record["at"])
        self.hashes[record["version"]] = record["hash"]
        if kind in ASKED:
            self.prompts[data["record"]["prompt_hash"] if kind in TURNS else data["prompt_hash"]] = ASKED[kind]
        if kind in TURNS:
            self.turns.append(turn_key(data["record"]))
        elif kind == "interviewed":
            self.interviews.append(interview_key(data))
        elif kind == "judge_coded":
            self.judged.append((data["run"], f"the thought of turn {data['turn']} of {data['agent']} in {data['run']}"))
        elif kind == "run_finished":
            self.ends.append(data)
        elif kind == "preregistered":
            self.runs.update(run["run"] for run in data["runs"])
        elif kind in ADDED:
            self.runs.add(data["planned"]["run"])


class Verifier:
    """Collects faults; `check` says whether there are any."""

    def __init__(self, source: Folder) -> None:
        self.source = source
        self.faults: list[str] = []
        self.records = 0
        self.turns = 0

    def fault(self, text: str) -> None:
        """Note that something does not hold."""
        self.faults.append(text)

    def check(self, expected: str = "") -> str:
        """Check everything; gives the SHA-256 of the manifest. Raises NoBundle where no manifest can be read."""
        if "manifest.json" not in self.source.names():
            raise NoBundle("no manifest.json: name the directory or the zip file of a bundle")
        try:
            found = self.source.digest("manifest.json")[0]
        except UNREADABLE as error:
            raise NoBundle(f"manifest.json cannot be read: {error}") from error
        if expected and expected.lower() != found:
            self.fault(f"manifest.json has SHA-256 {found}, not {expected}")
        try:
            manifest = json.loads(b"".join(self.source.lines("manifest.json")))
            self._files(manifest["files"])
            self._contents(manifest)
        except (LookupError, TypeError, AttributeError, ValueError, *UNREADABLE) as error:
            self.fault(f"the rest of the bundle cannot be read: {type(error).__name__}: {error}")
        return found

    def _files(self, listed: Json) -> None:
        present = self.source.names() - {"manifest.json"}
        for name in sorted(set(listed) - present):
            self.fault(f"{name}: is in the manifest but not in the bundle")
        for name in sorted(present - set(listed)):
            self.fault(f"{name}: is in the bundle but not in the manifest")
        for name in sorted(present & set(listed)):
            try:
                digest, size = self.source.digest(name)
            except UNREADABLE as error:
                self.fault(f"{name}: cannot be read: {error}")
                continue
            if (digest, size) != (listed[name]["sha256"], listed[name]["bytes"]):
                self.fault(f"{name}: its SHA-256 is {digest}, but the manifest has {listed[name]['sha256']}")

    def _contents(self, manifest: Json) -> None:
        if manifest["format"] != FORMAT:
            self.fault(f"manifest.json: format {manifest['format']!r}; this program supports {FORMAT}")
            return
        streams = [self._stream(entry) for entry in manifest["streams"]]
        experiment, runs = streams[0], streams[1:]
        if experiment.name != manifest["experiment"]:
            self.fault(f"the first stream is {experiment.name}, not the experiment {manifest['experiment']}")
        self._lock(experiment, runs)
        self._runs(experiment, runs)
        self._folder(experiment)
        self._prompts({digest: who for stream in streams for digest, who in stream.prompts.items()})
        self._turns(runs)
        self._interviews(runs)
        self._crate(manifest, experiment, runs)

    def _stream(self, entry: Json) -> Stream:
        stream, name = Stream(entry["stream"]), entry["file"]
        previous, position = "0" * 64, 0
        for number, line in enumerate(self.source.lines(name), 1):
            record = json.loads(line)
            previous = self._record(stream.name, name, number, previous, record)
            if record["position"] <= position:
                self.fault(f"{name}, line {number}: position {record['position']} comes after {position}")
            position = record["position"]
            stream.take(record)
        self.records += len(stream.hashes)
        if len(stream.hashes) != entry["records"] or previous != entry["head"]:
            self.fault(
                f"{name}: ends after {len(stream.hashes)} records with {previous}, "
                f"but the manifest has {entry['records']} records and {entry['head']}"
            )
        return stream

    def _record(self, stream: str, name: str, number: int, previous: str, record: dict[str, object]) -> str:
        made = record_hash(record)
        for wrong, text in (
            (tuple(record) != FIELDS, f"the fields are {', '.join(record)}; they must be {', '.join(FIELDS)}"),
            (record["stream"] != stream, f"belongs to {record['stream']}, not to {stream}"),
            (record["version"] != number, f"version {record['version']}; versions must be 1, 2, 3 … without gaps"),
            (
                record["prev_hash"] != previous,
                f"prev_hash is {record['prev_hash']}, but the hash of the previous record is {previous}",
            ),
            (record["hash"] != made, f"the hash is {record['hash']}, but the record's content gives {made}"),
        ):
            if wrong:
                self.fault(f"{name}, line {number}: {text}")
        return str(record["hash"])

    def _lock(self, experiment: Stream, runs: list[Stream]) -> None:
        lock = experiment.first
        if not lock or lock["type"] != "preregistered":
            self.fault(f"{experiment.name}: the first event is not the lock (preregistered)")
            return
        plan = b"".join(self.source.lines("plan.txt"))
        if hashlib.sha256(plan).hexdigest() != lock["data"]["text_hash"] or plan.decode() != lock["data"]["text"]:
            self.fault("plan.txt: differs from the locked plan")
        if hashlib.sha256(canonical(lock["data"]["plan"]).encode()).hexdigest() != lock["data"]["plan_hash"]:
            self.fault(f"{experiment.name}: plan_hash is not the hash of the plan in the lock")
        if json.loads(b"".join(self.source.lines("lock.json"))) != lock["data"]:
            self.fault("lock.json: differs from the lock in the log")
        for run in runs:
            if run.first and not (lock["position"] < run.first["position"] and lock["at"] <= run.first["at"]):
                self.fault(f"{run.name}: began at {run.first['at']}, not after the lock at {lock['at']}")

    def _runs(self, experiment: Stream, runs: list[Stream]) -> None:
        known = {run.name: run for run in runs}
        for run in runs:
            if run.name not in experiment.runs:
                self.fault(f"{run.name}: the experiment did not plan, add or fork this run")
            if run.first and run.first["data"].get("spec", {}).get("experiment") != experiment.name:
                self.fault(f"{run.name}: its first event names another experiment")
        for named, what in experiment.judged:
            if named not in known:
                self.fault(f"{what}: was judged, but its run is not in the bundle")
        for end in experiment.ends:
            found = known.get(end["run"])
            if found is None and end["version"]:  # a fork that was refused has no records
                self.fault(f"{end['run']}: the experiment records its end, but it is not in the bundle")
            elif found is not None and found.hashes.get(end["version"]) != end["hash"]:
                self.fault(f"{end['run']}: version {end['version']} does not have the hash that the experiment records")

    def _folder(self, experiment: Stream) -> None:
        """Hold the files of the plan's folder to the hashes in the lock."""
        locked = experiment.first.get("data", {}).get("folder") or {"files": [], "hash": ""}
        named = {f"folder/{file['path']}": file for file in locked["files"]}
        present = {name for name in self.source.names() if name.startswith("folder/")}
        if named and hashlib.sha256(canonical(locked["files"]).encode()).hexdigest() != locked["hash"]:
            self.fault(f"{experiment.name}: the hash of the plan's folder does not match its files")
        for name in sorted(present - set(named)):
            self.fault(f"{name}: is not a file of the locked folder")
        for name, file in sorted(named.items()):
            if name not in present:
                self.fault(f"{name}: was locked with the plan, but is not in the bundle")
            elif self.source.digest(name) != (file["sha256"], file["bytes"]):
                self.fault(f"{name}: differs from the locked file")

    def _prompts(self, wanted: dict[str, str]) -> None:
        files = {name for name in self.source.names() if name.startswith("prompts/")}
        for name in sorted(files):
            named = name[len("prompts/") :].partition(".")[0]
            if self.source.digest(name)[0] != named:
                self.fault(f"{name}: its name is not the hash of the prompt")
        for missing in sorted(set(wanted) - {name[len("prompts/") :].partition(".")[0] for name in files}):
            self.fault(f"prompts/{missing}.json: {wanted[missing]} used this prompt, which is not in the bundle")

    def _turns(self, runs: list[Stream]) -> None:
        self.turns = sum(len(run.turns) for run in runs)
        listed = (turn_key(json.loads(line)) for line in self.source.lines("turns.jsonl"))
        self._same("turns.jsonl", (turn for run in runs for turn in run.turns), listed)

    def _interviews(self, runs: list[Stream]) -> None:
        """Hold the table of questions asked aside to the log."""
        rows: list[Json] = []
        if "interviews.csv" in self.source.names():
            text = b"".join(self.source.lines("interviews.csv")).decode()
            rows += csv.DictReader(io.StringIO(text, newline=""))
        self._same("interviews.csv", (key for run in runs for key in run.interviews), map(interview_key, rows))

    def _same(self, name: str, logged: Iterable[tuple[str, str]], listed: Iterable[tuple[str, str]]) -> None:
        """Hold a file to the log: rows as identity and display name."""
        log, file = Counter(logged), Counter(listed)
        for _, row in log - file:
            self.fault(f"{name}: lacks {row}, as the log has it")
        for _, row in file - log:
            self.fault(f"{name}: has {row}, which differs from the log")

    def _crate(self, manifest: Json, experiment: Stream, runs: list[Stream]) -> None:
        """Compare what archives show of the bundle with the lock, the log and the manifest."""
        if CRATE not in manifest["files"]:
            self.fault(f"{CRATE}: is missing")
            return
        if not experiment.first or experiment.first["type"] != "preregistered":
            return
        expected = crate(manifest, experiment.first, max(stream.ended for stream in (experiment, *runs)))
        found = json.loads(b"".join(self.source.lines(CRATE)))
        described, wanted = ({each["@id"]: each for each in which["@graph"]} for which in (found, expected))
        for name in sorted(described.keys() | wanted.keys()):
            one, other = described.get(name, {}), wanted.get(name, {})
            if differing := [field for field in {**other, **one} if one.get(field) != other.get(field)]:
                self.fault(f"{CRATE}: {name}: {', '.join(differing)} not as in the lock, the log and the manifest")
        if described == wanted and found != expected:
            self.fault(f"{CRATE}: its context or the order of its entities is another one")


def opened(path: Path) -> Folder:
    """Give the bundle at a path. Raises NoBundle."""
    if path.is_dir():
        return Folder(path)
    if path.is_file() and zipfile.is_zipfile(path):
        return Archive(path)
    raise NoBundle(f"{path}: neither a directory nor a zip file")


def main(arguments: list[str] | None = None) -> int:
    """Check the bundle that the arguments name, say what came of it, and give the exit status."""
    parser = argparse.ArgumentParser(description="Checks a sealed bundle of an Agora experiment.")
    parser.add_argument("bundle", nargs="?", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--manifest", default="", metavar="SHA256", help="what manifest.json must hash to")
    options = parser.parse_args(arguments)
    try:
        verifier = Verifier(opened(options.bundle))
        manifest = verifier.check(options.manifest)
    except NoBundle as error:
        sys.stdout.write(f"NO BUNDLE: {error}\n")
        return 1
    sys.stdout.write(f"manifest.json SHA-256 {manifest}\n{verifier.records} records, {verifier.turns} turns\n")
    for fault in verifier.faults[:SHOWN]:
        sys.stdout.write(f"FAULT: {fault}\n")
    if len(verifier.faults) > SHOWN:
        sys.stdout.write(f"and {len(verifier.faults) - SHOWN} more\n")
    sys.stdout.write(
        "BROKEN: the bundle is not what was sealed\n" if verifier.faults else "VERIFIED: all checks hold\n"
    )
    return 1 if verifier.faults else 0


if __name__ == "__main__":
    sys.exit(main())
