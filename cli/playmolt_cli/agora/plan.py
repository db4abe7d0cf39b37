"""A plan as a command is given it: a file with what it imports, or one that comes with the software."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from playmolt_agora.plan import document, reading
from playmolt_agora.plan import plan as plans
from playmolt_core.llm.catalogue import load
from playmolt_schemas.agora.plan import Plan, PlanFault, Preview
from playmolt_schemas.codes import FieldFault

from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

_HOW: Final = "`playmolt agora plan --example` prints one with comments"
_PLAN_FILES: Final = ("plan.yaml", "plan.yml", "plan.json")
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


class Source(msgspec.Struct, frozen=True):
    """A plan's text before it is read, and what it imports from beside it; `fault` is why there is none."""

    name: str
    text: str = ""
    imported: Mapping[str, str] = {}
    fault: PlanFault | None = None

    @property
    def reading(self) -> reading.Reading:
        if self.fault is not None:
            return reading.Reading(None, (self.fault,))
        return reading.reading(self.text, self.imported)


def source(file: str | None, preset: str | None) -> Source:
    """Find the plan in a file or a folder, or the preset that is named. Raises Failure where there is none."""
    if preset is not None or file is None:
        if preset is None or file is not None:
            raise Failure(f"give PLAN or --preset NAME, one of {', '.join(reading.presets())}; {_HOW}")
        return Source(preset, text_of(preset))
    path = Path(file)
    if not path.exists() and file in reading.presets():
        return Source(file, text_of(file))
    if path.is_dir():
        path = _in_folder(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Failure(f"there is no file {file}, nor a plan of that name; {_HOW}") from None
    except UnicodeDecodeError:
        return Source(path.name, fault=PlanFault("", "is no text in UTF-8", "not_text"))
    return Source(path.name, text, _imported(reading.imports(text), path.parent))


def chosen(file: str | None, preset: str | None) -> Chosen:
    """Read the plan in a file, or the preset that is named. Raises Failure with every fault of it."""
    found = source(file, preset)
    read = found.reading
    if read.plan is None or read.faults:
        raise Failure(f"{file or preset} is no plan that could run; {_HOW}\n{told(_in_file(read.faults, found.name))}")
    return Chosen(
        file or found.name, read.plan, _body(found.text, read.plan, found.imported), plans.identity(read.plan)
    )


def examined(found: Source, *, keys: bool = False) -> Preview:
    """Work a plan out with the models of PLAYMOLT_MODELS; with `keys`, one that is not set is a fault.

    Else it is a warning: nothing is asked of a model here. Raises InvalidCatalogue.
    """
    from playmolt_agora.plan.preview import examined  # noqa: PLC0415 -- numeric libraries that no other command needs

    models = read_settings().models
    catalogue = load(models, os.environ if keys else None)
    preview = examined(found.reading, catalogue)
    unset = sorted(
        {entry.api_key_env for entry in catalogue.models.values() if entry.alias in {m.model for m in preview.models}}
        - os.environ.keys()
        - {""}
    )
    warnings = (*preview.warnings, *(f"{name} is not set: `run` needs that key." for name in unset))
    return msgspec.structs.replace(preview, faults=_in_file(preview.faults, found.name), warnings=warnings)


def text_of(preset: str | None) -> str:
    """The text of a preset, the commented example without a name. Raises Failure."""
    try:
        return reading.preset(preset) if preset else reading.example()
    except LookupError as error:
        raise Failure(str(error.args[0])) from None


def told(faults: Iterable[FieldFault]) -> str:
    return "\n".join(
        f"  {fault}"
        if isinstance(fault, PlanFault)
        else f"  {fault.field + ': ' if fault.field else ''}{fault.message}"
        for fault in faults
    )


def _in_file(faults: Iterable[PlanFault], name: str) -> tuple[PlanFault, ...]:
    return tuple(fault if fault.file else msgspec.structs.replace(fault, file=name) for fault in faults)


def _in_folder(folder: Path) -> Path:
    there = [path for name in _PLAN_FILES if (path := folder / name).is_file()]
    if len(there) != 1:
        found = f"{len(there)} of them" if there else "none"
        raise Failure(f"a folder holds one of {', '.join(_PLAN_FILES)}; {folder} holds {found}")
    return there[0]


def _imported(names: Iterable[str], folder: Path) -> Mapping[str, str]:
    found = {}
    for name in names:
        path = folder / name
        try:
            if path.stat().st_size > _IMPORT_BYTES:
                raise Failure(f"stage1_import: {path} is over {_IMPORT_BYTES // 2**20} MiB")
            found[name] = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            continue  # a fault of the plan, told with its others
        except UnicodeDecodeError:
            raise Failure(f"stage1_import: {path} is no text in UTF-8") from None
    return found


def _body(text: str, plan: Plan, imported: Mapping[str, str]) -> Any:
    """The text as it stands keeps its comments in the lock; an imported file has to come along inside."""
    if not imported:
        return text
    return document.plain(document.load(text)) | {"stage1_import": msgspec.to_builtins(plan.stage1_import)}
