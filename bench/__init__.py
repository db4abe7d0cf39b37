"""Benchmarks that compare the product with a lower bound (the floor) and with what a user would write instead.

Each part has `rows(size)` and two sizes: WHOLE, and SHORT, which only shows that the part works. A part that can also
run on another checkout of the repository has `sides(size)`.
"""

Row = tuple[str, str, str, str]
"""What is measured, the product's figure, the figure it is compared with, and their ratio."""
