"""The tools of a juror: look up evidence, cast the vote."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from playmolt_core.llm.parsing import Unparsed, parse_arguments
from playmolt_core.llm.port import ChatMessage, Tool, ToolCall

from playmolt_jury import replies
from playmolt_jury.commands import ToolUse
from playmolt_jury.content.material import Evidence, Material
from playmolt_jury.jurors import prompts
from playmolt_jury.state import State, Turn

AT_ONCE: Final = 8
"""Tool calls of one reply that are executed."""
LOGGED_AT_ONCE: Final = 64
"""Tool calls of one reply that become events, which bounds the size of an append. The attempt record has all calls."""
_NAME_CHARS: Final = 64
_RAW_CHARS: Final = 2000


class Toolbox:
    """The tools of one turn. `uses` are the calls with their results; `done` ends the turn."""

    def __init__(self, state: State, material: Material, turn: Turn) -> None:
        self.uses: list[ToolUse] = []
        self.done = False
        self._state, self._material, self._turn = state, material, turn
        self._phrases = prompts.phrases(state.language)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (replies.lookup_tool(self._phrases.lookup),)

    def results(self, calls: tuple[ToolCall, ...]) -> Iterator[ChatMessage]:
        """Executes the calls of one reply; yields the message that answers each."""
        for place, call in enumerate(calls):
            use = self._carried_out(call) if place < AT_ONCE else self._left_out(call)
            if place < LOGGED_AT_ONCE:
                self.uses.append(use)
            yield ChatMessage("tool", use.result, tool_call_id=call.id)

    def _left_out(self, call: ToolCall) -> ToolUse:
        return _use(call, _raw(call), prompts.filled(self._phrases.too_many, most=str(AT_ONCE)))

    def _carried_out(self, call: ToolCall) -> ToolUse:
        tool = next((tool for tool in self.tools if tool.name == call.name), None)
        given = _raw(call)
        if tool is None:
            result = prompts.filled(self._phrases.unknown_tool, tools=", ".join(each.name for each in self.tools))
        else:
            parsed = parse_arguments(call, tool.parameters)
            if isinstance(parsed, Unparsed):
                result = prompts.filled(self._phrases.bad_arguments, fault=parsed.detail)
            else:
                given, result = parsed.value, self._handlers[call.name](parsed.value)
        return _use(call, given, result)

    @property
    def _handlers(self) -> Mapping[str, Callable[[dict[str, object]], str]]:
        return {replies.LOOKUP: self._lookup}

    def _lookup(self, arguments: dict[str, Any]) -> str:
        names = dict.fromkeys(str(name) for name in arguments["evidence_ids"])
        return "\n\n".join(self._item(name) for name in names)

    def _item(self, name: str) -> str:
        if name.casefold() == replies.CHAT_HISTORY:
            said = prompts.history(self._state, self._turn.juror_id)
            return f"{replies.CHAT_HISTORY} |\n{said}" if said else self._phrases.no_history
        item = next((item for item in prompts.open_items(self._state, self._material) if _named(item, name)), None)
        if item is None:
            return prompts.filled(self._phrases.unknown_item, id=name[:_NAME_CHARS])
        return f"{item.id} | {item.stem} | {item.title}\n{item.text.strip()}"


class BallotBox(Toolbox):
    """The tools of a vote. A juror that votes against its own conclusion is corrected once; after that, or if it casts
    no vote, the vote of the rules counts. `diverged` reports this."""

    def __init__(self, state: State, material: Material, turn: Turn) -> None:
        super().__init__(state, material, turn)
        self._wrong = False
        self._conclusion = prompts.conclusion(state.juror_states[turn.juror_id].stance)

    @property
    def diverged(self) -> bool:
        """Whether the juror has not cast the rule's vote, so far."""
        return self._wrong or not self.done

    @property
    def tools(self) -> tuple[Tool, ...]:
        return (*super().tools, replies.cast_tool(self._phrases.cast))

    @property
    def _handlers(self) -> Mapping[str, Callable[[dict[str, object]], str]]:
        return {replies.LOOKUP: self._lookup, replies.CAST: self._cast}

    def _cast(self, arguments: dict[str, object]) -> str:
        rule = self._conclusion == "guilty"
        wrong = arguments["guilty"] != rule
        if not self.done and wrong and not self._wrong:
            self._wrong = True
            return prompts.filled(
                self._phrases.wrong_vote, conclusion=self._conclusion, guilty="true" if rule else "false"
            )
        if not self.done:
            self.done, self._wrong = True, wrong
        return prompts.filled(self._phrases.vote_taken, conclusion=self._conclusion)


def _raw(call: ToolCall) -> dict[str, object]:
    return {"arguments": call.arguments[:_RAW_CHARS]}


def _use(call: ToolCall, given: dict[str, object], result: str) -> ToolUse:
    return ToolUse(tool=call.name[:_NAME_CHARS], input=given, result=result)


def _named(item: Evidence, name: str) -> bool:
    return name.strip().casefold() in (item.id.casefold(), item.stem.casefold())
