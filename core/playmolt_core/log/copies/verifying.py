"""Verifies copies of the log: chains, states, the end of every game, and the manifest."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from playmolt_core.game.decider import Decider
from playmolt_core.game.erasures import erasure_in
from playmolt_core.log.copies.files import NoRecords, records_in
from playmolt_core.log.copies.manifest import ListedStream, Manifest, ManifestBuilder, NoManifest, manifest_of
from playmolt_core.log.verify import Break, Verification, VerifiedStream, Verifier, closes, rests, together

Deciders = Mapping[str, Decider]


def verify_copies(paths: Iterable[Path], deciders: Deciders) -> Verification:
    """Verify files, each with its manifest if there is one.

    Raises NoRecords for a file without records, and OSError.
    """
    return together(_verified(path, deciders) for path in paths)


def _verified(path: Path, deciders: Deciders) -> Verification:
    verifier, listing = Verifier(deciders, hashes_required=True), ManifestBuilder()
    verifier.expect_erased(_erased_in(path))
    torn = manifest = None
    try:
        for record in records_in(path):
            listing.take(record, over=rests(deciders, record))
            verifier.take(record, closes=closes(deciders, record))
    except NoRecords as error:
        torn = error
    try:
        manifest = manifest_of(path)
    except NoManifest as error:
        verifier.fault(str(error))
    held = listing.finish()
    if torn:
        if not held.records:
            raise torn
        verifier.fault(str(torn))
    for end in verifier.ended(rest=True):
        if problem := _end_problem(end, held.streams[end.stream], manifest, deciders):
            verifier.spoil(end, problem)
    result = verifier.finish()
    return result if manifest is None else replace(result, breaks=result.breaks + _missing(held, manifest))


def _erased_in(path: Path) -> Mapping[str, tuple[int, str]]:
    """The ends of erased sessions, from the file's own records of erasures, which follow the sessions."""
    ends = dict[str, tuple[int, str]]()
    with suppress(NoRecords, msgspec.MsgspecError):
        ends.update(
            {each.stream: (each.version, each.hash) for each in filter(None, map(erasure_in, records_in(path)))}
        )
    return ends


def _end_problem(end: VerifiedStream, held: ListedStream, manifest: Manifest | None, deciders: Deciders) -> str:
    if manifest is None:
        whole = (
            held.over
            or end.verdict == "ERASED"
            or end.stream.partition("-")[0] not in deciders
            or end.stream.startswith("lobby-")
        )
        return "" if whole else "the copy ends here, but the game continues"
    listed = manifest.streams.get(end.stream)
    if listed is None:
        return "the manifest does not list this stream"
    if listed.version != held.version:
        return f"the stream ends here, but at version {listed.version} in the manifest"
    return "" if listed.hash == held.hash else "the manifest has another hash for this record"


def _missing(held: Manifest, manifest: Manifest) -> list[Break]:
    missing = [
        Break(stream, 0, f"the manifest lists {listed.version} records of it, but the copy has none")
        for stream, listed in manifest.streams.items()
        if stream not in held.streams
    ]
    same = (held.records, held.digest) == (manifest.records, manifest.digest)
    if missing or same:
        return missing
    return [
        Break("", 0, f"the copy has {held.records} records, the manifest {manifest.records}, or their order differs")
    ]
