"""The program of the development chain."""

from pathlib import Path
from typing import Final

MODULE: Final = "playmolt_devchain"


def arguments(folder: Path, port: int) -> list[str]:
    """Those of a chain that is kept in `folder`; its money is that of EVM_FUNDED_KEY in its environment."""
    return ["--folder", str(folder), "--port", str(port)]
