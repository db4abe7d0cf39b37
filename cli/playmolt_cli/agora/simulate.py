"""`playmolt agora simulate`: checks the promised rates of the estimators on simulated data."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from playmolt_cli.terminal.failures import Failure
from playmolt_cli.terminal.options import echo_json

DRAWS: Final = 1000
SHORT_DRAWS: Final = 200

if TYPE_CHECKING:
    from playmolt_agora.simulation.rows import SimulationRow


def simulate(
    tests: tuple[str, ...], *, draws: int, seed: str, out: Path | None, write: Path | None, check: Path | None,
    as_json: bool,
) -> bool:  # fmt: skip
    """Simulate these tests (default: all), then print, write or compare the rows. True if all rates hold and match."""
    from playmolt_agora.simulation import page, rows  # noqa: PLC0415 -- imports numeric libraries

    unknown = [test for test in tests if test not in rows.TESTS]
    if unknown:
        raise Failure(f"Unknown test: {', '.join(unknown)}. Choose from {', '.join(rows.TESTS)}.")
    texts = _texts(write, check)
    found = rows.simulated(tests or rows.TESTS, draws=draws, seed=seed, each=lambda row: _print_row(row, quiet=as_json))
    if out is not None:
        from playmolt_agora.simulation.page import save  # noqa: PLC0415 -- as above

        save(found, out)
    if write is not None:
        try:
            write.write_text(page.written(texts[write], found), encoding="utf-8")
        except ValueError as error:
            raise Failure(f"{write}: {error}") from None
    apart = list(page.differences(texts[check], found)) if check is not None else []
    for each in apart:
        click.echo(f"{check}: {each}", err=True)
    if as_json:
        echo_json({"rows": found})
    return not apart and all(row.ok is not False for row in found)


def _texts(*paths: Path | None) -> dict[Path, str]:
    """The pages, read before the simulation starts. Raises Failure for an unreadable one."""
    found = {}
    for path in paths:
        if path is None:
            continue
        try:
            found[path] = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise Failure(f"No such file: {path}") from None
        except UnicodeDecodeError:
            raise Failure(f"{path} is not UTF-8 text") from None
    return found


def _print_row(row: "SimulationRow", *, quiet: bool) -> None:
    promised = "" if row.promised_lo is None else f", promised {row.promised_lo:g} to {row.promised_hi:g}"
    verdict = "" if row.ok is None else ": ok" if row.ok else ": NOT OK"
    line = (
        f"{row.test} {row.scenario}, n {row.n}, dispersion {row.dispersion}: {row.quantity} {row.estimate:.3f} "
        f"({row.lo:.3f} to {row.hi:.3f}){promised}{verdict}"
    )
    click.echo(line, err=quiet)
