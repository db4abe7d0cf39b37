"""How `agora judge` begins a judge and waits for it, against a platform that is played by canned answers."""

from collections.abc import Callable
from typing import Any

import httpx
import msgspec
import pytest
from click.testing import CliRunner
from playmolt_cli.agora import judge as agora_judge
from playmolt_cli.agora.commands import agora
from playmolt_cli.agora.experiments_client import ExperimentsClient
from playmolt_schemas.agora.coding import Codings, JudgeRequest, JudgeRow
from playmolt_schemas.stored.agora.experiment import JudgeBudget
from playmolt_schemas.stored.agora.plan import Spent
from rich.console import Console

ID = "experiment-00000000-0000-5000-8000-000000000000"
REQUEST = JudgeRequest(model="paid", budget=JudgeBudget(calls=9))


def line(status: Any = "running", judge: str = "paid", **changes: Any) -> JudgeRow:
    values: dict[str, Any] = {"model": "mini", "turns": "sample", "detail": "", "coded": 3, "failed": 1}
    spent = Spent(calls=5, known="0.25", unknown_calls=1, cost=None)
    return JudgeRow(judge=judge, status=status, budget=JudgeBudget(), spent=spent, **(values | changes))


class Platform:
    """Says how the judge stands, one after another, the last for ever, and keeps what was posted."""

    def __init__(self, *lines: JudgeRow) -> None:
        self.lines = list(lines)
        self.posted: list[tuple[str, Any]] = []
        self.before: Callable[[], None] = lambda: None

    def __call__(self, request: httpx.Request) -> httpx.Response:
        path = request.url.path.removeprefix(f"/api/agora/experiments/{ID}")
        if request.method == "POST":
            self.posted.append((path, msgspec.json.decode(request.content)))
        else:
            self.before()
        now = self.lines.pop(0) if len(self.lines) > 1 else self.lines[0]
        return httpx.Response(200, content=msgspec.json.encode(Codings(judges=(line("done", "other"), now))))


def run_judge(platform: Platform) -> JudgeRow:
    with ExperimentsClient("http://127.0.0.1:1", "key", transport=httpx.MockTransport(platform)) as client:
        return agora_judge.run_judge(client, ID, REQUEST, Console(), poll=0)


def test_a_judge_is_followed_until_it_stands_still() -> None:
    platform = Platform(line(), line(), line("budget", detail="raise it"))
    assert run_judge(platform).status == "budget"
    asked = {"model": "paid", "turns": "sample", "budget": {"money": None, "calls": 9}, "batch": False}
    assert platform.posted == [("/judge", asked)]


def test_ctrl_c_stops_it() -> None:
    platform = Platform(line())

    def interrupt() -> None:
        raise KeyboardInterrupt

    platform.before = interrupt
    with pytest.raises(KeyboardInterrupt):
        run_judge(platform)
    assert platform.posted[-1] == ("/judge/stop", {"model": "paid"})


def test_what_it_came_to() -> None:
    assert agora_judge.summary(ID, line("done")) == {
        "experiment": ID, "judge": "paid", "coded": 3, "failed": 1, "calls": 5, "known": "0.25", "unknown_calls": 1,
    }  # fmt: skip
    assert agora_judge.status_text(line("away", detail="503")) == (
        "paid away: 503; 3 coded, 1 without labels, 5 calls, cost ≥ 0.25, 1 call unknown"
    )


@pytest.mark.parametrize(
    "arguments",
    [[], ["--in", __file__], ["--coder", "kim"], ["--out", "s.csv", "--in", __file__, "--coder", "kim"],
     ["--in", __file__, "--coder", "Kim"], ["--in", "nowhere.csv", "--coder", "kim"]],
)  # fmt: skip
def test_a_sheet_is_either_written_or_taken_of_a_named_coder(arguments: list[str]) -> None:
    assert CliRunner().invoke(agora, ["sheet", ID, *arguments]).exit_code == 2
