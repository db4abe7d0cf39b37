"""What a model is shown at a turn: a pure function of the scene.

The system message is the Macro Shell of the phase, the user message its turn template with every slot filled in one
pass, so that no value is ever read as a template. What agents wrote is a single line after a dash.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

import msgspec
from playmolt_core.llm.port import ChatMessage
from playmolt_schemas.canonical import canonical_json, digest
from playmolt_schemas.stored.agora.own_world import CONTEST, Amounts
from playmolt_schemas.stored.agora.turn import SKILLS

from playmolt_agora_runner.turn import texts
from playmolt_agora_runner.turn.scene import Offer, OwnScene, Scene
from playmolt_agora_runner.turn.texts import PromptTexts
from playmolt_agora_runner.world.state import Observation

_SLOT: Final = re.compile(r"\{(\w+)\}")
_BANDS: Final = (("critical", 20), ("danger", 30), ("low", 49), ("fair", 99))
"""A band of energy and the most that it holds; above all of them is `ample`."""
_SHARP: Final = 30
_UNEVEN, _WIDE = Decimal("0.2"), Decimal("0.4")
_SEPARATORS: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+"
)
_MARKS: Final = re.compile(r"[\[\]]|#{2,}")
_WIDE_MARKS: Final = str.maketrans("[]#", "［］＃")
_CONTEXT: Final = re.compile(r"\A### [^\n]+ ###\n.*?\n### [^\n]+ ###\n\n", re.DOTALL)
STARS: Final = "★★★ "
_RULE: Final = "\n---\n"
"""Before the request for an action."""

SLOTS: Final = (
    "agent_id", "persona", "place", "place_title", "energy", "influence", "rank", "resources", "others", "events",
    "history", "actions", "turn", "turns", "residents", "tax_rate", "treasury", "billboard", "crisis",
)  # fmt: skip
"""Those of a shell or template of a plan's folder."""

_FIELDS: Final = {
    "agent_id": "agent", "location": "place", "epoch": "turn", "agent_count": "residents", "alive_count": "residents",
    "agents": "residents_start", "gini_display": "gini",
}  # fmt: skip
"""Slot of a packaged template → the field of the scene, unless that has its name or a method writes it."""
Slots = Mapping[str, object]


class Prompt(msgspec.Struct, frozen=True):
    """The two messages of a turn."""

    system: str
    user: str

    @property
    def messages(self) -> tuple[ChatMessage, ChatMessage]:
        return ChatMessage("system", self.system), ChatMessage("user", self.user)

    @property
    def text(self) -> str:
        """Both messages as the one text that is kept: canonical JSON."""
        return canonical_json(self).decode()

    @property
    def hash(self) -> str:
        """The name under which its text is kept: hex SHA-256."""
        return digest(self)


def render(scene: Scene, words: PromptTexts | None = None, aside: str | None = None) -> Prompt:
    """Put a scene into words; `words` replaces those of its language, for checks of texts.

    `aside` is a question in the place of the request for an action.
    """
    writer = _Writer(scene, words or texts.of(scene.language))
    return Prompt(system=writer.system(), user=writer.user(aside))


def without_request(template: str) -> str:
    """A turn template without its closing request: what follows its last rule, or else its last slot."""
    head, rule, request = template.rpartition(_RULE)
    if rule and "{actions}" not in request and "{available_actions}" not in request:
        return head
    last = max((found.end() for found in _SLOT.finditer(template)), default=len(template))
    return template[:last]


def seen(scene: Scene) -> tuple[str, ...]:
    """What the agent has just learnt, one line each, as in its prompt."""
    return tuple(_Writer(scene, texts.of(scene.language)).lines(scene.events))


@lru_cache(maxsize=4096)  # an utterance appears in the prompts of all its listeners for several turns
def one_line(text: str) -> str:
    """Make a text fit for a line: what separates lines or turns text around is a space, marks of sections are wide."""
    text = " ".join(_SEPARATORS.sub(" ", text).split())
    return _MARKS.sub(lambda mark: mark[0].translate(_WIDE_MARKS), text)


