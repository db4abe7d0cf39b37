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
from playmolt_schemas.export import wire
from playmolt_schemas.export.__main__ import files
from playmolt_schemas.export.files import Files, json_file, run, stale, write
from playmolt_schemas.export.json_schemas import FOLDER, STORED_FOLDER, document, leaves, messages, name_of, references
from playmolt_schemas.games import ox, trial
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.registry import bot_games
from playmolt_schemas.routes import platform
from playmolt_schemas.stored.event import Event

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "schemas" / "playmolt_schemas" / "golden"


@cache
def generated() -> Files:
    return {**files(), **stored.files()}


def message_files() -> list[str]:
    return [name for name in generated() if name.startswith(FOLDER)]


def stored_files() -> list[str]:
    return [name for name in generated() if name.startswith(STORED_FOLDER)]


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
    assert stale(ROOT, generated(), [FOLDER, STORED_FOLDER]) == [], "run `make docs`"


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


def test_a_file_is_a_schema_that_stands_alone() -> None:
    for file in (*message_files(), *stored_files()):
        found = json.loads(generated()[file])
        Draft202012Validator.check_schema(found)
        assert found["$id"] == file.rpartition("/")[2]
        assert found["description"], file
        assert all(ref.removeprefix("#/$defs/") in found["$defs"] for ref in references(found)), file


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
    platform.PageOf,
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
    described: set[str] = set()
    for file in message_files():
        found = json.loads(generated()[file])
        described |= {found["title"], *found.get("$defs", ())}
    assert declared <= described
    assert declared


def test_two_messages_never_share_a_file() -> None:
    assert len({name_of(kind) for kind in messages().values()}) == len(messages()) == len(message_files())


def test_the_samples_of_stored_events_fit_their_schemas(game: str, decider: Decider[Any]) -> None:
    for (kind, version), event in decider.events.items():
        sample = json.loads((GOLDEN / game / f"{kind}.{version}.json").read_bytes())
        assert f"{STORED_FOLDER}/{game}.{kind}.{version}.json" in stored_files()
        assert schema(event).is_valid(sample)
        for field in document(event, "")["required"]:
            assert not schema(event).is_valid({key: value for key, value in sample.items() if key != field})


def test_what_is_stored_fits_its_schema(events: list[Event]) -> None:
    for event in events:
        schema(type(event)).validate(json.loads(canonical_json(event)))


BOT_GAMES = {str(game): messages for game, messages in bot_games().items()}


def test_every_public_message_fits_the_schema_of_its_type(game: str, decider: Decider[Any], plays: Any) -> None:
    told = (*leaves(BOT_GAMES[game].message), wire.ProgressMessage)
    kinds = {document(kind, "")["properties"]["type"]["enum"][0]: schema(kind) for kind in told}
    play = plays(game).to_the_end()
    for viewer in (PUBLIC, *map(Viewer, decider.participants(play.state))):
        for version, (event, at, state) in enumerate(play.log, 1):
            said = json.loads(message(decider, f"{game}-1", version, rfc3339(at), event, viewer, state))
            kinds[said["type"]].validate(said)
            assert not kinds[said["type"]].is_valid({key: said[key] for key in said if key != "version"})


def test_an_event_with_nothing_to_tell_fits_too(game: str, decider: Decider[Any], plays: Any) -> None:
    event, at, _ = plays(game).log[0]

    class Silent:
        game = "ox"

        def public(self, *_: object) -> None:
            return None

    schema(wire.ProgressMessage).validate(json.loads(message(Silent(), "ox-1", 1, rfc3339(at), None, event, PUBLIC)))  # type: ignore[arg-type]


def test_every_view_fits_its_schema(game: str, decider: Decider[Any], plays: Any) -> None:
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
