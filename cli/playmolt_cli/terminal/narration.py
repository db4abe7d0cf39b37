"""A game told in lines, from its public messages."""

import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

Message = Mapping[str, Any]
_ENVELOPE = ("type", "name", "game_id", "version", "at")


def printable(text: str) -> str:
    """Take out what could steer a terminal: agents choose their names and texts."""
    return "".join(
        "�" if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char != "\u200d" else char for char in text
    )


class Narration:
    """Tells the messages of one game in their order; it remembers who is called what.

    A message type it does not know is told by its name, so that a new game can be followed before it has words here.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def tell(self, message: Message) -> str:
        """The line of a message; empty when there is nothing to tell."""
        self._learn(message)
        kind = str(message.get("type", ""))
        if kind == "progress":
            return ""
        try:
            return printable(_TELLERS.get(kind, _unknown)(self, message))
        except (KeyError, TypeError, AttributeError):  # a later version of the message
            return printable(_unknown(self, message))

    def name(self, agent_id: object) -> str:
        """An agent's name, its id while that is not known."""
        return self._names.get(str(agent_id), str(agent_id))

    def _learn(self, message: Message) -> None:
        people = message.get("participants")
        for entry in [message, *(people if isinstance(people, list) else [])]:
            if isinstance(entry, Mapping):
                identifier = entry.get("agent_id") or entry.get("id")
                if isinstance(identifier, str) and isinstance(entry.get("name"), str):
                    self._names[identifier] = entry["name"]


def _unknown(narration: Narration, message: Message) -> str:
    """Tell a message by its name and its plain fields."""
    plain = [
        f"{name.replace('_', ' ')} {value}" if narration.name(value) == str(value) else narration.name(value)
        for name, value in message.items()
        if name not in _ENVELOPE and isinstance(value, str | int | float)
    ]
    told = str(message.get("type", "?")).replace("_", " ")
    return f"{told}: {', '.join(plain)}" if plain else told


def _started(narration: Narration, message: Message) -> str:  # noqa: ARG001
    people = message["participants"]
    if "case" in message:
        roles = ", ".join(f"{person['name']} {_role(person)}" for person in people)
        return f"the case: {message['case']['title']} ({roles})"
    return "the game begins: " + ", ".join(person["name"] for person in people)


def _role(entry: Message) -> str:
    return str(entry.get("role") or "").lower()


def _speak(narration: Narration, message: Message) -> str:
    who = f"{narration.name(message['agent_id'])} ({_role(message)})"
    return f"{who} lets the time pass" if message.get("forfeit") else f"{who}: “{message['text']}”"


def _first_choice(narration: Narration, message: Message) -> str:
    late = " (time passed)" if message.get("forfeit") else ""
    shown = f": {message['choice']}" if "choice" in message else ""
    return f"{narration.name(message['agent_id'])} has chosen{shown}{late}"


def _reveal(narration: Narration, message: Message) -> str:
    choices = ", ".join(f"{narration.name(choice['agent_id'])} {choice['choice']}" for choice in message["choices"])
    return f"revealed: {choices}  (O {message['distribution']['O']} : X {message['distribution']['X']})"


def _switch(narration: Narration, message: Message) -> str:
    comment = f" “{message['comment']}”" if message.get("comment") else ""
    return f"{narration.name(message['agent_id'])} {'SWITCHES' if message['switched'] else 'keeps'}{comment}"


def _round_result(narration: Narration, message: Message) -> str:
    if message["minority"] is None:
        return f"round {message['round']}: all alike, no points"
    winners = ", ".join(narration.name(winner) for winner in message["winners"])
    points = f"{message['points_awarded']} points to {winners}"
    return f"round {message['round']}: {message['minority']} is the minority; {points}"


def _tally(narration: Narration, message: Message) -> str:  # noqa: ARG001
    return f"the jury: {message['GUILTY']} guilty, {message['NOT_GUILTY']} not guilty"


def _end(narration: Narration, message: Message) -> str:
    if "verdict" in message:
        return f"verdict: {message['verdict'].replace('_', ' ')}; the {message['winner_team'].lower()} wins"
    return f"the winner is {narration.name(message['winner_id'])}"


_TELLERS: Mapping[str, Callable[[Narration, Message], str]] = {
    "game_created": lambda _, __: "a new game takes agents",
    "agent_joined": lambda narration, message: f"{narration.name(message['agent_id'])} takes a seat",
    "agent_left": lambda narration, message: f"{narration.name(message['agent_id'])} leaves",
    "game_started": _started,
    "speak": _speak,
    "vote_submitted": lambda narration, message: f"{narration.name(message['agent_id'])} (juror) has voted",
    "phase_change": lambda _, message: f"— {message['to'].replace('_', ' ')}, round {message['round']} —",
    "jury_tally": _tally,
    "question_open": lambda _, message: f"— round {message['round']}: {message['question']} —",
    "first_choice_submitted": _first_choice,
    "reveal": _reveal,
    "switch_submitted": _switch,
    "round_result": _round_result,
    "game_end": _end,
    "game_aborted": lambda _, message: f"the game was ended by the operator: {message['reason']}",
}


def standings(message: Message) -> list[str]:
    """The result lines of a closing message, best first; empty for an aborted game."""
    results = message.get("results")
    if not isinstance(results, list):
        return []
    ranked = sorted(results, key=lambda result: -result["points"])
    return [printable(f"{result['points']:>4}  {result['name']}{_extra(result)}") for result in ranked]


def _extra(result: Message) -> str:
    if "role" in result:
        return f"  ({_role(result)}{', won' if result.get('won') else ''})"
    if "rank" not in result:
        return ""
    gathered = f", {result['game_points']} in the game" if "game_points" in result else ""
    return f"  (rank {result['rank']}{gathered})"
