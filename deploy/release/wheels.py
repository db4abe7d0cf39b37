"""The wheels of all our packages, with one version. A second build gives the same bytes."""

import re
import shutil
import zipfile
from email.parser import Parser
from pathlib import Path

from deploy.release.source import DIST, ROOT, Unfit, committed_at, members, run, tool, version

FOLDER = DIST / "wheels"


def make() -> str:
    shutil.rmtree(FOLDER, ignore_errors=True)
    settled = {"SOURCE_DATE_EPOCH": str(int(committed_at().timestamp()))}
    for member in members():
        build = [tool("uv"), "build", "--quiet", "--wheel", "--no-build-isolation", "--no-create-gitignore"]
        run([*build, "--out-dir", str(FOLDER), str(member)], settled)
    wheels = sorted(FOLDER.glob("*.whl"))
    found = dict(map(_named, wheels))
    expected = {_name(member): version() for member in members()}
    if found != expected:
        raise Unfit(f"the build made {found}, expected {expected}")
    return f"{len(wheels)} wheels of version {version()}"


def _name(member: Path) -> str:
    (name,) = re.findall(r'^name = "([^"]+)"', (member / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    return str(name)


def _named(wheel: Path) -> tuple[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        broken = archive.testzip()
        names = archive.namelist()
        if broken or not any(name.endswith(".py") for name in names):
            raise Unfit(f"{wheel.relative_to(ROOT) if wheel.is_relative_to(ROOT) else wheel} is broken or empty")
        (path,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = Parser().parsestr(archive.read(path).decode())
    return metadata["Name"], metadata["Version"]
