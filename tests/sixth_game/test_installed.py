"""The platform with the game installed: it is in every list, and no line outside its folder names it."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import yaml
from playmolt_core.engine.messages import message
from playmolt_core.game.decider import PUBLIC, Accepted, Act, Command, Create, Join
from playmolt_core.game.fold import state_hash
from playmolt_core.log.chain import chain_record
from playmolt_core.log.memory import MemoryLog
from playmolt_core.log.port import StreamAppend, Unit
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.identifiers import rfc3339
from playmolt_schemas.records import ZERO_HASH, Metadata
from sealed_bid.rules import Auction

from tests.deploy.manifests import K8S, kubectl, name_of
from tests.deploy.test_schemas import OLDEST, fault
from tests.sixth_game.conftest import HERE, RunPython

ROOT = HERE.parents[1]
GAME = "auction-0190c3f8-1111-7222-8333-444455556666"


def asked(run_python: RunPython, program: str) -> Any:
    return json.loads(run_python("-c", f"import json\n{program}"))


def test_every_list_of_types_names_it(run_python: RunPython) -> None:
    program = (
        "from playmolt_schemas.identifiers import ENGINES, GAME_TYPES\n"
        "from playmolt_core.log.archive import TYPES\n"
        "from playmolt_cli.games import deciders\n"
        "from playmolt_cli.local.embedded.nats import SERVICES\n"
        "from playmolt_cli.local.services import _MODULES\n"
        "from playmolt.bots import policies\n"
        "print(json.dumps([GAME_TYPES, ENGINES['auction-house'], TYPES, [*deciders()], SERVICES,"
        " _MODULES['auction-house'], policies()['auction']]))"
    )
    types, served, archived, rules, services, module, policies = asked(run_python, program)
    assert types == ["trial", "ox", "auction"]
    assert (served, module) == (["auction"], "sealed_bid")
    assert "auction" in archived
    assert "auction" in rules
    assert "auction-house" in services
    assert policies == ["careful", "bold", "mixed"]


def test_the_api_takes_and_describes_it(run_python: RunPython) -> None:
    program = (
        "import msgspec\n"
        "from playmolt_schemas.api import JoinRequest\n"
        "from playmolt_gateway.routes.documents import openapi_bytes\n"
        'msgspec.json.decode(b\'{"gameType":"auction"}\', type=JoinRequest)\n'
        "print(json.dumps([*msgspec.json.decode(openapi_bytes())['components']['schemas']]))"
    )
    assert {"AuctionState", "BidMadeMessage", "Bid"} <= set(asked(run_python, program))


def test_its_guide_and_its_drawing_are_sent(run_python: RunPython) -> None:
    program = (
        "from playmolt_gateway.pages.assets import assets\nfrom playmolt_gateway.routes import documents\n"
        "from playmolt_schemas.registry import games\n"
        "from playmolt_schemas.skill import Addresses, guide\n"
        "files = assets()\n"
        "texts = json.loads(files['watch/page.ko.json'].plain)\n"
        "further = documents._further_guides(documents.text_of('llms.txt'))\n"
        "print(json.dumps([guide(games()['auction'], 'ko', Addresses()), further,"
        " files['games/auction/watch.js'].kind, files['games.js'].plain.decode(), texts['game.auction'], texts['live'],"
        " texts['event.auction.game_started']]))"
    )
    guide, further, kind, module, title, live, begins = asked(run_python, program)
    assert guide.startswith("# The auction")
    assert "/skills/auction.md" in further
    assert kind.startswith("text/javascript")
    assert {"type": "auction", "kind": "game", "drawn": False} in json.loads(module.partition("GAMES = ")[2][:-2])
    assert (title, bool(live)) == ("경매", True)
    assert begins == "입찰이 시작됩니다: {participants.name}"


def test_the_drawing_says_the_same_in_every_language_and_loads_this_servers_files_alone() -> None:
    watch = HERE / "sealed_bid/watch"
    for kind in ("texts", "narration"):
        read = [json.loads((watch / f"{kind}.{language}.json").read_text()) for language in ("en", "ko", "zh")]
        holes = [{key: set(re.findall(r"{[\w.:]+}", text)) for key, text in texts.items()} for texts in read]
        assert holes[0] == holes[1] == holes[2]
    english = json.loads((watch / "texts.en.json").read_text())
    drawing = (HERE / "sealed_bid/watch/watch.js").read_text()
    assert set(re.findall(r't\("(auction\.[^"]+)"', drawing)) <= english.keys()
    assert all(way.startswith("../../") for way in re.findall(r'from "([^"]+)"', drawing))


class Played:
    """An auction in a log, as an engine seals it."""

    def __init__(self) -> None:
        self.log, self.rules = MemoryLog(), Auction()
        self.state: Any = self.rules.initial(GAME)
        self.version, self.hash, self.at = 0, ZERO_HASH, datetime(2026, 1, 1, tzinfo=UTC)

    async def send(self, command: Command) -> None:
        self.at += timedelta(seconds=1)
        decision = self.rules.decide(self.state, command, self.at)
        assert isinstance(decision, Accepted), decision
        expected, before = self.version, self.hash
        records = [self._sealed(event) for event in decision.events]
        summary = self.rules.summary(self.state)
        append = StreamAppend(stream=GAME, expected=expected, prev_hash=before, records=records, summary=summary)
        assert await self.log.append([Unit(streams=[append])]) != [None]

    def _sealed(self, event: Any) -> Any:
        self.version += 1
        self.state = self.rules.evolve(self.state, event, self.at)
        carries = self.rules.hashes_state(self.version, closes=event.closes)
        public = message(self.rules, GAME, self.version, rfc3339(self.at), event, PUBLIC)
        metadata = Metadata(command_id="0" * 32, state_hash=state_hash(self.state) if carries else "")
        content = canonical_json(event)
        record = chain_record(
            GAME, self.version, self.hash, self.at, event.type, event.schema_version, content, metadata,
            event.closes, public,
        )  # fmt: skip
        self.hash = record.hash
        return record

    async def to_the_end(self) -> bytes:
        await self.send(Create(seed="7", config={}))
        for number in range(3):
            await self.send(Join(agent_id=f"agent-{number}", name=f"Agent {number}"))
        for number in range(3):
            await self.send(Act(agent_id=f"agent-{number}", action={"type": "bid", "amount": 10 * number}))
        stored = await self.log.load(GAME)
        assert stored is not None
        return b"".join(msgspec.json.encode(record) + b"\n" for record in stored.records)


async def test_its_log_is_replayed_and_checked(run_python: RunPython, tmp_path: Path) -> None:
    file = tmp_path / "auction.jsonl"
    file.write_bytes(await Played().to_the_end())
    lines = run_python("-m", "playmolt_cli", "replay", GAME, "--log", str(file), "--language", "ko")
    assert "입찰이 시작됩니다: Agent 0, Agent 1, Agent 2\n" in lines
    assert "Agent 1 님이 입찰했습니다\n" in lines
    assert "Agent 2 님이 낙찰받아 10을(를) 냅니다\n" in lines
    assert "EXACT" in lines
    run_python("-m", "playmolt_cli", "log", "check", str(file))


def test_its_engine_is_deployed_by_the_generator(run_python: RunPython, tmp_path: Path) -> None:
    for target in ("dev", "prod"):
        folder = tmp_path / target
        run_python(
            "-m", "playmolt_cli", "deploy", "auction", str(folder), "--on", target, "--overlays", str(K8S / "overlays")
        )  # fmt: skip
        done = subprocess.run(
            [kubectl(), "kustomize", folder], capture_output=True, text=True, timeout=120, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        objects = list(yaml.load_all(done.stdout, Loader=yaml.CSafeLoader))
        assert "Deployment/auction-house" in {name_of(one) for one in objects}
        assert {name_of(one): fault(one, OLDEST) for one in objects if fault(one, OLDEST)} == {}
        assert '"auction-house"' in (folder / "users.conf").read_text()


def test_its_engine_starts_without_the_gateway(installed: Mapping[str, str], run_python: RunPython) -> None:
    program = "import sealed_bid.__main__, sys\nprint(json.dumps(sorted(sys.modules)))"
    modules = asked(run_python, program)
    assert not {"playmolt_gateway", "playmolt_ox", "playmolt"} & set(modules)
    assert "sealed_bid" not in os.environ.get("PYTHONPATH", "")


def test_the_gateway_imports_its_messages_and_not_its_engine(run_python: RunPython) -> None:
    modules = set(asked(run_python, "import playmolt_gateway.__main__, sys\nprint(json.dumps(sorted(sys.modules)))"))
    assert "sealed_bid.messages" in modules
    assert not {"sealed_bid.rules", "sealed_bid.engine", "sealed_bid.bots"} & modules


def test_no_line_outside_its_folder_names_it() -> None:
    command = [
        "git",
        "grep",
        "--untracked",
        "-liE",
        r"sealed[-_ ]?bid|\bauction",
        "--",
        ".",
        ":!tests/sixth_game",
        ":!spec",
    ]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert found.stderr == ""
    assert found.stdout.split() == []
