"""The generated documents: fresh, well formed, and true of what the code really sends."""

import inspect
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from jsonschema import Draft7Validator, Draft202012Validator, ValidationError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from playmolt_cli import schemas as stored
from playmolt_core.engine.messages import message
from playmolt_core.game.decider import PUBLIC, Decider, Viewer
from playmolt_schemas import api, codes, envelopes, feed_messages, game_messages, records
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.export import api_page, wire
from playmolt_schemas.export.__main__ import files
from playmolt_schemas.export.files import Files, json_file, run, stale, write
from playmolt_schemas.export.json_schemas import (
    FOLDER,
    SHARED,
    bundle_of,
    document,
    file_of,
    leaves,
    messages,
    name_of,
    references,
    stored_place,
)
from playmolt_schemas.games import ox, trial
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.registry import bot_games, house_types
from playmolt_schemas.routes import platform
from playmolt_schemas.stored.event import Event
from referencing import Registry, Resource

from schemas.tests.samples import samples

ROOT = Path(__file__).parents[2]


@cache
def generated() -> Files:
    return {**files(), **stored.files()}


@cache
def bundles() -> dict[str, dict[str, Any]]:
    """The bundles by their `$id`."""
    found = [json.loads(content) for name, content in generated().items() if name.startswith(f"{FOLDER}/")]
    return {bundle["$id"]: bundle for bundle in found}


@cache
def registry() -> Registry[Any]:
    return Registry().with_resources((name, Resource.from_contents(bundle)) for name, bundle in bundles().items())


@cache
def schema(kind: type) -> Validator:
    """One that looks at a value under a reference once: a view repeats nearly all of the one before."""
    valid = set[tuple[str, str]]()

    def reference(validator: Validator, ref: str, instance: object, within: Any) -> Iterator[ValidationError]:
        seen = ref, json.dumps(instance)
        if seen not in valid:
            errors = [*Draft202012Validator.VALIDATORS["$ref"](validator, ref, instance, within)]
            yield from errors
            if not errors:
                valid.add(seen)

    return extend(Draft202012Validator, {"$ref": reference})(document(kind, ""))


def test_nothing_in_the_repository_is_stale() -> None:
    assert stale(ROOT, generated(), [FOLDER]) == [], "run `make docs`"


FILES: Files = {"docs/a.md": b"a\n", "schemas/json/b.json": b"{}\n"}


