"""What the operator hides leaves SPECTATE: the message is deleted, its sequence stays empty, and the relay goes on."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from playmolt_core.bus.jetstream import JetStream, open_jetstream
from playmolt_core.db.accounts import NewAgent, PgAccounts
from playmolt_core.db.moderation import Decision, PgModeration
from playmolt_core.db.pool import Pool, open_pool
from playmolt_core.log.moderation import decide
from playmolt_core.log.postgres import PostgresLog
from playmolt_core.log.withholding import WithheldReader
from playmolt_core.relay.feeds import PublicForms, rules_of
from playmolt_core.relay.relay import Relay
from playmolt_core.relay.withdrawal import PgPlaces, Withdrawal
from playmolt_core.settings import Settings
from playmolt_schemas.canonical import canonical_json
from playmolt_schemas.stored.seats import AgentJoined
from playmolt_schemas.stored.trial import Spoke
from playmolt_schemas.subjects import EVENTS_STREAM, SPECTATE_STREAM
from playmolt_schemas.text import WITHHELD

from core.tests.log.log_contract import Game, unit

ADA = "agent-00000000-0000-4000-8000-000000000001"
GAME = "trial-00000000-0000-4000-8000-000000000001"


class Scene:
    """A log with a trial in which Ada joins and speaks three times, and the relay that copies it."""

    def __init__(self, pool: Pool, bus: JetStream) -> None:
        self.pool, self.bus, self.log = pool, bus, PostgresLog(pool)
        self.withholding = WithheldReader(PgModeration(pool))
        self.relay = self.new_relay()

    def new_relay(self) -> Relay:
        withholding = self.withholding = WithheldReader(PgModeration(self.pool))
        form_of = PublicForms(rules_of, withholding.withheld).of
        withdrawal = Withdrawal(self.log, PgPlaces(self.pool), self.bus, withholding, form_of)
        return Relay(
            self.log, self.bus, 1_000, form_of=form_of, prepare=withdrawal.prepare,
            renames=lambda: withholding.withheld.revision > 0,
        )  # fmt: skip

    async def play(self) -> None:
        await PgAccounts(self.pool).create_agent(ADA, NewAgent("Ada the Rude"), "00" * 32)
        game = Game(GAME)
        joined = AgentJoined(agent_id=ADA, name="Ada the Rude", handle="ada-the-rude-000001")
        spoken = [
            Spoke(agent_id=ADA, name="Ada the Rude", role="DEFENSE", text=text, phase="opening", round=1)
            for text in ("one", "two", "three")
        ]
        for event in (joined, *spoken):
            await self.log.append([unit(game.adds(1, kind=event.type, data=canonical_json(event)))])
        await self.copy()

    async def copy(self) -> None:
        while await self.relay.step():
            pass

    async def decides(self, kind: Any, field: Any, **target: Any) -> None:
        await decide(self.pool, Decision(kind=kind, field=field, at=datetime.now(UTC), **target))
        await self.copy()

    async def held(self) -> list[dict[str, Any] | None]:
        """The messages of SPECTATE by sequence; None where the sequence is empty."""
        state = await self.bus.state(SPECTATE_STREAM)
        assert state is not None
        found = [await self.bus.held(SPECTATE_STREAM, sequence) for sequence in range(1, state.last + 1)]
        return [None if one is None else msgspec.json.decode(one.message.body) for one in found]


@pytest.fixture
async def scene(database_url: str, nats_url: str) -> AsyncIterator[Scene]:
    pool = await open_pool(database_url, size=8)
    bus = await open_jetstream(Settings(nats_url=nats_url, stream_storage="file"), "relay")
    scene = Scene(pool, bus)
    await scene.play()
    yield scene
    await bus.close()
    await pool.close()


def texts(held: list[dict[str, Any] | None]) -> list[str | None]:
    return [None if one is None else one.get("text", one["type"]) for one in held]


async def test_the_message_of_a_hidden_speech_is_deleted_and_no_other(scene: Scene) -> None:
    await scene.decides("hide", "speech", game_id=GAME, version=3)
    held = await scene.held()
    assert texts(held) == ["agent_joined", "one", None, "three", "moderated"]
    notice = held[-1]
    assert notice is not None
    assert (notice["game_id"], notice["versions"], notice["version"]) == (GAME, [3], 1)
    event = await scene.bus.held(EVENTS_STREAM, 3)
    assert event is not None
    assert b'"two"' in event.message.body, "services keep what was said"


async def test_a_stream_that_is_filled_again_has_the_withheld_form(scene: Scene) -> None:
    await scene.decides("hide", "speech", game_id=GAME, version=3)
    await scene.bus.drop(SPECTATE_STREAM)
    scene.relay = scene.new_relay()
    await scene.copy()
    assert texts(await scene.held()) == ["agent_joined", "one", WITHHELD, "three", "moderated"]


async def test_what_is_restored_is_asked_of_the_engine_after_a_refill(scene: Scene) -> None:
    await scene.decides("hide", "speech", game_id=GAME, version=3)
    await scene.bus.drop(SPECTATE_STREAM)
    scene.relay = scene.new_relay()
    await scene.copy()
    await scene.decides("restore", "speech", game_id=GAME, version=3)
    assert texts(await scene.held()) == ["agent_joined", "one", None, "three", "moderated", "moderated"]


async def test_the_newest_message_may_be_the_hidden_one_when_a_relay_begins(scene: Scene) -> None:
    await decide(scene.pool, Decision(kind="hide", field="speech", game_id=GAME, version=4, at=datetime.now(UTC)))
    state = await scene.bus.state(SPECTATE_STREAM)
    assert state is not None
    await scene.bus.withdraw(SPECTATE_STREAM, state.last)
    scene.relay = scene.new_relay()
    await scene.copy()
    assert texts(await scene.held()) == ["agent_joined", "one", "two", None, "moderated"]
    await scene.bus.withdraw(SPECTATE_STREAM, state.last)


async def test_messages_with_a_replaced_name_are_deleted(scene: Scene) -> None:
    await scene.decides("rename", "name", agent_id=ADA)
    held = await scene.held()
    assert texts(held) == [None, None, None, None, "moderated"]
    assert held[-1] == {"type": "moderated", "agent_id": ADA} | {
        name: held[-1][name]
        for name in ("version", "at")  # type: ignore[index]
    }
    scene.relay = scene.new_relay()
    await scene.withholding.refresh()
    await scene.copy()
    assert "Rude" not in repr(await scene.held())


async def test_a_ban_changes_nothing_that_is_shown(scene: Scene) -> None:
    await decide(scene.pool, Decision(kind="ban", field="agent", agent_id=ADA, at=datetime.now(UTC)))
    await scene.copy()
    state = await scene.bus.state(SPECTATE_STREAM)
    assert state is not None
    sealed = await scene.bus.held(SPECTATE_STREAM, state.last)
    assert sealed is not None
    assert (sealed.message.subject.partition(".")[0], sealed.message.body) == ("sealed", b"")
