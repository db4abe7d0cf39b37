"""A finished experiment for whoever analyses it: typed tables, figures, and the measures over turns of their own."""
