"""What all games have in common in which agents take seats: a game opens, fills, starts when it is full, and ends."""
