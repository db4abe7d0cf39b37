"""Tool calls that a model wrote into its text, in the formats that models were trained on."""

import json
import re
from collections.abc import Collection, Iterator
from typing import Any, Final, NamedTuple

from playmolt_core.llm.openai.completion import arguments_text
from playmolt_core.llm.openai.storing import storable

_TAGGED = re.compile(
    r"<(tool_calls?|function_calls?|tool_use|tools?)>(.*?)(?:</\1>|(?=<\1>)|\Z)|<(function)=([^>\s]+)>(.*?)(?:</function>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_LISTED = re.compile(r"\A\s*(?:\[TOOL_CALLS\]|<\|python_tag\|>|<\|tool_calls?\|>)\s*(.*)\Z", re.DOTALL)
_NUMBERED = re.compile(
    r"<｜tool▁call▁begin｜>(?:\w+<｜tool▁sep｜>)?([^\s{<]+)\s*(?:<｜tool▁sep｜>)?(.*?)(?:<｜tool▁call▁end｜>|\Z)",
    re.DOTALL,
)
_NUMBERED_ALL = re.compile(r"<｜tool▁calls▁begin｜>.*?(?:<｜tool▁calls▁end｜>|\Z)", re.DOTALL)
_NAME_FIRST = re.compile(r"\A([A-Za-z0-9_-]+)\s*(?:\[(?:ARGS|CALL_ID)\]\S*?)?\s*(\{.*)\Z", re.DOTALL)
_NAMED = re.compile(r"<function=([^>\s]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter=([^>\s]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```[^\n`]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_ARGUMENTS: Final = ("arguments", "parameters", "args", "input")


class SpeltCall(NamedTuple):
    name: str
    arguments: str


class SpeltReply(NamedTuple):
    """`text` is the text besides the calls. `spelt`: the reply tried to call a tool, readable or not."""

    text: str
    calls: tuple[SpeltCall, ...] = ()
    spelt: bool = False


def read_spelt(text: str, tools: Collection[str]) -> SpeltReply:
    """The calls in a text. Without a tag around it, only the name of a known tool makes it a call."""
    tagged = list(_TAGGED.finditer(text))
    if tagged:
        calls = [call for found in tagged for call in _of_tag(found)]
        return SpeltReply(_TAGGED.sub("", text).strip(), tuple(calls), spelt=True)
    if _NUMBERED_ALL.search(text):
        numbered = [SpeltCall(storable(each[1]), _unfenced(each[2])) for each in _NUMBERED.finditer(text)]
        return SpeltReply(_NUMBERED_ALL.sub("", text).strip(), tuple(numbered), spelt=True)
    listed = _LISTED.match(text)
    if listed:
        return SpeltReply("", tuple(_of_list(listed[1])), spelt=True)
    fence = _FENCE.match(text)
    bare = list(_of_json(_loaded(fence[1] if fence else text)))
    if bare and all(call.name in tools for call in bare):
        return SpeltReply("", tuple(bare), spelt=True)
    return SpeltReply(text)


def _of_list(text: str) -> Iterator[SpeltCall]:
    """Calls as JSON, or as a name followed by arguments."""
    if (loaded := _loaded(text)) is not None:
        yield from _of_json(loaded)
        return
    for part in text.split("[TOOL_CALLS]"):
        if named := _NAME_FIRST.match(part.strip()):
            yield SpeltCall(storable(named[1]), storable(named[2].strip(), limit=None))


def _unfenced(text: str) -> str:
    fence = _FENCE.match(text)
    return storable((fence[1] if fence else text).strip() or "{}", limit=None)


def _of_tag(found: re.Match[str]) -> Iterator[SpeltCall]:
    if found[3]:
        yield SpeltCall(storable(found[4]), _arguments_of(found[5]))
        return
    named = _NAMED.search(found[2])
    if named:
        yield SpeltCall(storable(named[1]), _arguments_of(named[2]))
    else:
        fence = _FENCE.match(found[2])
        yield from _of_json(_loaded(fence[1] if fence else found[2]))


def _arguments_of(text: str) -> str:
    """The arguments in `<function=…>`: JSON, or a tag per argument."""
    given = {name: _value(value) for name, value in _PARAMETER.findall(text)}
    return arguments_text(given) if given else storable(text.strip() or "{}", limit=None)


def _value(text: str) -> Any:
    value = _loaded(text)
    return text if value is None and text.strip() != "null" else value


def _loaded(text: str) -> object:
    try:
        return json.loads(text.strip(), strict=False)
    except (ValueError, RecursionError):
        return None


def _of_json(value: object) -> Iterator[SpeltCall]:
    if isinstance(value, list):
        for each in value:
            yield from _of_json(each)
    elif isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        yield from _of_json(value["tool_calls"])
    elif isinstance(value, dict):
        named = value.get("function") if isinstance(value.get("function"), dict) else value
        name = (named.get("name") or named.get("tool")) if isinstance(named, dict) else None
        fields = [field for field in _ARGUMENTS if isinstance(named, dict) and field in named]
        if isinstance(name, str) and fields and isinstance(named, dict):
            yield SpeltCall(storable(name), arguments_text(named[fields[0]]))
