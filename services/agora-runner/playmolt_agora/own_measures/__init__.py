"""Measures of the researcher's own: what they declare, and how they run in a process of their own."""
