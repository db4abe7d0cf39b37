"""The operator's models: the TOML file in PLAYMOLT_MODELS, fully validated."""

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec
from playmolt_schemas.identifiers import ALIAS, SCRIPTED, is_scripted
from playmolt_schemas.text import decimal_text

from playmolt_core.llm.limits import Allowance
from playmolt_core.llm.port import Decoding, Usage

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MILLION = Decimal(1_000_000)
_MOST = 1_000_000_000
_PRICES: Final = (
    "input_price",
    "output_price",
    "cached_price",
    "reasoning_price",
    "batch_input_price",
    "batch_output_price",
    "batch_cached_price",
    "batch_reasoning_price",
)


class InvalidCatalogue(ValueError):
    """The file is invalid; the message lists all faults, one per line."""


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `[models.ALIAS]` table. Prices are per million tokens; if one is missing, costs are unknown, not 0.

    Cached and reasoning tokens cost the same as other prompt and reply tokens unless they have their own prices.

    `reply_tokens` limits the length of replies, `text_chars` the length of texts in schemas. `system` is the role of
    the system text, for models whose template has no role `system`. `stream`: speeches are streamed. `batch`: the
    server supports batches (`/files`, `/batches`); `cache_prompt`: sent in every request, for servers that know the
    field (llama.cpp); requests in batches have the normal prices unless batch prices are
    set.
    """

    base_url: str
    model: str
    alias: str = ""
    api_key_env: str = ""
    input_price: Decimal | None = None
    output_price: Decimal | None = None
    cached_price: Decimal | None = None
    reasoning_price: Decimal | None = None
    batch_input_price: Decimal | None = None
    batch_output_price: Decimal | None = None
    batch_cached_price: Decimal | None = None
    batch_reasoning_price: Decimal | None = None
    decoding: Decoding | None = None
    reply_tokens: int | None = None
    text_chars: int | None = None
    system: Literal["system", "user"] | None = None
    stream: bool = False
    batch: bool = False
    cache_prompt: bool | None = None
    concurrent: int = 4
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    timeout_s: Decimal = Decimal(120)

    @property
    def priced(self) -> bool:
        return self.input_price is not None and self.output_price is not None

    @property
    def allowance(self) -> Allowance:
        return Allowance(
            concurrent=self.concurrent,
            requests_per_minute=self.requests_per_minute,
            tokens_per_minute=self.tokens_per_minute,
        )

    def most(self, prompt_tokens: int, reply_tokens: int) -> Decimal | None:
        """The maximum cost of this many tokens; None if a price is unknown."""
        if self.input_price is None or self.output_price is None:
            return None
        prompt = max(self.input_price, self.cached_price or 0) * prompt_tokens
        return (prompt + max(self.output_price, self.reasoning_price or 0) * reply_tokens) / _MILLION

    @property
    def in_batches(self) -> "ModelEntry":
        """The entry with batch prices as its prices."""
        return msgspec.structs.replace(
            self,
            input_price=_either(self.batch_input_price, self.input_price),
            output_price=_either(self.batch_output_price, self.output_price),
            cached_price=_either(self.batch_cached_price, self.cached_price, self.input_price),
            reasoning_price=_either(self.batch_reasoning_price, self.reasoning_price, self.output_price),
        )

    def cost(self, usage: Usage | None) -> str | None:
        """The cost as a decimal string; None if the usage or a price is unknown."""
        if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        if self.input_price is None or self.output_price is None:
            return None
        cached, reasoning = usage.cached_tokens or 0, usage.reasoning_tokens or 0
        price = (usage.prompt_tokens - cached) * self.input_price
        price += cached * (self.input_price if self.cached_price is None else self.cached_price)
        price += (usage.completion_tokens - reasoning) * self.output_price
        price += reasoning * (self.output_price if self.reasoning_price is None else self.reasoning_price)
        return decimal_text(price / _MILLION)


class Catalogue(msgspec.Struct, frozen=True):
    """Alias → entry of all models except scripted ones."""

    models: Mapping[str, ModelEntry] = {}

    @property
    def aliases(self) -> tuple[str, ...]:
        """All aliases, the default first."""
        return (SCRIPTED, *self.models)


def _either(*prices: Decimal | None) -> Decimal | None:
    return next((price for price in prices if price is not None), None)


def load(path: str, environment: Mapping[str, str] | None = None) -> Catalogue:
    """Load the catalogue of a file; "" gives a catalogue with scripted models only.

    Raises InvalidCatalogue with all faults. With an `environment`, keys that it does not contain are faults; without
    one (to check a plan), keys are not checked.
    """
    if not path:
        return Catalogue()
    tables, faults = _tables(path)
    models = {}
    for alias, table in tables.items():
        entry, found = _entry(alias, table, environment)
        faults += [f"models.{alias}{fault}" for fault in found]
        if entry is not None:
            models[alias] = entry
    if faults:
        raise InvalidCatalogue("\n".join(f"{path}: {fault}" for fault in faults))
    return Catalogue(models)


def _tables(path: str) -> tuple[Mapping[str, object], list[str]]:
    try:
        document = tomllib.loads(Path(path).read_text("utf-8"), parse_float=Decimal)
    except OSError as error:
        raise InvalidCatalogue(
            f"PLAYMOLT_MODELS={path}: {error.strerror or error}; use the path of a readable TOML file"
        ) from error
    except (ValueError, RecursionError) as error:
        raise InvalidCatalogue(f"{path}: invalid TOML: {error}") from error
    faults = [f"{name}: unknown; use only [models.ALIAS] tables" for name in document if name != "models"]
    models = document.get("models", {})
    if not isinstance(models, dict):
        return {}, [*faults, "models: use a table [models.ALIAS] for each model"]
    return models, faults


def _entry(alias: str, table: object, environment: Mapping[str, str] | None) -> tuple[ModelEntry | None, list[str]]:
    if not isinstance(table, dict):
        return None, [": use a table [models.ALIAS]"]
    faults = _alias_faults(alias)
    values: dict[str, Any] = {}
    hints = {field.name: field for field in msgspec.structs.fields(ModelEntry) if field.name != "alias"}
    for name, value in table.items():
        if name not in hints:
            faults.append(f".{name}: unknown; allowed keys are {', '.join(hints)}")
            continue
        try:
            values[name] = msgspec.convert(_decimal(value, hints[name].type), type=hints[name].type)
        except msgspec.ValidationError as error:
            faults.append(f".{name}: {error}")
    faults += [f".{name}: missing" for name, field in hints.items() if field.required and name not in table]
    faults += _value_faults(values, environment)
    return (None if faults else ModelEntry(alias=alias, **values)), faults


def _decimal(value: object, wanted: object) -> object:
    """Whole prices are integers in TOML."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return Decimal(value) if is_number and "Decimal" in str(wanted) else value  # type: ignore[arg-type]  # a number


