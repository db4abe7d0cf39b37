"""A real OpenID provider, the npm package oidc-provider, as a process on loopback."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from playmolt_cli.local.embedded import free_port

PACKAGE = "oidc-provider@9.13.3"
INSTALL_SECONDS = 240
PROGRAM = Path(__file__).with_name("provider.mjs")
CLIENT_ID, CLIENT_SECRET = "arena", "a secret: with +signs"


class RealProvider(NamedTuple):
    issuer: str

    def settings(self, public_url: str) -> dict[str, str]:
        """The environment variables of a platform that uses this provider."""
        return {
            "PLAYMOLT_OIDC_ISSUER": self.issuer,
            "PLAYMOLT_OIDC_CLIENT_ID": CLIENT_ID,
            "PLAYMOLT_OIDC_CLIENT_SECRET": CLIENT_SECRET,
            "PLAYMOLT_PUBLIC_URL": public_url,
        }


def installed(package: str) -> Path:
    """The folder `node_modules` with an npm package, kept beside this interpreter's."""
    folder = Path(sys.prefix) / "npm" / package
    if not (folder / "made").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", package]
        made = subprocess.run(command, cwd=folder, timeout=INSTALL_SECONDS, check=False, capture_output=True, text=True)
        assert made.returncode == 0, made.stdout + made.stderr
        (folder / "made").touch()
    return folder / "node_modules"


@contextmanager
def real_provider(public_url: str) -> Iterator[RealProvider]:
    """Run a provider whose only client is the platform at an address."""
    node = shutil.which("node")
    assert node, "these tests need Node and npm on PATH"
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if name != "NODE_OPTIONS"}
    with TemporaryDirectory() as folder:
        # Copy the module, because it finds packages relative to its own place.
        program = shutil.copy(PROGRAM, folder)
        (Path(folder) / "node_modules").symlink_to(installed(PACKAGE))
        command = [node, program, str(port), f"{public_url}/auth/callback"]
        yield from _running(command, environment, RealProvider(f"http://127.0.0.1:{port}"))


def _running(command: list[str], environment: dict[str, str], provider: RealProvider) -> Iterator[RealProvider]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            ready = process.stdout.readline()
            assert ready == "ready\n", ready
            yield provider
        finally:
            process.kill()
