"""The program of the development chain."""

from pathlib import Path

from playmolt_jury.chain.deployer import EMBEDDED_DEPLOYER

from playmolt_cli.local.embedded.child import PYTHON


def devchain(folder: Path, port: int) -> list[str]:
    """The command that serves the chain kept in `folder`; its money is the embedded deployer's."""
    options = ["--folder", str(folder), "--port", str(port), "--funded", EMBEDDED_DEPLOYER]
    return [*PYTHON, "-m", "playmolt_devchain", *options]
