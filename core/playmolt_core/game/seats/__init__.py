"""Games with seats: a game opens, fills, starts when it is full, and ends."""
