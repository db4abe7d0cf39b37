"""`make release`: one version, a tag for each commit, and everything in `dist` listed, pinned and told of."""

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_public_key

from deploy.release.source import MIGRATIONS, changed_migrations
from tests.deploy.manifests import OVERLAYS, ROOT, Json, containers, render, templates
from tests.deploy.test_image import OWN, locked

VERSION = (ROOT / "VERSION").read_text().strip()
TAG = re.compile(re.escape(VERSION) + r"-g[0-9a-f]{7}(\.dirty)?")


def release(dist: Path, **variables: str) -> "subprocess.CompletedProcess[str]":
    kept = {name: value for name, value in os.environ.items() if name not in {"PARTS", "REGISTRY", "PROVENANCE_KEY"}}
    return subprocess.run(
        [sys.executable, "-m", "deploy.release"], cwd=ROOT, env=kept | variables | {"DIST": str(dist)},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything but the image, signed."""
    folder = tmp_path_factory.mktemp("release")
    key = folder / "key.pem"
    key.write_bytes(Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    made = folder / "dist"
    done = release(
        made,
        PARTS="wheels typescript sbom manifests listing provenance",
        PROVENANCE_KEY=str(key),
        REGISTRY="images.example/x",
    )
    assert (done.returncode, done.stderr) == (0, "")
    return made


def files(dist: Path) -> set[str]:
    return {str(path.relative_to(dist)) for path in dist.rglob("*") if path.is_file()}


def test_everything_is_listed_with_its_sum(dist: Path) -> None:
    done = subprocess.run(
        [_which("sha256sum"), "-c", "--strict", "SHA256SUMS"], cwd=dist, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout
    listed = {line.split("  ", 1)[1] for line in (dist / "SHA256SUMS").read_text().splitlines()}
    assert listed == files(dist) - {"SHA256SUMS"}


def test_the_wheels_are_all_our_packages_in_one_version(dist: Path) -> None:
    names = {name.replace("-", "_") for name in OWN if name != "playmolt-workspace"}
    assert {path.name for path in (dist / "wheels").iterdir()} == {f"{n}-{VERSION}-py3-none-any.whl" for n in names}


def test_the_typescript_package_has_the_types_of_every_call(dist: Path) -> None:
    (packed,) = (dist / "typescript").iterdir()
    assert packed.name == f"playmolt-{VERSION}.tgz"
    with tarfile.open(packed) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
        types = archive.extractfile("package/dist/src/index.d.ts")
        assert types is not None
        assert b"./api.js" in types.read()
    assert {"package.json", "README.md", "dist/src/index.js", "dist/src/index.d.ts", "dist/src/api.d.ts"} <= names
    assert not any(name.startswith("src/") for name in names)


def test_the_bill_names_what_the_image_is_installed_from(dist: Path) -> None:
    bill = json.loads((dist / "sbom.cdx.json").read_text())
    assert bill["bomFormat"] == "CycloneDX"
    assert TAG.fullmatch(bill["metadata"]["component"]["version"])
    found = {one["name"]: one for one in bill["components"]}
    lock = locked(ROOT / "deploy" / "requirements.lock")
    elsewhere = re.compile(r"== '(win32|darwin|Windows|emscripten)'")
    linux = {
        name
        for name, pins in lock.items()
        if not all(elsewhere.search(marker.replace('"', "'")) for _, marker, _ in pins)
    }
    assert set(found) == {*linux, *(name for name in OWN if name != "playmolt-workspace"), "python"}
    for name in linux:
        (hashes,) = {hashes for version, _, hashes in lock[name] if version == found[name]["version"]}
        (files,) = found[name]["externalReferences"]
        assert {f"sha256:{each['content']}" for each in files["hashes"]} == hashes
    wheel = next((dist / "wheels").glob("playmolt_core-*.whl"))
    (own,) = found["playmolt-core"]["externalReferences"]
    assert own["hashes"] == [{"alg": "SHA-256", "content": hashlib.sha256(wheel.read_bytes()).hexdigest()}]
    assert "://" not in re.sub(r'"\$schema": "[^"]*"', "", json.dumps(bill))


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_a_rendered_overlay_is_the_overlay_with_this_builds_image(dist: Path, overlay: str) -> None:
    text = (dist / "manifests" / f"{overlay}.yaml").read_text()
    (image,) = set(re.findall(r"images\.example/x/playmolt:(\S+)", text))
    assert TAG.fullmatch(image)
    rendered = [*yaml.load_all(text, Loader=yaml.CSafeLoader)]
    own = f"images.example/x/playmolt:{image}"
    expected = json.dumps(render(overlay)).replace('"playmolt:unreleased"', f'"{own}"')
    assert sorted(rendered, key=json.dumps) == sorted(json.loads(expected), key=json.dumps)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_every_pod_of_ours_gets_the_image_of_a_release(overlay: str) -> None:
    asked = {one["image"] for _, pod in templates(render(overlay)) for one in containers(pod)}
    assert {image for image in asked if "playmolt" in image} == {"playmolt:unreleased"}


def statement(dist: Path) -> Json:
    found: Json = json.loads((dist / "provenance.json").read_text())
    return found


def test_the_provenance_tells_of_everything_that_was_made(dist: Path) -> None:
    told = statement(dist)
    assert told["_type"] == "https://in-toto.io/Statement/v1"
    assert told["predicateType"] == "https://slsa.dev/provenance/v1"
    subjects = {one["name"]: one["digest"]["sha256"] for one in told["subject"]}
    assert set(subjects) == {name for name in files(dist) if not name.startswith(("provenance", "SHA256SUMS"))}
    for name, digest in subjects.items():
        assert hashlib.sha256((dist / name).read_bytes()).hexdigest() == digest
    of = {one["name"]: one["digest"] for one in told["predicate"]["buildDefinition"]["resolvedDependencies"][:-1]}
    commit = subprocess.run(
        [_which("git"), "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    assert of.pop("source") == {"gitCommit": commit.strip()}
    assert of == {name: {"sha256": hashlib.sha256((ROOT / name).read_bytes()).hexdigest()} for name in of}
    assert "deploy/requirements.lock" in of


def test_the_signature_is_of_the_statement_as_dsse_has_it(dist: Path) -> None:
    envelope = json.loads((dist / "provenance.dsse.json").read_text())
    key = load_pem_public_key((dist / "provenance.pub.pem").read_bytes())
    assert isinstance(key, Ed25519PublicKey)
    payload, kind = base64.b64decode(envelope["payload"]), envelope["payloadType"]
    assert payload == (dist / "provenance.json").read_bytes()
    signed = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    signature = base64.b64decode(envelope["signatures"][0]["sig"])
    key.verify(signature, signed)
    with pytest.raises(InvalidSignature):
        key.verify(signature, signed.replace(b"playmolt", b"playmalt"))


def test_a_part_whose_tool_is_absent_is_named_and_the_rest_is_made(tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("bash", "dirname", "git", "env"):
        (programs / name).symlink_to(_which(name))
    done = release(tmp_path / "dist", PARTS="image sbom", PATH=str(programs))
    assert done.returncode == 1
    assert done.stderr == (
        "image: not made: neither buildah nor podman nor docker works here: an image cannot be built without one of"
        " them\n"
    )
    assert files(tmp_path / "dist") == {"sbom.cdx.json", "SHA256SUMS"}


def _which(name: str) -> str:
    found = shutil.which(name)
    assert found, name
    return os.path.realpath(found)


def test_an_unknown_part_is_no_part(tmp_path: Path) -> None:
    done = release(tmp_path / "dist", PARTS="wheel")
    assert done.returncode == 2
    assert "no part is named wheel" in done.stderr


def test_a_released_migration_never_changes(tmp_path: Path) -> None:
    """Compared with every tag: also when the newest tag is of the very commit that is released."""
    folder = tmp_path / MIGRATIONS
    folder.mkdir(parents=True)
    first, second = folder / "0001_pre_schema.sql", folder / "0002_post_rest.sql"

    def git(*arguments: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
        subprocess.run([_which("git"), *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    def commit(tag: str = "") -> None:
        git("add", ".")
        git("commit", "-q", "-m", "change")
        if tag:
            git("tag", tag)

    git("init", "-q")
    first.write_text("SELECT 1;\n")
    commit()
    first.write_text("SELECT 2;\n")
    commit("v0.1.0")
    assert changed_migrations(tmp_path) == [], "before the first tag it could change"
    second.write_text("SELECT 3;\n")
    commit()
    assert changed_migrations(tmp_path) == [], "a new file is no change"
    first.write_text("SELECT 4;\n")
    fault = [f"{MIGRATIONS}/0001_pre_schema.sql (in v0.1.0)"]
    assert changed_migrations(tmp_path) == fault, "not committed"
    commit("v0.2.0")
    assert changed_migrations(tmp_path) == fault, "committed and tagged"
    first.write_text("SELECT 2;\n")
    assert changed_migrations(tmp_path) == [f"{MIGRATIONS}/0001_pre_schema.sql (in v0.2.0)"]
    second.unlink()
    assert changed_migrations(tmp_path)[-1] == f"{MIGRATIONS}/0002_post_rest.sql (in v0.2.0)"


def test_the_version_stands_in_one_file() -> None:
    listed = subprocess.run([_which("git"), "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    asked = re.compile(rf"(?<![\d.]){re.escape(VERSION)}(?![\d.])")
    told = re.compile(
        r"(CHANGELOG\.md|VERSION|findings/.*|.*\.lock|bench/.*package-lock\.json|tests/.*|docs/examples/.*|schemas/.*asyncapi.*)"
    )
    found = [
        name
        for name in listed.splitlines()
        if not told.fullmatch(name) and (path := ROOT / name).is_file() and asked.search(_text(path))
    ]
    assert found == []


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "replace")


def git(folder: Path, *arguments: str) -> None:
    who: Mapping[str, str] = {
        f"GIT_{role}_{what}": "x@example" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    subprocess.run([_which("git"), *arguments], cwd=folder, env={**os.environ, **who}, check=True, capture_output=True)


def test_no_two_commits_share_a_tag_and_changes_show(tmp_path: Path) -> None:
    (tmp_path / "deploy").mkdir()
    script = tmp_path / "deploy" / "tag.sh"
    script.write_text((ROOT / "deploy" / "tag.sh").read_text())
    script.chmod(0o755)
    (tmp_path / "VERSION").write_text("9.8.7\n")
    git(tmp_path, "init", "-q")
    tags = []
    for name in ("one", "two"):
        (tmp_path / name).write_text(name)
        git(tmp_path, "add", ".")
        git(tmp_path, "commit", "-qm", name)
        tags.append(subprocess.run([script], capture_output=True, text=True, check=True).stdout.strip())
    assert len(set(tags)) == 2
    assert all(re.fullmatch(r"9\.8\.7-g[0-9a-f]{7}", each) for each in tags)
    (tmp_path / "two").write_text("changed")
    assert subprocess.run([script], capture_output=True, text=True, check=True).stdout.strip() == f"{tags[1]}.dirty"
