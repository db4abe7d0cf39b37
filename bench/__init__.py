"""The product beside its floor and beside what a user would write instead. Each part has `rows(size)`, and of sizes the
`WHOLE` and a `SHORT` one, which shows that it works and says nothing about speed. A part that can also be played on
another checkout has `sides(size)`."""

Row = tuple[str, str, str, str]
"""What is measured, the product's figure, what stands beside it, their ratio."""
