"""`make pictures`: one picture of each game for the README, light and dark, drawn by the product from real games.

House bots, scripted characters and scripted models play every game to its end on a new platform.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final, get_args

import httpx
from playmolt.bots import run_house_bots
from playmolt_cli.local.stack import Stack
from playmolt_gateway.pictures.png import Theme, style

from tests.browser.players import experiment
from tests.integration.jury.person import Overseer
from tests.integration.legal.person import LEASE

OUT: Final = Path(__file__).parents[2] / "docs/pictures"
OPERATOR_KEY: Final = "the-operator-of-the-pictures"
OPERATOR: Final = {"Authorization": f"Bearer {OPERATOR_KEY}"}
PLAN: Final[dict[str, Any]] = {
    "name": "Two models in one town", "seed": "1", "models": ["scripted-social", "scripted-trader"],
    "languages": ["en"], "phases": {"phase1": {"runs": 1, "turns": 6}}, "exploratory": True,
}  # fmt: skip
BREAKS_THE_STUDENT: Final = (
    {"evidence_id": "E8"}, {"choice": "was_it_you"}, {"choice": "dinner"}, {"choice": "and_then"},
    {"evidence_id": "E2"},
)  # fmt: skip
WAIT_SECONDS: Final = 120


async def watched(gateway: str, client: httpx.AsyncClient) -> dict[str, str]:
    """The addresses of a trial, an O/X game and a run. The O/X game is shown at its last reveal, which decides it."""
    trial, ox = await asyncio.gather(run_house_bots(gateway, "trial", 6), run_house_bots(gateway, "ox", 5))
    events = (await client.get(f"/api/games/{ox[0].game_id}/events?limit=500")).json()["events"]
    result = [event["version"] for event in events if event["type"] == "round_result"][-1]
    return {"trial": f"/watch/{trial[0].game_id}", "ox": f"/watch/{ox[0].game_id}@{result}"}


async def agora(client: httpx.AsyncClient) -> dict[str, str]:
    path = f"/api/agora/experiments/{await asyncio.to_thread(experiment, str(client.base_url), OPERATOR_KEY, PLAN)}"
    async with asyncio.timeout(WAIT_SECONDS):
        while (await client.get(path, headers=OPERATOR)).json()["status"] != "finished":
            await asyncio.sleep(0.5)
    return {"agora": f"/watch/{(await client.get('/api/agora/runs?limit=1')).json()['runs'][0]['game_id']}"}


async def jury(gateway: str) -> dict[str, str]:
    async with Overseer(gateway) as overseer:
        await overseer.open("en")
        await overseer.to("investigation")
        for step in BREAKS_THE_STUDENT:
            await overseer.did("witnesses/lin_xia/talk", step)
        await overseer.to("persuasion")
        await overseer.chat("philosopher", "Nobody can say who opened the valve. Procedure must protect the accused.")
        await overseer.to("vote")
        await overseer.votes()
        return {"jury": await shared(overseer.client, overseer.path(), overseer.headers)}


async def legal(client: httpx.AsyncClient) -> dict[str, str]:
    key = (await client.post("/api/agents", json={"name": "counsel"})).json()["api_key"]
    headers = {"Authorization": f"Bearer {key}"}
    case = {"case_type": "civil", "jurisdiction": "Korea", "title": "Return of a deposit", "language": "en"}
    path = f"/api/sessions/{(await client.post('/api/sessions', json=case, headers=headers)).json()['id']}"
    await client.post(f"{path}/facts", json=LEASE, headers=headers)
    async with asyncio.timeout(WAIT_SECONDS):
        while (session := (await client.get(path, headers=headers)).json())["phase"] != "FINALIZE_DONE":
            if session["gate"]:
                await client.post(f"{path}/steering", json=form(session["gate"]), headers=headers)
            await asyncio.sleep(0.2)
    return {"legal": await shared(client, path, headers)}


def form(gate: dict[str, Any]) -> dict[str, Any]:
    chosen: dict[str, dict[str, Any]] = {
        "facts": {"choice": "proceed_unclear"},
        "round1": {"focus_issues": gate["issues"][:1], "goal": "early_settlement", "stance": "flexible"},
        "round2": {
            "proof_priority": "the handover", "evidence_level": "moderate", "obtainable_evidence": ["handover record"],
            "constraints": ["budget_cap"], "settlement_interest": True, "concession_range": "half",
        },
        "end": {"resolution": "final_report", "report_style": "settlement"},
    }  # fmt: skip
    answers = {item["id"]: "none" for item in gate["missing_evidence"]}
    return {"gate": gate["name"], "missing_evidence_answers": answers, **chosen[gate["name"]]}


async def shared(client: httpx.AsyncClient, path: str, headers: dict[str, str]) -> str:
    return httpx.URL((await client.post(f"{path}/share", json={}, headers=headers)).json()["url"]).path


async def drawn(client: httpx.AsyncClient, name: str, address: str) -> None:
    page, _, moment = address.partition("@")
    answer = await client.get(f"{page}/picture.svg", params={"v": moment} if moment else {})
    answer.raise_for_status()
    head, _, rest = answer.text.partition(">")
    for theme in get_args(Theme):
        (OUT / f"{name}-{theme}.svg").write_text(f"{head}><style>{style(theme)}</style>{rest}\n", encoding="utf-8")


async def draw_all(gateway: str) -> None:
    async with httpx.AsyncClient(base_url=gateway, timeout=60) as client:
        found = await asyncio.gather(watched(gateway, client), agora(client), jury(gateway), legal(client))
        for games in found:
            for name, address in games.items():
                await drawn(client, name, address)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="playmolt-pictures-"))
    folder.chmod(0o755)  # Postgres runs as another user
    own = {"DATABASE_URL": "", "NATS_URL": "", "EVM_RPC_URL": "", "PLAYMOLT_OPERATOR_KEY": OPERATOR_KEY}
    OUT.mkdir(exist_ok=True)
    with Stack(folder / "data", (), own) as stack:
        asyncio.run(draw_all(stack.run.gateway))
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
