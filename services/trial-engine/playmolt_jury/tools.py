"""What a juror's tools do: looking up the file, casting the vote."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from playmolt_core.llm.parsing import Unparsed, parse_arguments
from playmolt_core.llm.port import Message, Tool, ToolCall

from playmolt_jury import answers, outputs, prompts
from playmolt_jury.commands import ToolUse
from playmolt_jury.material import Evidence, Material
from playmolt_jury.state import State, Turn

AT_ONCE: Final = 8
"""How many tool calls of one reply are carried out."""
_NAME_CHARS: Final = 64
_RAW_CHARS: Final = 2000


class Toolbox:
    """The tools of one turn. `uses` is what was done with them; `done` says that nothing more is to be asked."""

    def __init__(self, state: State, material: Material, turn: Turn) -> None:
        self.uses: list[ToolUse] = []
        self.done = False
        self._state, self._material, self._turn = state, material, turn
        self._words = prompts.words(state.language)

    @property
    def offers(self) -> tuple[Tool, ...]:
        """The tools on offer."""
        return (outputs.lookup_tool(self._words.lookup),)

    def answers(self, calls: tuple[ToolCall, ...]) -> Iterator[Message]:
        """Carry out the calls of one reply, and give the message that answers each."""
        for place, call in enumerate(calls):
            if place < AT_ONCE:
                result = self._carry_out(call)
            else:
                result = prompts.filled(self._words.too_many, most=str(AT_ONCE))
            yield Message("tool", result, tool_call_id=call.id)

    def _carry_out(self, call: ToolCall) -> str:
        tool = next((tool for tool in self.offers if tool.name == call.name), None)
        given: dict[str, Any] = {"arguments": call.arguments[:_RAW_CHARS]}
        if tool is None:
            result = prompts.filled(self._words.unknown_tool, tools=", ".join(each.name for each in self.offers))
        else:
            parsed = parse_arguments(call, tool.parameters)
            if isinstance(parsed, Unparsed):
                result = prompts.filled(self._words.bad_arguments, fault=parsed.detail)
            else:
                given, result = parsed.value, self._tools[call.name](parsed.value)
        self.uses.append(ToolUse(tool=call.name[:_NAME_CHARS], input=given, result=result))
        return result

    @property
    def _tools(self) -> Mapping[str, Callable[[dict[str, Any]], str]]:
        return {answers.LOOKUP: self._lookup}

    def _lookup(self, arguments: dict[str, Any]) -> str:
        names = dict.fromkeys(str(name) for name in arguments["evidence_ids"])
        return "\n\n".join(self._item(name) for name in names)

    def _item(self, name: str) -> str:
        if name.casefold() == answers.CHAT_HISTORY:
            said = prompts.history(self._state, self._turn.juror_id)
            return f"{answers.CHAT_HISTORY} |\n{said}" if said else self._words.no_history
        item = next((item for item in prompts.open_items(self._state, self._material) if _named(item, name)), None)
        if item is None:
            return prompts.filled(self._words.unknown_item, id=name[:_NAME_CHARS])
        return f"{item.id} | {item.stem} | {item.title}\n{item.text.strip()}"


class BallotBox(Toolbox):
    """The tools of a vote. A juror that votes against its own conclusion is told so once; then the rule's vote counts,
    and `diverged` says so."""

    def __init__(self, state: State, material: Material, turn: Turn) -> None:
        super().__init__(state, material, turn)
        self.diverged = False
        self._conclusion = prompts.conclusion(state.seats[turn.juror_id].stance)

    @property
    def offers(self) -> tuple[Tool, ...]:
        """The tools on offer."""
        return (*super().offers, outputs.cast_tool(self._words.cast))

    @property
    def _tools(self) -> Mapping[str, Callable[[dict[str, Any]], str]]:
        return {answers.LOOKUP: self._lookup, answers.CAST: self._cast}

    def _cast(self, arguments: dict[str, Any]) -> str:
        rule = self._conclusion == "guilty"
        if not self.done and arguments["guilty"] != rule and not self.diverged:
            self.diverged = True
            return prompts.filled(
                self._words.wrong_vote, conclusion=self._conclusion, guilty="true" if rule else "false"
            )
        if not self.done:
            self.done = True
            self.diverged = arguments["guilty"] != rule
        return prompts.filled(self._words.vote_taken, conclusion=self._conclusion)


def _named(item: Evidence, name: str) -> bool:
    return name.strip().casefold() in (item.id.casefold(), item.stem.casefold())
