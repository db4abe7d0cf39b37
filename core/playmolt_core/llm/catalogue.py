"""The models an operator offers: the TOML file that PLAYMOLT_MODELS names, checked whole."""

import re
import tomllib
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import msgspec

from playmolt_core.llm.limits import Allowance
from playmolt_core.llm.port import Decoding, Usage

SCRIPTED: Final = "scripted"
"""The alias that needs no network and is always there. `scripted-NAME` is the scripted model in character NAME."""

_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
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
    """The file does not make sense; the message names every fault, one a line."""


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One `[models.ALIAS]`. Prices are per million tokens; a missing one makes every cost unknown, not 0.

    Cached and reasoning tokens cost what others of the prompt and the reply do unless they have prices of their own.

    `reply_tokens` is the longest reply to ask for, where a game would ask for a longer one, `text_chars` the longest
    text that a schema lets a model write. `system` is the role that the system text is sent in, for models whose
    template knows none of that name. `stream` says that speeches are asked for as they come. `batch` says that the
    server takes batches (`/files` and `/batches`); what was asked in one costs the plain prices where batches have none
    of their own.
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
        """What so many tokens can cost at most; None when a price is unknown."""
        if self.input_price is None or self.output_price is None:
            return None
        prompt = max(self.input_price, self.cached_price or 0) * prompt_tokens
        return (prompt + max(self.output_price, self.reasoning_price or 0) * reply_tokens) / _MILLION

    @property
    def in_batches(self) -> "ModelEntry":
        """The entry with the prices of batches for prices."""
        return msgspec.structs.replace(
            self,
            input_price=_either(self.batch_input_price, self.input_price),
            output_price=_either(self.batch_output_price, self.output_price),
            cached_price=_either(self.batch_cached_price, self.cached_price, self.input_price),
            reasoning_price=_either(self.batch_reasoning_price, self.reasoning_price, self.output_price),
        )

    def cost(self, usage: Usage | None) -> str | None:
        """A decimal string; None when usage or a price is unknown."""
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
    """Alias → entry of every model but the scripted ones."""

    models: Mapping[str, ModelEntry] = {}

    def knows(self, alias: str) -> bool:
        """Whether a request or a plan may name the alias. Whether a scripted character exists, its cast knows."""
        return alias in self.models or is_scripted(alias)

    @property
    def aliases(self) -> tuple[str, ...]:
        """Every alias that can be offered, the default first."""
        return (SCRIPTED, *self.models)


def is_scripted(alias: str) -> bool:
    return alias == SCRIPTED or (alias.startswith(f"{SCRIPTED}-") and _ALIAS.fullmatch(alias) is not None)


def _either(*prices: Decimal | None) -> Decimal | None:
    return next((price for price in prices if price is not None), None)


def decimal_text(value: Decimal) -> str:
    """Without exponent and without trailing zeros."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def load(path: str, environment: Mapping[str, str] | None = None) -> Catalogue:
    """The catalogue of a file; "" gives the one that only knows scripted models.

    Raises InvalidCatalogue naming every fault. With an `environment`, a key that it does not hold is a fault, too;
    without one (a plan that is only checked) keys are not looked for.
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


def _tables(path: str) -> tuple[Mapping[str, Any], list[str]]:
    try:
        document = tomllib.loads(Path(path).read_text("utf-8"), parse_float=Decimal)
    except OSError as error:
        raise InvalidCatalogue(
            f"PLAYMOLT_MODELS={path}: {error.strerror or error}: name a TOML file that can be read"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidCatalogue(f"{path}: no TOML: {error}") from error
    faults = [f"{name}: unknown; everything stands under [models.ALIAS]" for name in document if name != "models"]
    models = document.get("models", {})
    if not isinstance(models, dict):
        return {}, [*faults, "models: write a table [models.ALIAS] for each model"]
    return models, faults


def _entry(alias: str, table: object, environment: Mapping[str, str] | None) -> tuple[ModelEntry | None, list[str]]:
    if not isinstance(table, dict):
        return None, [": write it as a table [models.ALIAS]"]
    faults = _alias_faults(alias)
    values: dict[str, Any] = {}
    hints = {field.name: field for field in msgspec.structs.fields(ModelEntry) if field.name != "alias"}
    for name, value in table.items():
        if name not in hints:
            faults.append(f".{name}: unknown; known are {', '.join(hints)}")
            continue
        try:
            values[name] = msgspec.convert(_decimal(value, hints[name].type), type=hints[name].type)
        except msgspec.ValidationError as error:
            faults.append(f".{name}: {error}")
    faults += [f".{name}: missing" for name, field in hints.items() if field.required and name not in table]
    faults += _value_faults(values, environment)
    return (None if faults else ModelEntry(alias=alias, **values)), faults


def _decimal(value: object, wanted: object) -> object:
    """TOML writes a whole price as an integer."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return Decimal(value) if is_number and "Decimal" in str(wanted) else value  # type: ignore[arg-type]  # a number


def _alias_faults(alias: str) -> list[str]:
    if not _ALIAS.fullmatch(alias):
        return [": an alias is 1 to 64 of letters, digits, dot, underscore and dash, and begins with a letter or digit"]
    return [": scripted models are always there, name this one otherwise"] if is_scripted(alias) else []


def _value_faults(values: Mapping[str, Any], environment: Mapping[str, str] | None) -> list[str]:
    faults = []
    address = values.get("base_url")
    if address is not None and not _is_address(address):
        faults.append(f".base_url: {address!r} is no address as in http://127.0.0.1:11434/v1")
    if values.get("model") == "":
        faults.append(".model: empty; give the id that the server knows the model by")
    faults += [
        f".{name}: {values[name]} is no price per million tokens"
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
            f".api_key_env: {len(variable)} characters that name no environment variable; write its name, not the key"
        ]
    if variable and environment is not None and not environment.get(variable):
        return [f".api_key_env: {variable} is not set in the environment"]
    return []
