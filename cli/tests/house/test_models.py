"""The house's models: who takes the next seat, and what a day's budget ends."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from playmolt.loop import Forfeit, Turn
from playmolt_cli.house.budget import ACCOUNT, DailyLedger, InvalidBudget
from playmolt_cli.house.models import HouseModels, UnknownAlias
from playmolt_cli.match.table import GameTable, TableSeat, TableTurn
from playmolt_cli.model_seats.requests import cast
from playmolt_core.db.ledger import Account, Amount, LedgerEntry
from playmolt_core.llm.catalogue import Catalogue, ModelEntry
from playmolt_core.llm.file_ledger import FileLedger
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_ox.rules import Ox

from core.tests.clock import Clock
from core.tests.llm.fake_server import FakeServer, reply, status


def house(folder: Path, aliases: list[str], catalogue: Catalogue = Catalogue(), **limits: Any) -> HouseModels:  # noqa: B008 -- frozen
    account = Account(name=ACCOUNT, **limits)
    return HouseModels(aliases, catalogue, Models(catalogue, MemoryLimits(), cast()), folder, account)


def first_turn() -> Turn:
    rules = Ox()
    seats = [TableSeat(f"agent-{number}", f"a{number}") for number in range(5)]
    table = GameTable(rules, rules.initial("ox-1"), seats)
    table.open("1")
    asked: TableTurn = next(table.play())
    return Turn(asked.game_id, "ox", asked.state, asked.actions)


def test_an_alias_that_is_not_in_the_catalogue_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownAlias, match='"locl"'):
        house(tmp_path, ["scripted", "locl"])


async def test_a_model_acts_and_its_call_is_kept_with_its_prompt(tmp_path: Path) -> None:
    models = house(tmp_path, ["scripted"])
    assert models.next_alias() == "scripted"
    action = await models.bot("scripted", "house scripted")(first_turn())
    assert not isinstance(action, Forfeit)
    assert action["type"] == "first_choice"
    await models.close()
    begun, ended = (tmp_path / "ox-1.calls.jsonl").read_text("utf-8").splitlines()
    assert '"turn":"1:8"' in begun
    assert '"outcome":"ok"' in ended
    assert len(list((tmp_path / "prompts").iterdir())) == 1


async def test_a_spent_budget_ends_the_days_seats_of_models(tmp_path: Path) -> None:
    models = house(tmp_path, ["scripted"], calls=1)
    turn = first_turn()
    await models.bot("scripted", "one")(turn)
    assert models.next_alias() is None
    assert await models.bot("scripted", "two")(turn) == Forfeit("model_unavailable", "provider")
    await models.close()


async def test_a_days_budget_is_not_new_after_a_restart(tmp_path: Path) -> None:
    """Seen: a house that was started anew had all of its day's budget again."""
    models = house(tmp_path, ["scripted"], calls=1)
    await models.bot("scripted", "one")(first_turn())
    await models.close()
    assert house(tmp_path, ["scripted"], calls=1).next_alias() is None
    assert house(tmp_path, ["scripted"], calls=2).next_alias() == "scripted"


async def test_a_call_that_a_kill_cut_off_stays_counted_at_its_worst(tmp_path: Path) -> None:
    account, file = Account(name=ACCOUNT, money=Decimal(3)), tmp_path / "day.jsonl"
    two, one = LedgerEntry(account, Amount(Decimal(2), 10, 1)), LedgerEntry(account, Amount(Decimal(1), 10, 1))
    assert await FileLedger(ACCOUNT, file).reserve([two]) is None
    killed = FileLedger(ACCOUNT, file)
    assert killed.of(ACCOUNT) == Amount(Decimal(2), 10, 1)
    assert await killed.reserve([two]) is not None
    assert await killed.reserve([one]) is None
    await killed.settle([LedgerEntry(account, Amount(Decimal("-0.75"), -6))])
    assert FileLedger(ACCOUNT, file).of(ACCOUNT) == Amount(Decimal("2.25"), 14, 2)


def test_what_was_spent_on_a_day_before_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "2020-01-01.jsonl").write_text('{"money": "9", "tokens": 9, "calls": 9}\n', "utf-8")
    assert DailyLedger(tmp_path).today.of(ACCOUNT) == Amount()
    assert [file.stem for file in tmp_path.glob("2020*")] == []


@pytest.mark.parametrize(
    ("seconds_left", "sent", "what"),
    [(20.0, 1, "model_unavailable"), (40.0, 2, "model_unavailable"), (0.0, 0, "timeout")],
)
async def test_a_model_that_is_limited_for_good_is_not_asked_beyond_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds_left: float, sent: int, what: str
) -> None:
    """Seen: a provider that answered 429 to everything was asked on for minutes after the phase had passed."""
    clock = Clock()
    monkeypatch.setattr("playmolt_core.llm.openai.model.OpenAIModel.__init__.__kwdefaults__", {
        "sleep": clock.sleep, "clock": clock,
    })  # fmt: skip
    async with FakeServer() as server:
        server.otherwise = status(429, retry_after="30")
        catalogue = Catalogue({"busy": replace(server.entry(), alias="busy")})
        models = Models(catalogue, MemoryLimits(clock=clock), cast())
        seats = HouseModels(["busy"], catalogue, models, tmp_path, Account(name=ACCOUNT))
        turn = first_turn()
        timed = replace(turn, state={**turn.state, "seconds_left": seconds_left})
        answer = await seats.bot("busy", "house busy")(timed)
        await seats.close()
    assert isinstance(answer, Forfeit)
    assert (answer.what, len(server.received)) == (what, sent)


async def test_a_rejected_reply_is_not_repaired_after_the_deadline(tmp_path: Path) -> None:
    async with FakeServer(reply("no action", delay=0.3)) as server:
        server.otherwise = reply("no action")
        catalogue = Catalogue({"slow": replace(server.entry(), alias="slow")})
        seats = house(tmp_path, ["slow"], catalogue)
        turn = first_turn()
        timed = replace(turn, state={**turn.state, "seconds_left": 0.2})
        assert await seats.bot("slow", "house slow")(timed) == Forfeit("timeout", "bot")
        await seats.close()
    assert len(server.received) == 1


def test_a_model_without_a_price_is_refused_under_a_limit_of_money(tmp_path: Path) -> None:
    """Seen: its calls counted as free, so that the limit was never reached."""
    catalogue = Catalogue({"paid": ModelEntry(base_url="http://127.0.0.1:1/v1", model="m", alias="paid")})
    house(tmp_path, ["paid"], catalogue, tokens=5)
    with pytest.raises(InvalidBudget, match="paid has no prices"):
        house(tmp_path, ["paid"], catalogue, money=Decimal(3))
