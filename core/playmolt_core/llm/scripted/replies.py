"""Random values that are valid under a JSON Schema, with sentences that fit their field."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from playmolt_core.llm.parsing import schema_faults

Draw = Callable[[str, int], int]
"""Draws an integer from 0 to bound - 1 from the random stream of a name."""

DEPTH: Final = 16

_SENTENCES: Final[Mapping[str, tuple[Sequence[str], Sequence[str]]]] = {
    "issue": (
        ("계약 이행이 지체되었는지", "손해가 발생하였는지", "고지가 제때 이루어졌는지"),
        ("whether performance was late", "whether damage was suffered", "whether notice was given in time"),
    ),
    "question": (
        (
            "통지는 언제 누구에게 이루어졌습니까?",
            "그 사실을 뒷받침하는 자료가 있습니까?",
            "당시 누가 현장에 있었습니까?",
        ),
        ("When and to whom was notice given?", "Is there a record of it?", "Who was present at the time?"),
    ),
    "evidence": (
        ("당사자 사이의 전자우편", "서명된 합의서 사본", "현장에서 작성된 기록"),
        ("the e-mails between the parties", "a copy of the signed agreement", "the record made on site"),
    ),
    "reason": (
        ("제시된 자료가 이 점을 분명히 하지 못하기 때문입니다.", "확인된 사실과 어긋나지 않기 때문입니다."),
        ("The material does not settle this point.", "It agrees with what has been established."),
    ),
    "risk": (
        ("증거가 늦게 제출될 수 있습니다.", "상대방이 절차를 다툴 수 있습니다."),
        ("Evidence may come in late.", "The other side may contest the procedure."),
    ),
    "step": (
        ("빠진 자료를 먼저 확인합니다.", "양측의 입장을 서면으로 정리합니다."),
        ("Look for the missing records first.", "Put both positions in writing."),
    ),
    "thought": (
        ("서두르지 않고 주변을 먼저 살펴본다.", "누구와 이야기할지 생각한다."),
        ("I look around before I hurry.", "I consider whom to talk to."),
    ),
    "title": (("검토 의견", "쟁점 정리"), ("Considerations", "The points at issue")),
    "name": (("김하늘", "이도윤"), ("Robin Hale", "Sasha Grey")),
    "when": (("2025-03-02", "2025-04-11"), ("2025-03-02", "2025-04-11")),
    "": (
        (
            "확인된 사실만으로는 아직 단정하기 어렵습니다.",
            "양측의 설명에는 모두 일리가 있습니다.",
            "이 점은 더 살펴볼 필요가 있습니다.",
        ),
        (
            "The facts so far do not settle it either way.",
            "Both accounts have something to them.",
            "This point deserves a closer look.",
        ),
    ),
}


def sentence(field: str, draw: Draw, *, korean: bool) -> str:
    name = field.lower()
    theme = next((theme for theme in _SENTENCES if theme and theme in name), "")
    options = _SENTENCES[theme][0 if korean else 1]
    return options[draw(f"sentence {field}", len(options))]


def true_to(schema: Mapping[str, object], draw: Draw, *, korean: bool = False) -> object:
    """A valid value with all properties and random choices.

    Raises ValueError for a schema with keywords other than types, bounds, choices and references (such as a pattern):
    such a turn needs its own character.
    """
    value = _Maker(schema, draw, korean).make(schema, "")
    if faults := schema_faults(value, schema):
        raise ValueError(f"no generic reply is valid under this schema; add a character for it: {'; '.join(faults)}")
    return value


class _Maker:
    def __init__(self, root: Mapping[str, object], draw: Draw, korean: bool) -> None:
        self._root = root
        self._draw = draw
        self._korean = korean

    def make(self, schema: Mapping[str, Any], path: str) -> Any:
        if path.count(".") > DEPTH:
            raise ValueError("the schema is infinitely recursive; add a character for it")
        if "$ref" in schema:
            return self.make(self._referred(str(schema["$ref"])), path)
        if "const" in schema:
            return schema["const"]
        choices = schema.get("enum") or schema.get("anyOf") or schema.get("oneOf")
        if choices:
            chosen = choices[self._draw(f"choice {path}", len(choices))]
            return chosen if "enum" in schema else self.make(chosen, path)
        kinds = schema.get("type", "object" if "properties" in schema else "string")
        kind = kinds if isinstance(kinds, str) else kinds[self._draw(f"type {path}", len(kinds))]
        makers = {"object": self._object, "array": self._array, "string": self._string, "boolean": self._boolean}
        if kind in ("integer", "number"):
            return self._integer(schema, path)
        return makers[kind](schema, path) if kind in makers else None

    def _referred(self, reference: str) -> Mapping[str, object]:
        target: object = self._root
        for part in reference.removeprefix("#").strip("/").split("/"):
            target = target.get(part) if isinstance(target, Mapping) else None
        return target if isinstance(target, Mapping) else {}

    def _object(self, schema: Mapping[str, Any], path: str) -> dict[str, Any]:
        return {name: self.make(part, f"{path}.{name}") for name, part in schema.get("properties", {}).items()}

    def _array(self, schema: Mapping[str, Any], path: str) -> list[Any]:
        least = int(schema.get("minItems", 1))
        most = int(schema.get("maxItems", max(least, 2)))
        least = min(least, most)
        wanted = least + self._draw(f"count {path}", most - least + 1) if most - least < 3 else least + 1
        made: list[Any] = []
        for number in range(wanted * 8):
            item = self.make(schema.get("items", {}), f"{path}[{number}]")
            if item not in made:
                made.append(item)
            if len(made) == wanted:
                break
        repeats = [] if schema.get("uniqueItems") or not made else made * wanted
        return (made + repeats)[:wanted]

    def _string(self, schema: Mapping[str, Any], path: str) -> str:
        field = path.split("[", maxsplit=1)[0].rpartition(".")[2] if path.endswith("]") else path.rpartition(".")[2]
        text = sentence(field, lambda name, bound: self._draw(f"{path} {name}", bound), korean=self._korean)
        while len(text) < int(schema.get("minLength", 0)):
            text += f" {text}"
        return text[: schema.get("maxLength")]

    def _boolean(self, _: Mapping[str, object], path: str) -> bool:
        return self._draw(f"boolean {path}", 2) == 1

    def _integer(self, schema: Mapping[str, Any], path: str) -> int:
        least = int(schema.get("minimum", int(schema.get("exclusiveMinimum", -1)) + 1))
        most = int(schema.get("maximum", int(schema.get("exclusiveMaximum", least + 10)) - 1))
        step = int(schema.get("multipleOf", 1)) or 1
        first = -(-least // step)
        return (first + self._draw(f"integer {path}", max(most // step - first, 0) + 1)) * step