def fill(template: str, slots: Slots) -> str:
    """Fill the slots of a template in one pass; KeyError for a slot that nothing fills."""
    return _SLOT.sub(lambda slot: str(slots[slot[1]]), template)


def filled(text: str, slots: Slots) -> str:
    """Fill the slots of a text in one pass; other braces stay."""
    return _SLOT.sub(lambda slot: str(slots.get(slot[1], slot[0])), text)


class _Writer:
    def __init__(self, scene: Scene, words: PromptTexts) -> None:
        self._scene, self._words, self._own = scene, words, words.own
        self._rooms = texts.of_rooms(scene.language)
        self._room = self._rooms["words"]
        self._rules = scene.rules

    def system(self) -> str:
        own = self._scene.own
        if own is not None:
            return filled(own.texts.get("shell") or self._room["shell"], self._room_slots(own))
        shell = self._words.shells[self._scene.phase]
        if self._scene.phase != "stage1":
            return shell
        whole = f"{shell}\n\n{self._words.survival}" if self._rules["texts"]["macro"] else shell
        return fill(whole, self._numbers())

    def user(self, aside: str | None) -> str:
        """The turn template, filled; `aside` replaces its request for an action."""
        own = self._scene.own
        template = own.texts.get("template") or self._room["template"] if own else self._words.turns[self._scene.phase]
        template = template if aside is None else without_request(template)
        if own is None and self._without_context():
            template = _CONTEXT.sub("", template, count=1)
        text = filled(template, self._room_slots(own)) if own else _SLOT.sub(self._slot, template)
        return text if aside is None else f"{text}{_RULE}{aside}"

    def _room_slots(self, own: OwnScene) -> Slots:
        scene, none = self._scene, self._room["none"]
        held = (filled(self._room["resource"], {"name": name, "held": held}) for name, held in own.resources.items())
        return {
            "agent_id": scene.agent,
            "persona": self.persona_prompt(),
            "turns": scene.turns,
            "place": scene.place,
            "place_title": own.place_title,
            "energy": none if scene.energy is None else scene.energy,
            "influence": scene.influence or 0,
            "rank": own.rank_title or none,
            "resources": "\n".join(held) or none,
            "others": self.agents_here(),
            "events": self.recent_events(),
            "history": self.historical_summary(),
            "actions": "\n".join(_action_line(offer, self._rooms) for offer in own.offers),
            "turn": scene.turn,
            "residents": scene.residents,
            "tax_rate": none if scene.tax_rate is None else scene.tax_rate,
            "treasury": none if scene.treasury is None else scene.treasury,
            "billboard": self.billboard_content(),
            "crisis": self._crisis(),
        }

    def _without_context(self) -> bool:
        scene = self._scene
        return (scene.phase, scene.language, self._rules["stage1_asymmetry"]) == ("stage1", "ko", "original")

    def _slot(self, slot: re.Match[str]) -> str:
        """A slot of a packaged template: what the method of its name writes, or a value of the scene."""
        written = getattr(self, slot[1], None)
        return str(written() if written else getattr(self._scene, _FIELDS.get(slot[1], slot[1])))

    def persona_prompt(self) -> str:
        scene = self._scene
        if scene.persona_text is not None:
            return scene.persona_text
        if scene.own is not None and scene.persona not in self._words.personas["phase1"]:
            return fill(self._room["nobody"], {"agent_id": scene.agent})
        if scene.persona is None or scene.persona_condition == "no_persona":
            return fill(self._words.nobody, {"agent_id": scene.agent})
        personas = self._words.personas["phase1" if scene.own is not None else scene.phase]
        persona = personas[scene.persona]
        tipped = scene.phase == "stage1" and self._rules["texts"]["tips"] and scene.own is None
        return "\n".join((persona, self._own["tips"][scene.persona])) if tipped else persona

    def rank(self) -> str:
        return self._own["ranks"][self._scene.rank or "commoner"]

    def rank_bonus_prompt(self) -> str:
        return fill(self._own["rank_bonus"][self._scene.rank or "commoner"], self._rules)

    def support_context(self) -> str:
        lines, scene = self._own["lines"], self._scene
        received = fill(lines["supported_by"], {"agents": self._counted(scene.supporters)})
        given = fill(lines["support_given"], {"agents": self._counted(scene.supported)})
        return f"{received}\n{given}"

    def _counted(self, counts: Mapping[str, int]) -> str:
        lines = self._own["lines"]
        ranked = sorted(((agent, count) for agent, count in counts.items() if count), key=lambda pair: -pair[1])
        supporters = [
            fill(lines["support_count"], {"agent": one_line(agent), "count": count}) for agent, count in ranked
        ]
        return ", ".join(supporters) or lines["nobody"]

    def inequality_commentary(self) -> str:
        gini = Decimal(self._scene.gini or "0")
        return self._own["inequality"]["wide" if gini >= _WIDE else "uneven" if gini >= _UNEVEN else "even"]

    def _section(self, rule: str, name: str, slots: Slots) -> str:
        """A section of the prompt; empty where the world's rule of texts leaves it out."""
        return fill(self._own["sections"][name], slots) if self._rules["texts"][rule] else ""

    def goal(self) -> str:
        return self._section("macro", "goal", {})

    def energy_status(self) -> str:
        return self._section("status", "status", {"status": self._own["status"][self._band()]})

    def survival_sections(self) -> str:
        warning = fill(self._own["warnings"][self._band()], {"energy": self._energy()})
        return self._section("status", "survival", {"warning": warning, "crisis": self._crisis()})

    def reminder_section(self) -> str:
        sharp = self._energy() <= _SHARP and self._scene.place == "market"
        reminder = fill(self._own["reminder"]["sharp" if sharp else "usual"], {"energy": self._energy()})
        return self._section("reminder", "reminder", {"reminder": reminder})

    def _energy(self) -> int:
        return self._scene.energy or 0

    def _band(self) -> str:
        return next((band for band, most in _BANDS if self._energy() <= most), "ample")

    def _crisis(self) -> str:
        crisis = self._scene.crisis
        if crisis is None:
            return self._own["crises"]["none"]
        return fill(self._own["crises"]["alert"], {"crisis": self._crisis_name(crisis), **self._rules["crisis"]})

    def _crisis_name(self, crisis: object) -> str:
        return self._own["crises"].get(str(crisis), one_line(str(crisis)))

    def recent_events(self) -> str:
        return "\n".join(self.lines(self._scene.events)) or self._own["lines"]["no_events"]

    def historical_summary(self) -> str:
        if self._scene.context == "minimal":
            return self._own["lines"]["faint_history"]
        return "\n".join(self.lines(self._scene.history)) or self._own["lines"]["no_history"]

    def lines(self, happenings: Iterable[Observation]) -> Iterator[str]:
        unit = self._own["turn_words"][self._scene.phase]
        line = self._own["lines"]["event"]
        for each in happenings:
            yield fill(line, {"unit": unit, "turn": each.turn, "text": self._happening(each)})

    def _happening(self, each: Observation) -> str:
        own, room, action = self._scene.own, self._room, str(each.values.get("action"))
        match each.kind:
            case "failed":
                reason = str(each.values["reason"])
                reasons = self._rooms["reasons"] if own or reason == "nothing_to_contest" else {}
                return reasons.get(reason) or self._own["reasons"].get(reason, self._own["reasons"]["other"])
            case "feedback":
                return self._own["feedback"].get(action, action)
        slots = {name: self._value(name, value) for name, value in each.values.items()}
        match each.kind:
            case "did":
                parts = [name for name in ("target", "amount") if each.values.get(name) is not None]
                label = own.labels.get(action, action) if own else action
                return filled(room["_".join(("did", *parts))], slots | {"action": label})
            case "contested" | "undone" as kind:
                return filled(room[kind], slots)
        return fill(self._own["events"][each.kind], slots)

    def _value(self, name: str, value: object) -> str:
        match name:
            case "rank":
                return self._own["ranks"].get(str(value), one_line(str(value)))
            case "crisis":
                return self._crisis_name(value)
            case "content":
                return self._quoted(value) or self._own["lines"]["no_content"]
        if isinstance(value, list | tuple):
            return ", ".join(map(one_line, value)) or self._own["lines"]["nobody"]
        return one_line(str(value)) if value is not None else self._own["lines"]["nobody"]

    def _quoted(self, value: object) -> str:
        text = one_line(str(value or ""))
        return f'"{text}"' if text else ""

    def billboard_content(self) -> str:
        lines, content = self._own["lines"], self._quoted(self._scene.billboard)
        return fill(lines["billboard"], {"content": content}) if content else lines["no_billboard"]

    def agents_here(self) -> str:
        lines = self._own["lines"]
        return "\n".join(fill(lines["agent"], {"agent": agent}) for agent in self._scene.here) or lines["nobody_here"]

    def available_actions(self) -> str:
        place = "alley" if self._scene.place.startswith("alley") else self._scene.place
        actions = self._words.actions[place].split("\n")
        if place == "market" and not self._rules["speak_in_market"]:
            actions = [line for line in actions if not line.startswith("- speak:")]
        if self._rules["trade_stars"]:
            actions = [line.replace("- trade:", f"- {STARS}trade:") for line in actions]
        if self._scene.persona == "architect" and self._rules["list_architect_skills"]:
            actions += [fill(self._own["skills"][skill], self._numbers()) for skill in SKILLS]
        if self._scene.contests:
            actions.append(_action_line(Offer(name=CONTEST), self._rooms))
        return "\n".join(actions)

    def _numbers(self) -> Slots:
        rules, scene = self._rules, self._scene
        flat = {f"{group}_{name}": value for group, prefix in _GROUPS.items() for name, value in rules[prefix].items()}
        return {
            **rules,
            **flat,
            "epochs": scene.turns,
            "agents": scene.residents_start,
            "capacity": rules["capacity"]["alley"] or scene.residents_start,
            "base_tax_rate": rules["tax_rate"],
            "crisis_chance": _percent(rules["crisis"]["p"]),
            "leak": _percent(rules["leak"]),
            "leak_observer": _percent(rules["leak_observer"]),
            "leak_total": _percent(Fraction(rules["leak"]) + Fraction(rules["leak_observer"])),
        }


