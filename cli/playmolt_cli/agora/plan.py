"""A plan as a command is given it: a file with what it imports, or one that comes with the software."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from playmolt_agora.plan import document, reading
from playmolt_agora.plan import plan as plans
from playmolt_core.llm.catalogue import load
from playmolt_schemas.agora.plan import Plan, Preview
from playmolt_schemas.codes import FieldFault

from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

_HOW: Final = "`playmolt agora plan --example` prints one with comments"
_IMPORT_BYTES: Final = 16 * 1024 * 1024


class Chosen(msgspec.Struct, frozen=True):
    """A plan that reads. `body` is what opens the experiment: the text as it was written, or what it imports with it.

    `identity` stays the same when only the budget or the writing changes.
    """

    name: str
    plan: Plan
    body: Any
    identity: str

    @property
    def key(self) -> str:
        """The idempotency key under which this plan is locked once."""
        return f"agora-run-{self.identity}"


def chosen(file: str | None, preset: str | None) -> Chosen:
    """Read the plan in a file, or the preset that is named. Raises Failure with every fault of it."""
    name, text, folder = _text(file, preset)
    imported = _imported(reading.imports(text), folder)
    plan = reading.read(text, imported)
    if not isinstance(plan, Plan):
        raise Failure(f"{name} is no plan that could run; {_HOW}\n{told(plan)}")
    return Chosen(name, plan, _body(text, plan, imported), plans.identity(plan))


def text_of(preset: str | None) -> str:
    """The text of a preset, the commented example without a name. Raises Failure."""
    try:
        return reading.preset(preset) if preset else reading.example()
    except LookupError as error:
        raise Failure(str(error.args[0])) from None


def preview_of(plan: Plan) -> Preview:
    """Work a plan out with the models of PLAYMOLT_MODELS."""
    from playmolt_agora.plan.preview import preview  # noqa: PLC0415 -- numeric libraries that no other command needs

    return preview(plan, load(read_settings().models, os.environ))


def told(faults: Iterable[FieldFault]) -> str:
    return "\n".join(f"  {fault.field + ': ' if fault.field else ''}{fault.message}" for fault in faults)


def _text(file: str | None, preset: str | None) -> tuple[str, str, Path]:
    if preset is not None or file is None:
        if preset is None or file is not None:
            raise Failure(f"give FILE or --preset NAME, one of {', '.join(reading.presets())}; {_HOW}")
        return preset, text_of(preset), Path()
    path = Path(file)
    if not path.exists() and file in reading.presets():
        return file, text_of(file), Path()
    try:
        return file, path.read_text(encoding="utf-8"), path.parent
    except FileNotFoundError:
        raise Failure(f"there is no file {file}, nor a plan of that name; {_HOW}") from None
    except UnicodeDecodeError:
        raise Failure(f"{file} is no text in UTF-8") from None


def _imported(names: Iterable[str], folder: Path) -> Mapping[str, str]:
    found = {}
    for name in names:
        path = folder / name
        try:
            if path.stat().st_size > _IMPORT_BYTES:
                raise Failure(f"stage1_import: {path} is over {_IMPORT_BYTES // 2**20} MiB")
            found[name] = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Failure(f"stage1_import: there is no file {path}; it is looked for beside the plan") from None
        except UnicodeDecodeError:
            raise Failure(f"stage1_import: {path} is no text in UTF-8") from None
    return found


def _body(text: str, plan: Plan, imported: Mapping[str, str]) -> Any:
    """The text as it stands keeps its comments in the lock; an imported file has to come along inside."""
    if not imported:
        return text
    return document.plain(document.load(text)) | {"stage1_import": msgspec.to_builtins(plan.stage1_import)}
