"""`python -m playmolt_cli` is `playmolt`."""

from playmolt_cli.main import main

if __name__ == "__main__":
    main()
