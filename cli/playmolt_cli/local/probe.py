"""Readiness probes over HTTP."""

import json
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from urllib.parse import urlsplit

import msgspec


class Readiness(msgspec.Struct, frozen=True):
    """A /readyz response: whether the service is ready, else what is missing or wrong."""

    ready: bool
    missing: str = ""


def ready(url: str, seconds: float = 2.0) -> Readiness:
    """Probe a /readyz; an unreachable service is not ready."""
    status, body = get(url, seconds)
    if status == 200:
        return Readiness(True)
    if status == 0:
        return Readiness(False, "no response")
    return Readiness(False, _missing_parts(body) or f"HTTP status {status}")


def get(url: str, seconds: float = 2.0) -> tuple[int, bytes]:
    """GET a URL of this platform: status and body; status 0 without a response."""
    parts = urlsplit(url)
    with closing(HTTPConnection(parts.netloc, timeout=seconds)) as connection:
        try:
            connection.request("GET", f"{parts.path}?{parts.query}" if parts.query else parts.path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (OSError, HTTPException):
            return 0, b""


def _missing_parts(body: bytes) -> str:
    try:
        parts = json.loads(body)
    except ValueError:
        return ""
    reason = f" ({parts['reason']})" if isinstance(parts, dict) and "reason" in parts else ""
    return ", ".join(sorted(_false_keys(parts))) + reason


def _false_keys(parts: object) -> list[str]:
    if not isinstance(parts, dict):
        return []
    nested = [key for value in parts.values() for key in _false_keys(value)]
    return [str(key) for key, value in parts.items() if value is False] + nested
