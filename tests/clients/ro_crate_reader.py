"""`ro_crate_reader.py CONTEXT CRATE…`, run in an environment with `locks/rocrate.lock`.

Prints as JSON, for each folder, the faults that roc-validator finds, or if it finds none, what rocrate reads. CONTEXT
is the JSON-LD context of RO-Crate 1.2. It is put into the validator's cache, because most checks do not run without it.
"""

import json
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import requests
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.processor import SPARQLProcessor
from rdflib.plugins.sparql.sparql import Query
from requests_cache import CachedResponse, CachedSession
from rocrate.rocrate import ROCrate
from rocrate_validator.services import validate

ADDRESS = "https://w3id.org/ro/crate/1.2/context"


def filled(cache: Path, context: bytes) -> None:
    """Fill a cache with the answer for the context's address."""
    asked = requests.Request("GET", ADDRESS).prepare()
    with CachedSession(str(cache), backend="sqlite", expire_after=-1) as session:
        key = session.cache.create_key(asked)
        body = CachedResponse(status_code=200, url=ADDRESS, headers={"Content-Type": "application/ld+json"})
        body._content = context  # requests-cache sets it only for a response from the network
        body.request.method, body.request.url = "GET", ADDRESS
        session.cache.responses[key] = body


@cache
def prepared(query: str, names: tuple[tuple[str, str], ...], base: str | None) -> Query:
    return prepareQuery(query, dict(names), base)


def reading_queries_once() -> None:
    """Parse each query once: the validator runs a few queries hundreds of times, and parsing takes most of its time."""
    asked = SPARQLProcessor.query

    def query(
        of: SPARQLProcessor, text: str | Query, bindings: object = None, names: Mapping[str, str] | None = None,
        base: str | None = None, **more: object,
    ) -> object:  # fmt: skip
        known = text if isinstance(text, Query) else prepared(text, tuple(sorted((names or {}).items())), base)
        return asked(of, known, bindings, names, base, **more)

    SPARQLProcessor.query = query


def checked(crate: Path, cache: Path) -> dict[str, object]:
    settings = {
        "rocrate_uri": str(crate), "profile_identifier": "ro-crate-1.2", "requirement_severity": "REQUIRED",
        "offline": True, "cache_path": cache,
    }  # fmt: skip
    found = validate(settings)
    return {
        "passed": found.passed(),
        "executed": sorted(each.identifier for each in found.executed_checks),
        "skipped": sorted(each.identifier for each in found.skipped_checks),
        "issues": [f"{each.check.identifier}: {each.message}" for each in found.get_issues()],
    }


def read(crate: Path) -> dict[str, object]:
    found = ROCrate(str(crate))
    root = found.root_dataset
    authors = root.get("author") or []
    kept = json.loads((crate / "ro-crate-metadata.json").read_bytes())
    again = found.metadata.generate()
    return {
        "written_again_as_it_was": again["@context"] == kept["@context"]
        and {each["@id"]: each for each in again["@graph"]} == {each["@id"]: each for each in kept["@graph"]},
        "name": root["name"],
        "published": root["datePublished"],
        "license": root["license"] if isinstance(root["license"], str) else root["license"]["name"],
        "authors": [
            [each.id, each["name"], each["affiliation"]["name"] if each.get("affiliation") else None]
            for each in (authors if isinstance(authors, list) else [authors])
        ],
        "parts": {
            each.id: [each["name"], each["encodingFormat"], each.get("contentSize")] for each in found.data_entities
        },
    }


def main() -> None:
    reading_queries_once()
    context = Path(sys.argv[1]).read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        if context:
            filled(cache, context)
        found = [(crate, checked(crate, cache)) for crate in map(Path, sys.argv[2:])]
        print(json.dumps([{**each, "read": read(crate) if each["passed"] else None} for crate, each in found]))


if __name__ == "__main__":
    main()
