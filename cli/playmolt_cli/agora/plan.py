"""Plans for the commands: a file with its imports, or a preset."""

import os
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import UNSET
from playmolt_agora_runner.folder import reading as folder_reading
from playmolt_agora_runner.folder import source as folder_source
from playmolt_agora_runner.folder.reading import PlanFolder
from playmolt_agora_runner.plan import document, reading
from playmolt_agora_runner.plan import plan as plans
from playmolt_agora_runner.plan.design import PowerOf
from playmolt_core.llm.catalogue import load
from playmolt_schemas.agora.plan import PlanFault, Preview
from playmolt_schemas.codes import FieldFault
from playmolt_schemas.stored.agora.plan import Plan

from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import read_settings

_HOW: Final = "`playmolt agora plan --example` prints a commented plan"
_PLAN_FILES: Final = ("plan.yaml", "plan.yml", "plan.json")
_IMPORT_BYTES: Final = 16 * 1024 * 1024


class SelectedPlan(msgspec.Struct, frozen=True):
    """A valid plan. `body` opens the experiment: the original text, or the document with its imports.

    `identity` ignores budget and formatting.
    """

    name: str
    plan: Plan
    body: Any
    identity: str
    folder: PlanFolder = PlanFolder()

    @property
    def files(self) -> Mapping[str, str]:
        """The files of the folder that the plan uses, path → text."""
        return self.folder.texts

    @property
    def key(self) -> str:
        """The idempotency key for locking this plan."""
        return f"agora-run-{self.identity}"


class PlanSource(msgspec.Struct, frozen=True, dict=True):
    """A plan's text before parsing, with its imported files; `fault` if the text is unreadable.

    Files are read once: what was checked is what is locked, also if a file changes in between.
    """

    name: str
    text: str = ""
    imported: Mapping[str, str] = {}
    fault: PlanFault | None = None
    beside: Path | None = None
    """The plan's folder."""

    def folder(self, read: reading.ParsedPlan) -> PlanFolder:
        """Read the folder of a plan."""
        plan = read.plan
        if plan is None:
            return PlanFolder()
        named = {"measures": plan.measures, "baselines": plan.baselines}
        if not plan.rooms and not any(chosen or (chosen is UNSET and self._has(at)) for at, chosen in named.items()):
            return PlanFolder()
        return folder_reading.read(plan, folder_source.Source(self.files), read.places)

    @cached_property
    def files(self) -> Mapping[str, str | PlanFault]:
        """The files beside the plan by their path."""
        return folder_files(self.beside) if self.beside else {}

    def _has(self, place: str) -> bool:
        return self.beside is not None and (self.beside / place).is_dir()

    @property
    def reading(self) -> reading.ParsedPlan:
        if self.fault is not None:
            return reading.ParsedPlan(None, (self.fault,))
        return reading.reading(self.text, self.imported)


def source(file: str | None, preset: str | None) -> PlanSource:
    """The plan in a file or folder, or the named preset. Raises Failure if there is none."""
    if preset is not None or file is None:
        if preset is None or file is not None:
            raise Failure(f"Name a FILE or --preset NAME, one of {', '.join(reading.presets())}; {_HOW}.")
        return PlanSource(preset, text_of(preset))
    path = Path(file)
    if not path.exists() and file in reading.presets():
        return PlanSource(file, text_of(file))
    if path.is_dir():
        path = _in_folder(path)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise Failure(f"No file or preset named {file}; {_HOW}.") from None
    except UnicodeDecodeError:
        return PlanSource(path.name, fault=PlanFault("", "is not UTF-8 text", code="not_text"))
    return PlanSource(path.name, text, _imported(reading.imports(text), path.parent), beside=path.parent)


def folder_files(root: Path) -> dict[str, str | PlanFault]:
    """The files of a plan's folder on a disk by their path in it, or why one cannot be read."""
    return {
        f"{name}/{path.name}": _folder_file(f"{name}/{path.name}", path)
        for name in folder_source.FOLDERS
        if (root / name).is_dir()
        for path in (root / name).iterdir()
        if not path.name.startswith((".", "__"))
    }


