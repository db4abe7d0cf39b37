"""What texts are compared by."""

import unicodedata


def plain(text: str) -> str:
    """A text's letters, marks and figures, case folded."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return "".join(char for char in folded if unicodedata.category(char)[0] in "LMN")
