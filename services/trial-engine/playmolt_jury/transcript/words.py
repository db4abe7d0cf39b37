"""What a transcript says besides what was said in the session, in the session's language."""

from functools import cache
from importlib.resources import files

import msgspec
from playmolt_schemas.games.jury import Language


class Words:
    """Texts by key, `{name}` where a value is put."""

    def __init__(self, texts: dict[str, str]) -> None:
        self._texts = texts

    def __call__(self, key: str, **values: object) -> str:
        found = self._texts[key]
        for name, value in values.items():
            found = found.replace(f"{{{name}}}", str(value))
        return found


@cache
def words(language: Language) -> Words:
    source = files("playmolt_jury").joinpath("data", f"transcript.{language}.json").read_text("utf-8")
    return Words(msgspec.json.decode(source, type=dict[str, str]))
