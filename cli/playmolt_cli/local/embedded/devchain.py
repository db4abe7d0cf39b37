"""The program of the development chain."""

from pathlib import Path

from playmolt_cli.local.embedded.child import PYTHON


def devchain(folder: Path, port: int) -> list[str]:
    """The command that serves the chain kept in `folder`; its money is that of EVM_FUNDED_KEY in its environment."""
    return [*PYTHON, "-m", "playmolt_devchain", "--folder", str(folder), "--port", str(port)]
