"""The OpenAPI document in the hands of `openapi-generator`: its Java compiles, drops no schema and plays a game.

`openapi-generator` is a program in Java with the libraries that its client needs, but for one annotation.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from playmolt_gateway.routes.documents import openapi_bytes

from tests.clients.conftest import INSTALL_SECONDS
from tests.platforms import Stack

GENERATOR = "openapi-generator-cli==7.26.0"
SECONDS = 200
PLAYER = Path(__file__).with_name("Player.java")
OPTIONS = "annotationLibrary=none,openApiNullable=false,hideGenerationTimestamp=true,supportUrlQuery=false"
CODE_ONLY = "apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false"
QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""A run of seconds is over before its code is worth optimizing."""
ANNOTATION = "package javax.annotation; public @interface Generated { String[] value(); String comments(); }"


@pytest.fixture(scope="module")
def generator() -> Path:
    """The generator's program, installed once for each version."""
    folder = Path(sys.prefix) / "clients" / GENERATOR.replace("==", "-")
    if not (folder / "made").exists():
        install = [Path(sys.prefix) / "bin" / "uv", "pip", "install", "--quiet", "--no-build", "--target", folder]
        subprocess.run([*install, GENERATOR], check=True, timeout=INSTALL_SECONDS)
        (folder / "made").touch()
    (program,) = folder.rglob("openapi-generator.jar")
    return program


@pytest.fixture(scope="module")
def compiled(generator: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The classes of the client and of its player; the sources lie beside them."""
    folder = tmp_path_factory.mktemp("java")
    (folder / "openapi.json").write_bytes(openapi_bytes())
    annotation = folder / "javax" / "annotation" / "Generated.java"
    annotation.parent.mkdir(parents=True)
    annotation.write_text(ANNOTATION, "utf-8")
    run(
        "java", *QUICK, "-jar", generator, "generate", "-g", "java", "--library", "native",
        "-i", folder / "openapi.json", "-o", folder / "client", f"--additional-properties={OPTIONS}",
        "--global-property", CODE_ONLY,
    )  # fmt: skip
    sources = sorted((folder / "client" / "src" / "main").rglob("*.java"))
    run(
        "javac",
        *(f"-J{option}" for option in QUICK),
        "-proc:none",
        "-nowarn",
        "-d",
        folder / "classes",
        "-cp",
        generator,
        annotation,
        PLAYER,
        *sources,
    )
    return folder


def run(*command: str | Path) -> str:
    ended = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-4000:]
    return ended.stdout


def test_no_schema_is_dropped(compiled: Path) -> None:
    made = {path.stem for path in (compiled / "client").rglob("model/*.java")}
    schemas = json.loads(openapi_bytes())["components"]["schemas"]
    objects = {name for name, schema in schemas.items() if schema.get("properties")}
    assert {name for name in objects if not {name, f"Model{name}"} & made} == set()  # `File` is a word of Java's


def test_it_plays_a_game(platform: Stack, generator: Path, compiled: Path) -> None:
    told = run("java", *QUICK, "-cp", f"{compiled / 'classes'}:{generator}", "Player", platform.run.gateway)
    assert len(told.split()) == 6
