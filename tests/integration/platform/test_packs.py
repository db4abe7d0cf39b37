"""Packs of an installation: given to `up`, named when a game is opened, played to the end."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from click.testing import CliRunner
from playmolt.bots.house import seats
from playmolt.client import AsyncClient
from playmolt.errors import Refused
from playmolt_cli.content import pack_play
from playmolt_cli.content import packs as template
from playmolt_cli.content.packs import KINDS
from playmolt_cli.local.stack import NotReadyError
from playmolt_cli.main import cli
from playmolt_core.game.packs import entries
from playmolt_core.game.packs.folder import folder_files

from tests.integration.conftest import StackFactory
from tests.platforms import Stack


async def test_games_are_drawn_from_the_packs_of_up(stack: StackFactory, tmp_path: Path) -> None:
    games: tuple[Literal["trial", "ox"], ...] = ("trial", "ox")
    for game in games:
        template.write(tmp_path / game, game, ("en", "zh"))
    running = stack("--pack", str(tmp_path / "ox"), PLAYMOLT_PACKS=str(tmp_path / "trial"))
    for game in games:
        async with AsyncClient(running.run.gateway) as client:
            await client.register("author")
            for wrong, field in (({"pack": "none"}, "pack"), ({"pack": f"my-{game}", "language": "ko"}, "language")):
                with pytest.raises(Refused) as refused:
                    await client.open_game(game, **wrong)  # type: ignore[arg-type]
                assert [error.field for error in refused.value.problem.errors] == [field]
            opened = await client.open_game(game, fill="house", fill_after_seconds=0, pack=f"my-{game}")
            (bot,) = seats(game, 1)
            result = await client.play(bot, game, game_id=opened.game_id)
            assert result.phase == "end"
            told = json.dumps(result.state, ensure_ascii=False)
            assert ("The unpaid ferry" if game == "trial" else "A promise made to a machine") in told
            first = json.loads(bytes((await client.log(opened.game_id))[0].data))
            pack = entries.read(folder_files(tmp_path / game)[0], KINDS[game])
            assert (first["config"]["pack"], first["config"]["pack_digest"]) == (pack.id, pack.digest)


def test_up_does_not_start_with_a_faulty_pack(stack: StackFactory, tmp_path: Path) -> None:
    template.write(tmp_path / "ox", "ox", ("en",))
    (tmp_path / "ox" / "questions.json").write_text("[]")
    with pytest.raises(NotReadyError, match=r"questions\.json:1: out_of_bounds"):
        stack("--pack", str(tmp_path / "ox"))


@pytest.mark.parametrize("game", ["trial", "ox"])
def test_house_bots_play_a_pack_through(
    tmp_path: Path, game: Literal["trial", "ox"], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack_play, "Stack", Stack)
    template.write(tmp_path / game, game, ("en",))
    words: tuple[Any, ...] = ("content", "play", str(tmp_path / game))
    assert CliRunner().invoke(cli, words).exit_code != 0
    played = CliRunner().invoke(cli, [*words, "--auto", "--json"])
    assert played.exit_code == 0, played.output
    assert json.loads(played.stdout.splitlines()[-1])["phase"] == "end"
