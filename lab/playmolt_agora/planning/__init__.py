"""What a design can find: attainable p, size and power of its tests, before there is a turn."""
