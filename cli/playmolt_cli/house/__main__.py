"""`python -m playmolt_cli.house`: what `playmolt bots house` runs, without the other commands."""

from importlib import import_module

from playmolt_cli.house.command import house


def preload() -> None:
    """Import what the HTTP client imports for its first request."""
    for module in ("httpcore", "anyio._backends._asyncio"):
        import_module(module)


if __name__ == "__main__":
    house()
