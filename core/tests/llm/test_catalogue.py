"""The operator's file of models, read whole or refused with every fault."""

from decimal import Decimal
from pathlib import Path

import pytest
from playmolt_core.llm.catalogue import InvalidCatalogue, ModelEntry, load
from playmolt_core.llm.port import Usage
from playmolt_schemas.identifiers import is_scripted


def written(folder: Path, text: str) -> str:
    file = folder / "models.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_without_a_file_there_is_the_scripted_model() -> None:
    assert load("").aliases == ("scripted",)


def test_a_whole_entry(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        [models.gpt-mini]
        base_url = "https://models.example/v1"
        model = "mini-2026"
        api_key_env = "MINI_KEY"
        input_price = 0.15
        output_price = 1
        decoding = "json_schema"
        reply_tokens = 1500
        text_chars = 400
        concurrent = 8
        requests_per_minute = 500
        tokens_per_minute = 200_000
        timeout_s = 2.5
        [models.local]
        base_url = "http://127.0.0.1:11434/v1"
        model = "llama3.2"
        """,
    )
    catalogue = load(path, {"MINI_KEY": "k"})
    assert catalogue.aliases == ("scripted", "gpt-mini", "local")
    assert catalogue.models["gpt-mini"] == ModelEntry(
        alias="gpt-mini",
        base_url="https://models.example/v1",
        model="mini-2026",
        api_key_env="MINI_KEY",
        input_price=Decimal("0.15"),
        output_price=Decimal(1),
        decoding="json_schema",
        reply_tokens=1500,
        text_chars=400,
        concurrent=8,
        requests_per_minute=500,
        tokens_per_minute=200_000,
        timeout_s=Decimal("2.5"),
    )
    assert not catalogue.models["local"].priced


def test_every_fault_is_reported_at_once(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        modles = 1
        [models.a]
        base_url = "localhost:1"
        modell = "x"
        input_price = -1
        output_price = nan
        decoding = "xml"
        reply_tokens = 0
        text_chars = 0
        concurrent = 0
        requests_per_minute = "many"
        timeout_s = 0
        api_key_env = "sk-this is the key itself"
        [models.scripted]
        base_url = "http://a/v1"
        model = "x"
        [models."a b"]
        base_url = "http://a:99999/v1"
        model = ""
        api_key_env = "NOT_THERE"
        """,
    )
    with pytest.raises(InvalidCatalogue) as refused:
        load(path, {})
    faults = [line.removeprefix(f"{path}: ").split(":")[0] for line in str(refused.value).splitlines()]
    in_a = (
        "base_url modell model input_price output_price decoding reply_tokens text_chars concurrent "
        "requests_per_minute timeout_s api_key_env"
    )
    in_a_b = [f"models.a b{name}" for name in ("", ".base_url", ".model", ".api_key_env")]
    assert sorted(faults) == sorted(
        ["modles", *(f"models.a.{name}" for name in in_a.split()), "models.scripted", *in_a_b]
    )
    assert "sk-this" not in str(refused.value)


def test_keys_are_looked_for_only_where_models_are_asked(tmp_path: Path) -> None:
    path = written(tmp_path, '[models.a]\nbase_url="http://a/v1"\nmodel="m"\napi_key_env="NOT_THERE"')
    assert "a" in load(path).models
    with pytest.raises(InvalidCatalogue, match="NOT_THERE is not set"):
        load(path, {"NOT_THERE": ""})


@pytest.mark.parametrize(
    "text",
    [
        "[models", "models = 1", "[models]\na = 1",
        pytest.param(f"n = {'1' * 5000}", id="more digits than Python reads"),
        pytest.param(f"n = {'[' * 5000}", id="nested too deeply"),
    ],
)  # fmt: skip
def test_what_is_not_a_catalogue_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(InvalidCatalogue, match=r"models\.toml"):
        load(written(tmp_path, text))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidCatalogue, match=r"PLAYMOLT_MODELS=.*missing"):
        load(str(tmp_path / "missing"))
    (tmp_path / "b").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidCatalogue, match="invalid TOML"):
        load(str(tmp_path / "b"))


@pytest.mark.parametrize(
    ("alias", "is_one"), [("scripted", True), ("scripted-hawk", True), ("scripted2", False), ("scripted-a b", False)]
)
def test_scripted_aliases(alias: str, is_one: bool) -> None:
    assert is_scripted(alias) == is_one


@pytest.mark.parametrize(
    ("prices", "usage", "cost"),
    [
        (("0.15", "0.60"), Usage(1000, 500), "0.00045"),
        (("3", "15"), Usage(1_000_000, 2_000_000), "33"),
        (("0", "0"), Usage(5, 5), "0"),
        (("0.0000001", "0"), Usage(1, 0), "0.0000000000001"),
        (("1", None), Usage(1, 1), None),
        (("1", "1"), None, None),
    ],
)
def test_a_cost_is_exact_or_unknown(prices: tuple[str, str | None], usage: Usage | None, cost: str | None) -> None:
    given, taken = (None if price is None else Decimal(price) for price in prices)
    entry = ModelEntry(base_url="http://a/v1", model="m", input_price=given, output_price=taken)
    assert entry.cost(usage) == cost
