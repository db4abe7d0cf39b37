"""Lists the contents of the image in CycloneDX: the base image, our packages, and the pinned packages of the lock."""

import re
import uuid
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from typing import Final

from cyclonedx.exception import CycloneDxException
from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, XsUri
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.license import License
from cyclonedx.output import make_outputter
from cyclonedx.schema import OutputFormat, SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from deploy.release.source import DIST, ROOT, Unfit, base_image, committed_at, members, sha256, tag, version

FILE: Final = DIST / "sbom.cdx.json"
LOCK: Final = ROOT / "deploy" / "requirements.lock"
_IMAGE: Final[Mapping[str, str]] = {
    "implementation_name": "cpython", "platform_python_implementation": "CPython", "os_name": "posix",
    "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64",
}  # fmt: skip
_SCHEMA: Final = SchemaVersion.V1_6


def make() -> str:
    bom = Bom(serial_number=uuid.uuid5(uuid.NAMESPACE_URL, f"playmolt:{tag()}"))
    bom.metadata.timestamp = committed_at()
    root = Component(name="playmolt", version=tag(), type=ComponentType.CONTAINER, bom_ref=f"playmolt@{tag()}")
    bom.metadata.component = root
    parts = [_base_image(), *_own(), *_pinned(LOCK.read_text("utf-8"))]
    bom.components.update(parts)
    bom.register_dependency(root, parts)
    text = make_outputter(bom, OutputFormat.JSON, _SCHEMA).output_as_string(indent=2) + "\n"
    fault = JsonStrictValidator(_SCHEMA).validate_str(text)
    if fault:
        raise Unfit(f"it is not valid {_SCHEMA.to_version()}: {fault}")
    DIST.mkdir(parents=True, exist_ok=True)
    FILE.write_text(text, "utf-8")
    return f"{len(parts)} components"


def _base_image() -> Component:
    name, _, its_tag = base_image().partition(":")
    url = PackageURL("oci", None, name, None, {"tag": its_tag})
    return Component(name=name, version=its_tag, type=ComponentType.CONTAINER, purl=url, bom_ref=url.to_string())


def _own() -> Iterator[Component]:
    for member in members():
        (name,) = re.findall(r'^name = "([^"]+)"', (member / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
        wheels = list((DIST / "wheels").glob(f"{name.replace('-', '_')}-{version()}-*.whl"))
        yield _library(name, version(), [sha256(wheel) for wheel in wheels])


def _pinned(lock: str) -> Iterator[Component]:
    environment = dict(_IMAGE) | {"python_version": _python(), "python_full_version": f"{_python()}.0"}
    for entry in re.sub(r"\\\n\s*", " ", lock).splitlines():
        if not entry.strip() or entry.lstrip().startswith("#"):
            continue
        requirement = Requirement(entry.split(" --hash", 1)[0])
        if requirement.marker and not requirement.marker.evaluate(environment):
            continue
        (pin,) = requirement.specifier
        yield _library(canonicalize_name(requirement.name), pin.version, re.findall(r"--hash=sha256:(\w+)", entry))


def _python() -> str:
    """The minor version of the image's Python."""
    return ".".join(base_image().partition(":")[2].split(".")[:2])


def _library(name: str, its_version: str, hashes: list[str]) -> Component:
    """A package, with the hashes of those of its files that may be installed."""
    url = PackageURL("pypi", None, name, its_version)
    found = [HashType(alg=HashAlgorithm.SHA_256, content=each) for each in hashes]
    files = [ExternalReference(type=ExternalReferenceType.DISTRIBUTION, url=XsUri(url.to_string()), hashes=found)]
    return Component(
        name=name, version=its_version, purl=url, bom_ref=url.to_string(),
        external_references=files if found else None, licenses=_license(name, its_version),
    )  # fmt: skip


def _license(name: str, its_version: str) -> list[License]:
    """The license expression of the installed package; empty if this version is not installed."""
    try:
        found: Distribution = distribution(name)
    except PackageNotFoundError:
        return []
    said = found.metadata.get_all("License-Expression") or []
    if found.version != its_version:
        return []
    try:
        return [LicenseFactory().make_from_string(each) for each in said]
    except CycloneDxException:
        return []
