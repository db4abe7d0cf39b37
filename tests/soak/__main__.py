"""`make soak`: plays all games at the same time while processes are killed and suspended; then compares everything.

No accepted action is lost or doubled, no key or seed leaks, every feed is complete, every stored event folds, and every
game ends. The figures are printed as JSON. The seed determines the faults, their targets and their times; the timing of
everything else depends on the machine.
"""

import argparse
import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

import msgspec
from playmolt_cli.local.embedded import free_port
from playmolt_cli.local.folder import Folder
from playmolt_cli.local.stack import Stack

from tests.soak.course import REPLICAS, figures, soak


@contextmanager
def kept_on_failure() -> Iterator[Path]:
    """A data folder, which is removed if nothing is wrong."""
    folder = Path(mkdtemp(prefix="playmolt-soak-"))
    folder.chmod(0o711)
    try:
        yield folder
    except BaseException:
        print(f"the data and the logs of every process: {folder}")
        raise
    Folder(folder).remove()


def main() -> None:
    """Exit with 1 if anything is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long trouble is made (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the trouble (default: %(default)s)")
    asked = parser.parse_args()
    with kept_on_failure() as folder:
        ports = ("--port", str(free_port()), "--spectator-port", str(free_port()))
        own = {"DATABASE_URL": "", "NATS_URL": ""}
        with ThreadPoolExecutor(1) as hands, Stack(folder, (*REPLICAS, *ports), own) as stack:
            soaked = asyncio.run(soak(stack, hands, folder / "reports", asked.minutes * 60, asked.seed))
            found = figures(stack.run, soaked, folder, asked.minutes * 60, asked.seed)
        print(msgspec.json.format(msgspec.json.encode(found)).decode())
        if found.wrong:
            raise SystemExit(1)
    print("nothing lost, nothing doubled, nothing leaked, nothing left open")


if __name__ == "__main__":
    main()
