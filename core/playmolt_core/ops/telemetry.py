"""Log lines as JSON, one a line. Ids, types and sizes only: never a payload, a key or a secret of a game."""

import io
import logging
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TextIO, cast


@contextmanager
def _hidden(library: str) -> Iterator[None]:
    """Let modules imported inside find that a library is not installed, unless it is in use already."""
    if library in sys.modules:
        yield
        return
    sys.modules[library] = None  # type: ignore[assignment]  # importlib: there is none
    try:
        yield
    finally:
        del sys.modules[library]


# structlog would draw tracebacks with rich, which is there beside the command line: a fifth of a service's start.
with _hidden("rich"):
    import structlog

LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}

_carried: ContextVar[str] = ContextVar("carried", default="")


@contextmanager
def about(carried: str) -> Iterator[None]:
    """Mark the log lines of this task inside with the trace they belong to (W3C traceparent; "" for none)."""
    token = _carried.set(carried)
    try:
        yield
    finally:
        _carried.reset(token)


def trace_id(carried: str) -> str:
    """The 32 hex digits that name the trace of a W3C traceparent; "" for none."""
    return carried[3:35]


def _name_trace(
    _: structlog.typing.WrappedLogger, __: str, line: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    carried = _carried.get()
    if carried:
        line.setdefault("trace_id", trace_id(carried))
    if not line.get("trace_id", "-"):
        del line["trace_id"]
    return line


class _StandardError(io.TextIOBase):
    """Standard error, where a line that cannot be written is dropped.

    A full disk under a log file must cost lines, never the answer or the commit that a line was about.
    """

    def write(self, text: str) -> int:
        with suppress(OSError):
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


def configure(service: str, level: str = "info") -> None:
    """Send every log line of this process, libraries' included, to standard error as JSON with the service's name."""
    out = cast("TextIO", _StandardError())
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        _name_trace,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer()],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(out),
        cache_logger_on_first_use=False,  # else what one command set up would hold for the rest of a process
    )
    structlog.contextvars.bind_contextvars(service=service)
    formatter = structlog.stdlib.ProcessorFormatter(
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()],
        foreign_pre_chain=shared,
    )
    handler = logging.StreamHandler(out)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(LEVELS[level], logging.WARNING))


def where(error: BaseException) -> str:
    """The frames of an error without its message and its variables: these may hold a key or a hidden move."""
    return "".join(traceback.format_tb(error.__traceback__))


def log(name: str) -> structlog.typing.FilteringBoundLogger:
    logger: structlog.typing.FilteringBoundLogger = structlog.get_logger(room=name)
    return logger
