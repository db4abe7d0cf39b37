"""What texts are compared by."""

import unicodedata
from functools import lru_cache


@lru_cache(maxsize=256)
def plain(text: str) -> str:
    """A text's letters, marks and figures, case folded. Every quote of a session is sought in the same inputs."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] in "LMN")
