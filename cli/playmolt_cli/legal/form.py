"""Fills the form of an open gate: interactively by its JSON Schema, or from options."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec
from playmolt_schemas.games.legal import Gate, Session

from playmolt_cli.legal.prompter import Options, Prompter
from playmolt_cli.legal.texts import LegalTexts
from playmolt_cli.terminal.failures import Failure

Form = dict[str, Any]
Schema = Mapping[str, Any]


def prompt_form(asker: Prompter, session: Session, gate: Gate, before: Form, again: Collection[str] = ()) -> Form:
    """Ask for every field; with `again`, only for those fields."""
    form: Form = {"gate": gate.name}
    for name, rule in gate.schema["properties"].items():
        if name == "gate" or not _wanted(gate.schema, name, rule, form):
            continue
        needed = _needed(gate.schema, name, form)
        kept = again and name not in again and (name in before or not needed)
        value = before.get(name, "") if kept else _ask(asker, session, name, rule, needed=needed)
        if value not in ("", [], {}):
            form[name] = value
    return form


def _conditions(schema: Schema, name: str) -> list[Schema]:
    """The conditions under which a field is required; a field without any is always in the form."""
    return [rule["if"] for rule in schema.get("allOf", ()) if name in rule["then"].get("required", ())]


def _holds(condition: Schema, form: Form) -> bool:
    return all(form.get(name) == rule["const"] for name, rule in condition["properties"].items())


def _wanted(schema: Schema, name: str, rule: Schema, form: Form) -> bool:
    if rule.get("type") == "object" and not rule["properties"]:
        return False
    conditions = _conditions(schema, name)
    return not conditions or any(_holds(condition, form) for condition in conditions)


def _needed(schema: Schema, name: str, form: Form) -> bool:
    return name in schema["required"] or any(_holds(condition, form) for condition in _conditions(schema, name))


def _ask(asker: Prompter, session: Session, name: str, rule: Schema, *, needed: bool) -> Any:
    words, marked = asker.words, asker.page.marker(session).marked
    label = marked(rule.get("title", name))
    if "enum" in rule:
        return asker.choice(label, [(option["const"], option["title"]) for option in rule["oneOf"]])
    match rule["type"]:
        case "boolean":
            return asker.yes(label)
        case "array" if rule["items"]["type"] == "object":
            return _entries(asker, session, name, label)
        case "array":
            most = rule["maxItems"] if rule["maxItems"] < _MANY else None
            return asker.lines(label, needed=needed, offered=_offered(rule, marked), most=most)
        case "object":
            inner = rule["properties"].items()
            required = rule.get("required", ())
            asked = {key: _ask(asker, session, key, field, needed=key in required) for key, field in inner}
            return {key: value for key, value in asked.items() if value not in ("", [], {})}
    return asker.text(label, needed=needed, note=words.say("characters", count=rule["maxLength"]))


_MANY = 10
"""Show the maximum number of list items only if it is below this."""


def _offered(rule: Schema, marked: Callable[[str], str]) -> Options:
    named = [(option["const"], option["title"]) for option in rule["items"].get("anyOf", ()) if "const" in option]
    return named or [(text, marked(text)) for text in rule.get("examples", ())]


def _entries(asker: Prompter, session: Session, name: str, label: str) -> list[Any]:
    words = asker.words
    if name == "answers":
        marked = asker.page.marker(session).marked
        texts = [
            (item.id, asker.text(f"{item.id} {marked(item.text)}", needed=False, note=words.say("leave_open")))
            for item in session.facts.questions
        ]
        return [{"id": identifier, "text": text} for identifier, text in texts if text]
    return prompt_timeline(asker, label) if name == "timeline" else prompt_evidence(asker, label)


def prompt_timeline(asker: Prompter, label: str) -> list[object]:
    words = asker.words
    fields = {"when": words.say("when"), "what": words.say("what")}
    return asker.entries(label, fields, {"agreed": words.say("is_agreed")})


def prompt_evidence(asker: Prompter, label: str) -> list[object]:
    words = asker.words
    return asker.entries(
        label, {"title": words.say("evidence_title"), "description": words.say("evidence_description")}
    )


def prompt_facts(words: LegalTexts, asker: Prompter) -> Form:
    """Ask for all facts of a session."""
    return {
        "overview": asker.paragraph(words.say("overview")),
        "acts": asker.paragraph(words.say("acts")),
        "timeline": prompt_timeline(asker, words.say("timeline")),
        "evidence": prompt_evidence(asker, words.say("evidence")),
        "opposing_claims": asker.paragraph(words.say("opposing_claims"), needed=False),
    }


def with_fields(form: Form, fields: Sequence[str], schema: Schema) -> Form:
    """Add `FIELD=VALUE` options to a form, converted to the field's type; dots address nested fields.

    Repeating a list field appends to it; a JSON list appends all its items. Unknown fields stay text, and the server
    reports them.
    """
    filled = msgspec.json.decode(msgspec.json.encode(form))
    for option in fields:
        path, separator, text = option.partition("=")
        if not (separator and path):
            raise Failure(
                f"--set {option!r} has no field name. Use FIELD=VALUE, for example --set goal=risk_minimization."
            )
        _put(filled, path.split("."), text, schema)
    return dict(filled)


def _put(target: Any, path: Sequence[str], text: str, schema: Schema) -> None:
    name, *rest = path
    rule = schema.get("properties", {}).get(name, {})
    if rest and rule.get("type") == "array":
        target.setdefault(name, []).append({"id": rest[0], "text": text})
    elif rest:
        inner = target.setdefault(name, {})
        if not isinstance(inner, dict):
            raise Failure(f"--set {'.'.join(path)}: {name} already has a value without fields")
        _put(inner, rest, text, rule)
    elif rule.get("type") == "array":
        given = target.setdefault(name, [])
        target[name] = [*(given if isinstance(given, list) else [given]), *_items(text)]
    else:
        target[name] = _FLAGS.get(text.casefold(), text) if rule.get("type") == "boolean" else text


def _items(text: str) -> list[object]:
    try:
        return msgspec.json.decode(text, type=list[object])
    except msgspec.MsgspecError:
        return [text]


_FLAGS = {"true": True, "yes": True, "false": False, "no": False}