def _alias_faults(alias: str) -> list[str]:
    if not ALIAS.fullmatch(alias):
        return [
            ": an alias has 1 to 64 letters, digits, dots, underscores and dashes, and begins with a letter or digit"
        ]
    return [": this alias is reserved for scripted models; use another one"] if is_scripted(alias) else []


def _value_faults(values: Mapping[str, Any], environment: Mapping[str, str] | None) -> list[str]:
    faults = []
    address = values.get("base_url")
    if address is not None and not _is_address(address):
        faults.append(f".base_url: {address!r} is not a valid URL; use one like http://127.0.0.1:11434/v1")
    if values.get("model") == "":
        faults.append(".model: empty; use the server's id of the model")
    faults += [
        f".{name}: {values[name]} is not a valid price per million tokens"
        for name in _PRICES
        if name in values and not (values[name].is_finite() and values[name] >= 0)
    ]
    faults += [
        f".{name}: {values[name]} must be 1 to {_MOST}"
        for name in ("reply_tokens", "text_chars", "concurrent", "requests_per_minute", "tokens_per_minute")
        if not 1 <= values.get(name, 1) <= _MOST
    ]
    timeout = values.get("timeout_s", Decimal(1))
    if not (timeout.is_finite() and 0 < timeout <= 3600):
        faults.append(f".timeout_s: {values['timeout_s']} must be above 0 and at most 3600 seconds")
    return faults + _key_faults(values.get("api_key_env", ""), environment)


def _is_address(text: str) -> bool:
    try:
        address = urlsplit(text)
        port = address.port
    except ValueError:
        return False
    return address.scheme in ("http", "https") and bool(address.hostname) and port != 0


def _key_faults(variable: str, environment: Mapping[str, str] | None) -> list[str]:
    if variable and not _VARIABLE.fullmatch(variable):
        return [
            f".api_key_env: {len(variable)} characters that are not the name of an environment variable; use its name,"
            " not the key"
        ]
    if variable and environment is not None and not environment.get(variable):
        return [f".api_key_env: {variable} is not set in the environment"]
    return []
