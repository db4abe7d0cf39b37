"""Whoever reads the output may go before its end (`| head`): a command then ends, and nothing complains."""

import subprocess
import sys

import pytest

PROGRAM = """
import asyncio

import click
from playmolt_cli.terminal.failures import CommandGroup
from playmolt_cli.terminal.terminal_text import TerminalText, console

page = TerminalText(console())


@click.group(cls=CommandGroup)
def cli() -> None: ...


@cli.command()
def echoes() -> None:
    while True:
        click.echo("a line")


@cli.command()
def tells() -> None:
    while True:
        page.line("a line")


async def telling() -> None:
    while True:
        page.line("a line")
        await asyncio.sleep(0)


async def echoing() -> None:
    try:
        while True:
            click.echo("a line")
            await asyncio.sleep(0)
    finally:
        click.echo("the last line")


async def together() -> None:
    await asyncio.gather(telling(), echoing(), telling(), echoing())


@cli.command()
def waits() -> None:
    asyncio.run(asyncio.wait_for(telling(), 60))


@cli.command()
def gathers() -> None:
    asyncio.run(together())


cli()
"""


@pytest.mark.parametrize("command", ["echoes", "tells", "waits", "gathers"])
def test_a_reader_that_goes_ends_the_command_without_a_word(command: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, command], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"a line\n"
        process.stdout.close()
        assert (process.stderr.read(), process.wait(60)) == (b"", 1)
