"""A finished experiment for analysis: typed tables, figures, and the measures over turns of their own."""
