"""The program of the development chain."""

from pathlib import Path

from playmolt_jury.chain import keys

from playmolt_cli.local.embedded.child import PYTHON


def devchain(folder: Path, port: int, key: str) -> list[str]:
    """The command that serves the chain kept in `folder`; its money is the key's."""
    funded = keys.address_of(bytes.fromhex(key.removeprefix("0x")))
    options = ["--folder", str(folder), "--port", str(port), "--funded", funded]
    return [*PYTHON, "-m", "playmolt_devchain", *options]
