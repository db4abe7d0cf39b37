"""Pairings: who sits at which table of a round, as a function of the log and the seed."""
