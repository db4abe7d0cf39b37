"""Marking what a model named and nobody supplied, wherever it shows."""

import re
from collections.abc import Iterable

from playmolt_schemas.legal import Citation


class Marker:
    """Puts a label behind each of some texts; of those that overlap the longest counts."""

    def __init__(self, unverified: Iterable[str], label: str) -> None:
        longest_first = sorted(set(unverified), key=lambda text: (-len(text), text))
        self._pattern = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._label = label

    def marked(self, text: str) -> str:
        """Mark a text."""
        return self._pattern.sub(lambda match: self._with_label(match[0]), text) if self._pattern else text

    def cited(self, citation: Citation) -> str:
        """Mark a citation: whole, where nothing in it is marked by itself."""
        marked = self.marked(citation.text)
        return self._with_label(marked) if citation.unverified and marked == citation.text else marked

    def _with_label(self, text: str) -> str:
        return f"{text} ({self._label})"
