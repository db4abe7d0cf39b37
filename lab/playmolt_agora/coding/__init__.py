"""Thoughts that people and models code, and the sheets on which people do."""
