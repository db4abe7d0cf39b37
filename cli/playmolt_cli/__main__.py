"""`python -m playmolt_cli` is `playmolt`."""

from playmolt_cli.main import main

main()
