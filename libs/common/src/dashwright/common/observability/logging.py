"""Structured logs on standard error: one JSON object for each event, or plain lines on a terminal.

The request, job and trace are bound once by ``structlog.contextvars`` and appear in all later events of the task.
"""

import logging
import sys
from collections.abc import MutableMapping
from functools import lru_cache
from typing import Any

import orjson
import structlog

from dashwright.common.observability import tracing

#: Fields that a terminal shows only for warnings and errors.
_HIDDEN_ON_TERMINAL = ("trace_id", "request_id", "service", "route")

#: Words in the names of fields whose values are redacted.
_SECRET_WORDS = ("password", "token", "secret", "authorization", "api_key", "cookie")


def _add_trace(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Add the trace of the current task, unless the event names a trace."""
    context = tracing.current()
    if context is not None:
        event.setdefault("trace_id", context.trace_id)
    return event


def _redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Redact values of fields that are named like secrets, although no event should have such fields."""
    for key in filter(_names_a_secret, event):
        event[key] = "[redacted]"
    return event


def _for_terminal(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Remove fields that a terminal does not show. Raises DropEvent for successful requests, which LOG_LEVEL=debug shows."""
    if event["level"] in ("debug", "info"):
        if event["event"] == "request_completed" and event["level"] == "info" and event["status"] < 400:
            raise structlog.DropEvent
        for key in _HIDDEN_ON_TERMINAL:
            event.pop(key, None)
    return event


# Each field of each event is checked, but few names of fields exist.
@lru_cache(maxsize=1024)
def _names_a_secret(key: str) -> bool:
    return any(word in key.lower() for word in _SECRET_WORDS)


def configure(service: str, *, level: str = "info", as_json: bool | None = None) -> None:
    """Configure structlog and the standard library's logging for a process.

    If ``as_json`` is None, logs are JSON unless standard error is a terminal.
    """
    if as_json is None:
        as_json = not sys.stderr.isatty()
    shared_processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_trace,
        _redact,
    ]
    structlog_processors: list[structlog.typing.Processor]
    stdlib_processors: list[structlog.typing.Processor]
    factory: structlog.BytesLoggerFactory | structlog.WriteLoggerFactory
    if as_json:
        # Lines of structlog remain bytes, since the gateway writes one for each request. The standard library needs strings.
        structlog_processors, stdlib_processors = [_format_exception, _to_json], [_format_exception, _to_json_string]
        factory = structlog.BytesLoggerFactory(file=sys.stderr.buffer)
    else:
        # Other formatters show the values of variables, which may be secrets.
        exception_formatter = structlog.dev.plain_traceback
        renderer = structlog.dev.ConsoleRenderer(
            colors=sys.stderr.isatty(), exception_formatter=exception_formatter, pad_event_to=0, pad_level=False
        )
        is_brief = level != "debug"
        structlog_processors = [_for_terminal, renderer] if is_brief else [renderer]
        stdlib_processors = [renderer]
        factory = structlog.WriteLoggerFactory(file=sys.stderr)
    level_number = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared_processors, *structlog_processors],
        wrapper_class=structlog.make_filtering_bound_logger(level_number),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared_processors, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *stdlib_processors]
        )
    )
    logging.basicConfig(handlers=[handler], level=max(level_number, logging.WARNING), force=True)
    # The client libraries log each attempt to reconnect, some with a stack. Dashwright's own events report a loss once.
    for name in ("aio_pika", "aiormq", "asyncpg"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    structlog.contextvars.bind_contextvars(service=service)


def _format_exception(logger: Any, method: str, event: MutableMapping[str, Any]) -> structlog.typing.ProcessorReturnValue:
    """Replace ``exc_info`` by the text of the exception. Most events have none, so the processor of structlog is rarely called."""
    return structlog.processors.format_exc_info(logger, method, event) if "exc_info" in event else event


def _to_json(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> bytes:
    return orjson.dumps(event, default=str)


def _to_json_string(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    return _to_json(logger, method, event).decode()
