"""`make bench`: every figure in one run, as a table of ratios."""

from rich.console import Console
from rich.table import Table

from bench import actions, agora, match, memory, ratings, replay


def main() -> None:
    table = Table("what", "product", "beside it", "ratio", title="product beside what a user would write instead")
    for module in (replay, memory, ratings, match, actions, agora):
        for row in module.rows():
            table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
