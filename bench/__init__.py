"""The product beside its floor and beside what a user would write instead. Each part has `rows(size)`, and of sizes the
`WHOLE` and a `SHORT` one, which shows that it works and says nothing about speed."""

Row = tuple[str, str, str, str]
"""What is measured, the product's figure, what stands beside it, their ratio."""
