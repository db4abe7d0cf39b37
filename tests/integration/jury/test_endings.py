"""Every ending of the shipped case, played over HTTP by somebody who knows no more than what the calls answer."""

import asyncio
import json
from typing import Any, Literal

import pytest
from click.testing import CliRunner
from playmolt_cli.main import cli

from tests.integration.jury.person import SECRETS, Overseer
from tests.integration.jury.pleas import ACQUIT, CONVICT
from tests.platforms import Stack

Found = Literal["everything", "something", "nothing"]
STEPS_MOST = 120
SCRIPT = {"en": ("a", "z"), "ko": ("가", "힣"), "zh": ("\u4e00", "\u9fff")}


class Investigator:
    """Reads what is open; shows a witness what was not shown yet and says what was not said yet until it breaks."""

    def __init__(self, overseer: Overseer) -> None:
        self._overseer = overseer
        self._read: list[str] = []

    async def finds(self, found: Found) -> None:
        if found == "nothing":
            return
        await self._reads()
        for witness in (await self._overseer.has("witnesses"))["witnesses"]:
            await self._breaks(witness["id"])
            await self._reads()
            if found == "something":
                return

    async def _reads(self) -> None:
        for item in (await self._overseer.has("evidence"))["evidence"]:
            if not item["locked"] and item["id"] not in self._read:
                assert (await self._overseer.has(f"evidence/{item['id']}"))["text"]
                self._read.append(item["id"])

    async def _breaks(self, witness: str) -> None:
        rest, shown, said = f"witnesses/{witness}/talk", list(self._read), dict[str, int]()
        talk = await self._overseer.did(rest)
        for step in range(STEPS_MOST):
            if talk["cracked"]:
                return
            choices = sorted((each["id"] for each in talk["choices"]), key=lambda choice: said.get(choice, 0))
            if shown and (step % 2 or not choices):
                talk = await self._overseer.did(rest, {"evidence_id": shown.pop(0)})
            elif choices:
                said[choices[0]] = said.get(choices[0], 0) + 1
                talk = await self._overseer.did(rest, {"choice": choices[0]})
            else:
                talk = await self._overseer.did(rest, {"evidence_id": self._read[step % len(self._read)]})
        pytest.fail(f"{witness} does not break: {talk}")


async def argues(overseer: Overseer, verdict: str, language: str) -> None:
    jurors = ACQUIT[language]
    for juror, texts in jurors.items():
        for text in texts if verdict == "not_guilty" else CONVICT[language]:
            answer = await overseer.did(f"chat/{juror}", {"text": text})
            assert answer["repeats"] == 0
            assert _is_in(language, answer["reply"])


ENDINGS: dict[str, tuple[tuple[Found, str], ...]] = {
    "guilty": (("everything", "en"), ("something", "ko"), ("nothing", "zh")),
    "not_guilty": (("everything", "zh"), ("something", "en"), ("nothing", "ko")),
}
"""Every ending once, and every language with both verdicts. Beside the rules each ending is played in each language."""


@pytest.mark.parametrize("verdict", ENDINGS)
async def test_every_ending_is_reached_by_play(running: Stack, verdict: str) -> None:
    sessions = await asyncio.gather(*(_played(running, verdict, *how) for how in ENDINGS[verdict]))
    for session in sessions:
        assert (await _checked(running, session))["differences"] == []


async def _played(running: Stack, verdict: str, found: Found, language: str) -> str:
    async with Overseer(running.run.gateway) as overseer:
        await overseer.open(language)
        await overseer.to("investigation")
        await Investigator(overseer).finds(found)
        await overseer.to("persuasion")
        await argues(overseer, verdict, language)
        await overseer.to("vote")
        assert [secret for secret in SECRETS if secret in "".join(overseer.answers)] == []
        assert (await overseer.votes())["verdict"] == verdict, language
        ending = await overseer.has("ending")
        assert (ending["id"], ending["verdict"]) == (f"{verdict}_{found}", verdict), language
        assert _is_in(language, ending["text"])
        return overseer.session


def _is_in(language: str, text: str) -> bool:
    first, last = SCRIPT[language]
    return any(first <= char <= last for char in text)


async def _checked(running: Stack, session: str) -> dict[str, Any]:
    words = ["verify-verdict", session, "--json", "--data", str(running.folder.path)]
    checked = await asyncio.to_thread(CliRunner().invoke, cli, words, env={"DATABASE_URL": "", "EVM_RPC_URL": ""})
    assert checked.exit_code == 0, checked.output
    return dict(json.loads(checked.stdout))
