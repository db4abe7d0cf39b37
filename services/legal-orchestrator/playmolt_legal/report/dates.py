"""Dates as people write them."""

from datetime import UTC, datetime
from typing import Final

from playmolt_schemas.games.legal import Language

_MONTHS: Final = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def read(at: str) -> datetime:
    return datetime.fromisoformat(at).astimezone(UTC)


def told(at: str, language: Language) -> str:
    time = read(at)
    clock = f"{time.hour:02}:{time.minute:02}"
    if language == "ko":
        return f"{time.year}년 {time.month}월 {time.day}일 {clock} (UTC)"
    if language == "zh":
        return f"{time.year}年{time.month}月{time.day}日 {clock}（UTC）"
    return f"{time.day} {_MONTHS[time.month - 1]} {time.year}, {clock} UTC"