def _folder_file(path: str, place: Path) -> str | PlanFault:
    if place.is_symlink() or not place.is_file():
        return folder_source.fault(path, "is not a regular file; links are not followed", "unreadable")
    size = place.stat().st_size
    if size > folder_source.FILE_BYTES:
        return folder_source.too_large(path, size)
    try:
        return folder_source.checked(path, place.read_bytes())
    except OSError as error:
        return folder_source.fault(path, f"cannot be read: {error.strerror}", "unreadable")


def selected(file: str | None, preset: str | None) -> SelectedPlan:
    """Read the plan in a file, or the named preset. Raises Failure with all its errors."""
    return valid(source(file, preset), file or preset or "")


def valid(found: PlanSource, name: str) -> SelectedPlan:
    """A plan that was read; `name` is shown. Raises Failure with all its errors."""
    read = found.reading
    folder = found.folder(read)
    faults = _in_file((*read.faults, *read.placed(folder.faults)), found.name)
    if read.plan is None or faults:
        raise Failure(f"{name} is not a valid plan; {_HOW}\n{fault_lines(faults)}")
    body = _body(found.text, read.plan, found.imported)
    return SelectedPlan(name, read.plan, body, plans.identity(read.plan, folder.folder), folder)


def examined(found: PlanSource, *, keys: bool = False) -> Preview:
    """Preview a plan with the models of PLAYMOLT_MODELS. An unset API key is an error with `keys`, else a warning.

    Raises InvalidCatalogue.
    """
    from playmolt_agora.own_measures import running  # noqa: PLC0415 -- numeric libraries that no other command needs
    from playmolt_agora.planning.power import power  # noqa: PLC0415 -- as above
    from playmolt_agora_runner.rehearsal import tried  # noqa: PLC0415

    read = found.reading
    return _examined(found, tried(read.plan, found.folder(read), running.trial_faults), keys=keys, power=power)


def invalid(found: PlanSource) -> bool:
    """Whether a plan has a fault, an unset API key included, that shows without its tests' power or its measures.

    Raises InvalidCatalogue.
    """
    return bool(_examined(found, found.folder(found.reading), keys=True, power=None).faults)


def _examined(found: PlanSource, folder: PlanFolder, *, keys: bool, power: PowerOf | None) -> Preview:
    from playmolt_agora_runner.plan.preview import examined  # noqa: PLC0415

    catalogue = load(read_settings().models, os.environ if keys else None)
    preview = examined(found.reading, catalogue, folder=folder, power=power)
    unset = sorted(
        {entry.api_key_env for entry in catalogue.models.values() if entry.alias in {m.model for m in preview.models}}
        - os.environ.keys()
        - {""}
    )
    warnings = (*preview.warnings, *(f"{name} is not set; `run` needs that key." for name in unset))
    return msgspec.structs.replace(preview, faults=_in_file(preview.faults, found.name), warnings=warnings)


def text_of(preset: str | None) -> str:
    """The text of a preset, or of the commented example. Raises Failure."""
    try:
        return reading.preset(preset or "example")
    except LookupError as error:
        raise Failure(str(error.args[0])) from None


def fault_lines(faults: Iterable[FieldFault], name: str = "") -> str:
    """A line for each fault; `name` is the file of those that the platform names by their line alone."""
    return "\n".join(
        f"  {fault}"
        if isinstance(fault, PlanFault)
        else f"  {name * fault.field.startswith(':')}{fault.field + ': ' if fault.field else ''}{fault.message}"
        for fault in faults
    )


def _in_file(faults: Iterable[PlanFault], name: str) -> tuple[PlanFault, ...]:
    return tuple(fault if fault.file else msgspec.structs.replace(fault, file=name) for fault in faults)


def _in_folder(folder: Path) -> Path:
    there = [path for name in _PLAN_FILES if (path := folder / name).is_file()]
    if len(there) != 1:
        found = f"{len(there)}" if there else "none"
        raise Failure(f"{folder} must contain exactly one of {', '.join(_PLAN_FILES)}; found {found}.")
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
            continue  # reported with the plan's other errors
        except UnicodeDecodeError:
            raise Failure(f"stage1_import: {path} is not UTF-8 text") from None
    return found


def _body(text: str, plan: Plan, imported: Mapping[str, str]) -> Any:
    """The original text, so that the lock keeps its comments; with imports, the document that includes them."""
    if not imported:
        return text
    return document.load(text) | {"stage1_import": msgspec.to_builtins(plan.stage1_import)}
