"""Aliases and what stands behind them."""

import subprocess
import sys

from playmolt_core.llm.catalogue import Catalogue
from playmolt_core.llm.limits import MemoryLimits
from playmolt_core.llm.models import Models
from playmolt_core.llm.port import Attempt, ChatMessage, ModelRequest, Reply
from playmolt_core.llm.scripted.model import Cast, Said

from core.tests.llm.fake_server import FakeServer


async def _forget(_: Attempt) -> None:
    return


async def test_an_alias_of_the_catalogue_is_asked_with_its_key() -> None:
    async with FakeServer() as server:
        catalogue = Catalogue({"local": server.entry("local", api_key_env="LOCAL_KEY")})
        models = Models(catalogue, MemoryLimits(), Cast(), environment={"LOCAL_KEY": "sk-1\n"})
        model = models.get("local")
        assert model is not None
        assert models.get("local") is model
        answer = await model.ask(ModelRequest(alias="local", messages=(ChatMessage("user", "q"),)), _forget)
        assert isinstance(answer, Reply)
        assert answer.text == "hello"
        assert server.received[0].headers["authorization"] == "Bearer sk-1"
        await models.close()


def test_scripted_is_always_there_and_other_characters_when_they_were_cast() -> None:
    cast = Cast()
    cast.add(lambda _: Said("caw"), alias="scripted-crow")
    models = Models(Catalogue(), MemoryLimits(), cast, environment={})
    assert models.get("scripted") is models.get("scripted-crow") is not None
    assert models.get("scripted-owl") is None
    assert models.get("gpt") is None


def test_a_service_that_only_plays_scripted_models_never_loads_the_client() -> None:
    program = (
        "import sys; import playmolt_core.llm.models, playmolt_core.llm.conversation;"
        "sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