class TestWriting:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        (tmp_path / "schemas").mkdir()
        return tmp_path

    def call(self, root: Path, *arguments: str) -> int:
        return run(FILES, ["schemas/json"], ["--root", str(root), *arguments])

    def test_what_was_written_is_fresh(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.call(root, "--check") == 1
        assert self.call(root) == 0
        assert capsys.readouterr().out.splitlines() == ["wrote docs/a.md", "wrote schemas/json/b.json"]
        assert (root / "docs/a.md").read_bytes() == b"a\n"
        assert self.call(root, "--check") == 0

    def test_check_names_what_is_stale_and_changes_nothing(
        self, root: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.call(root)
        (root / "docs/a.md").write_text("edited")
        (root / "schemas/json/old.json").touch()
        assert self.call(root, "--check") == 1
        assert capsys.readouterr().err.splitlines()[:2] == ["stale: docs/a.md", "stale: schemas/json/old.json"]
        assert (root / "docs/a.md").read_text() == "edited"
        assert write(root, FILES, ["schemas/json"]) == ["docs/a.md", "schemas/json/old.json"]
        assert not (root / "schemas/json/old.json").exists()

    def test_only_its_own_folders_are_tidied(self, root: Path) -> None:
        (root / "docs").mkdir()
        (root / "docs/by-hand.md").touch()
        self.call(root)
        assert (root / "docs/by-hand.md").exists()

    def test_elsewhere_it_says_what_to_do(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.call(tmp_path) == 2
        assert "--root" in capsys.readouterr().err


def test_the_api_page_lists_every_route_once() -> None:
    calls = [line.split("`")[1].partition("?")[0] for line in api_page.page().splitlines() if line.startswith("| `")]
    assert sorted(calls) == sorted(f"{route.method} {route.path}" for route in platform.ROUTES)


def test_there_is_a_bundle_for_each_game_and_one_of_what_they_share() -> None:
    own = ("lobby", "erasure", "ownership", "moderation")
    assert bundles().keys() == {f"{name}.json" for name in (*house_types(), *own, SHARED)}
    assert len(list((ROOT / "schemas").rglob("*.json"))) <= 40


def test_a_bundle_refers_to_itself_and_to_what_is_shared() -> None:
    for name, bundle in bundles().items():
        Draft202012Validator.check_schema(bundle)
        for reference in references(bundle):
            file, _, pointer = reference.partition("#/$defs/")
            assert file in ("", f"{SHARED}.json"), (name, reference)
            assert pointer in bundles()[file or name]["$defs"], (name, reference)
        for sent in (*bundle["x-messages"], *bundle["x-stored"]):
            assert bundle["$defs"][sent]["description"], (name, sent)


def test_what_is_shared_and_not_sent_is_used() -> None:
    used = {reference for bundle in bundles().values() for reference in references(bundle)}
    shared = bundles()[f"{SHARED}.json"]
    unused = {name for name in shared["$defs"] if not {f"#/$defs/{name}", f"{SHARED}.json#/$defs/{name}"} & used}
    assert unused <= {*shared["x-messages"]}


DECLARATIONS = {
    api.Request,
    game_messages.Action,
    feed_messages.ClosingMessage,
    feed_messages.FeedMessage,
    feed_messages.PublicMessage,
    feed_messages.SessionMessage,
    platform.Route,
    platform.Media,
    platform.OneOf,
    platform.Holder,
}
MODULES = (api, codes, envelopes, game_messages, ox, records, platform, trial, wire)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_message_type_is_described(module: ModuleType) -> None:
    declared = {
        kind.__name__
        for kind in vars(module).values()
        if inspect.isclass(kind)
        and issubclass(kind, msgspec.Struct)
        and kind.__module__ == module.__name__
        and kind not in DECLARATIONS
        and not issubclass(kind, platform.Query)
    }
    described = {name for bundle in bundles().values() for name in bundle["$defs"]}
    assert declared <= described
    assert declared


def test_two_messages_never_share_a_name() -> None:
    sent = [(name, message) for name, bundle in bundles().items() for message in bundle["x-messages"]]
    assert len({name_of(kind) for kind in messages().values()}) == len(messages()) == len(set(sent))
    assert {file_of(bundle_of(kind)) for kind in messages().values()} <= generated().keys()


def test_the_samples_of_stored_events_fit_their_schemas(game: str, decider: Decider) -> None:
    for kind, version, written in samples(game):
        event, sample = decider.events[kind, version], json.loads(written)
        Draft202012Validator({"$ref": stored_place(game, kind, version)}, registry=registry()).validate(sample)
        assert schema(event).is_valid(sample)
        for field in document(event, "")["required"]:
            assert not schema(event).is_valid({key: value for key, value in sample.items() if key != field})


def test_what_is_stored_fits_its_schema(events: list[Event]) -> None:
    for event in events:
        schema(type(event)).validate(json.loads(canonical_json(event)))


BOT_GAMES = {str(game): messages for game, messages in bot_games().items()}


def test_every_public_message_fits_the_schema_of_its_type(game: str, decider: Decider, plays: Any) -> None:
    told = (*leaves(BOT_GAMES[game].message), wire.ProgressMessage)
    kinds = {document(kind, "")["properties"]["type"]["enum"][0]: schema(kind) for kind in told}
    play = plays(game).to_the_end()
    for viewer in (PUBLIC, *map(Viewer, decider.participants(play.state))):
        for version, (event, at, state) in enumerate(play.log, 1):
            said = json.loads(message(decider, f"{game}-1", version, rfc3339(at), event, viewer, state))
            kinds[said["type"]].validate(said)
            assert not kinds[said["type"]].is_valid({key: said[key] for key in said if key != "version"})


def test_an_event_with_nothing_to_tell_fits_too(game: str, decider: Decider, plays: Any) -> None:
    event, at, _ = plays(game).log[0]

    class Silent:
        game = "ox"

        def public(self, *_: object) -> None:
            return None

    schema(wire.ProgressMessage).validate(json.loads(message(Silent(), "ox-1", 1, rfc3339(at), None, event, PUBLIC)))  # type: ignore[arg-type]


def test_every_view_fits_its_schema(game: str, decider: Decider, plays: Any) -> None:
    play, view = plays(game).to_the_end(), schema(BOT_GAMES[game].state)
    viewers = (PUBLIC, *map(Viewer, decider.participants(play.state)))
    seen = {msgspec.json.encode(decider.view(state, viewer)) for viewer in viewers for _, _, state in play.log}
    for one in seen:
        view.validate(json.loads(one))
    assert not view.is_valid({})


def test_an_envelope_is_an_array_in_the_order_of_its_fields() -> None:
    call = envelopes.Call(1, "act", "ox-1")
    found = document(envelopes.Call, "")
    assert [item["title"] for item in found["prefixItems"]] == list(envelopes.Call.__struct_fields__)
    assert schema(envelopes.Call).is_valid(json.loads(msgspec.json.encode(call)))
    assert not schema(envelopes.Call).is_valid(["1", "act", "ox-1"])
    assert not schema(envelopes.Call).is_valid(msgspec.to_builtins({"id": 1}))
    assert "MessagePack" in found["description"]


def test_the_same_types_give_the_same_bytes() -> None:
    assert files().items() <= generated().items()
    assert json_file({"ä": 1}).decode() == '{\n  "ä": 1\n}\n'


def test_schemas_of_feeds_are_read_by_tools_of_draft_7_as_well() -> None:
    for name, found in json.loads(generated()["schemas/asyncapi.json"])["components"]["schemas"].items():
        Draft7Validator.check_schema(found)
        assert not {"prefixItems", "$defs", "$dynamicRef", "unevaluatedProperties"} & found.keys(), name
