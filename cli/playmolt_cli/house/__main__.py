"""`python -m playmolt_cli.house`: what `playmolt bots house` runs, without the other commands."""

from playmolt_cli.house.command import house

if __name__ == "__main__":
    house()
