"""The workers of a tournament: they pair rounds, seat tables, watch games and close seasons."""