def _action_line(offer: Offer, room: texts.Tables) -> str:
    head, said = [f"- {offer.name}"], room["words"]
    if offer.target != "none":
        head.append(said["target_agent"] if offer.target == "agent" else said["target_place"])
    if offer.amount is not None:
        head.append(filled(said["amount"], {"least": offer.amount.min, "most": offer.amount.max}))
    label = offer.label or room["labels"].get(offer.name, offer.name)
    text = f"{label}. {offer.help}" if offer.help else label
    notes = [*_notes(offer, said), *([f"({'/'.join(offer.goals)})"] if offer.goals else [])]
    return f"{' '.join(head)}: {text}{' — ' + ', '.join(notes) if notes else ''}"


def _notes(offer: Offer, said: texts.Words) -> Iterator[str]:
    for line, numbers in ((said["cost"], offer.cost), (said["gain"], offer.gain), (said["give"], offer.give)):
        what = ", ".join(_moved(numbers, said))
        if what:
            yield filled(line, {"what": what})
    for name, value in offer.take.items():
        yield filled(said["take"], {"what": f"{name} {_amount(value, said)}"})


def _moved(numbers: Amounts, said: texts.Words) -> Iterator[str]:
    for line, value in ((said["energy"], numbers.energy), (said["influence"], numbers.influence)):
        if value:
            yield filled(line, {"value": _amount(value, said)})


def _amount(value: object, said: texts.Words) -> str:
    return said["named"] if value == "amount" else str(value)


_GROUPS: Final = {"energy": "energy", "decay": "decay", "cost": "costs", "reward": "rewards", "crisis": "crisis"}


def _percent(part: Any) -> str:
    share = Fraction(part) * 100
    return str(share.numerator) if share.denominator == 1 else str(float(share))
