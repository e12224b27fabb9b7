"""Structured logs: one JSON object a line on standard error, or readable lines on a terminal.

Context (request, job, trace) is bound once at the edge with ``structlog.contextvars`` and appears on every later line.
"""

import logging
import sys
from collections.abc import MutableMapping
from functools import lru_cache
from typing import Any

import orjson
import structlog

from dashwright.common.observability import tracing

#: Context that a terminal shows only for failures.
_FOR_MACHINES = ("trace_id", "request_id", "service", "route")

_SECRET_WORDS = ("password", "token", "secret", "authorization", "api_key", "cookie")


def _add_trace(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    trace = tracing.current()
    if trace is not None:
        event.setdefault("trace_id", trace.trace_id)
    return event


def _redact(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Redact a value that is logged under the name of a secret, as a last line of defence."""
    for key in filter(_names_a_secret, event):
        event[key] = "[redacted]"
    return event


def _for_terminal(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Keep lines for terminals short. Raises DropEvent for requests that succeeded, which LOG_LEVEL=debug shows."""
    if event["level"] in ("debug", "info"):
        if event["event"] == "request_completed" and event["level"] == "info" and event["status"] < 400:
            raise structlog.DropEvent
        for key in _FOR_MACHINES:
            event.pop(key, None)
    return event


@lru_cache(maxsize=1024)
def _names_a_secret(key: str) -> bool:
    return any(word in key.lower() for word in _SECRET_WORDS)


def configure(service: str, *, level: str = "info", as_json: bool | None = None) -> None:
    """Set up structlog and the standard library's logging for a process. JSON unless standard error is a terminal."""
    if as_json is None:
        as_json = not sys.stderr.isatty()
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _add_trace,
        _redact,
    ]
    own: list[structlog.typing.Processor]
    foreign: list[structlog.typing.Processor]
    factory: structlog.BytesLoggerFactory | structlog.WriteLoggerFactory
    if as_json:
        # The gateway writes a line for each request, so its own lines remain encoded bytes. The standard library needs text.
        own, foreign = [_format_exception, _to_json], [_format_exception, _to_json_text]
        factory = structlog.BytesLoggerFactory(file=sys.stderr.buffer)
    else:
        # Plain, since other formatters show the values of variables, which may be secrets.
        plain = structlog.dev.plain_traceback
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain, pad_event_to=0, pad_level=False)
        is_brief = level != "debug"
        own = [_for_terminal, renderer] if is_brief else [renderer]
        foreign = [renderer]
        factory = structlog.WriteLoggerFactory(file=sys.stderr)
    numeric = logging.getLevelNamesMapping()[level.upper()]
    structlog.configure(
        processors=[*shared, *own],
        wrapper_class=structlog.make_filtering_bound_logger(numeric),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared, processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *foreign]
        )
    )
    logging.basicConfig(handlers=[handler], level=max(numeric, logging.WARNING), force=True)
    # The client libraries log each attempt to reconnect, some with a stack. Dashwright's own events report a loss once.
    for name in ("aio_pika", "aiormq", "asyncpg"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    structlog.contextvars.bind_contextvars(service=service)


def _format_exception(logger: Any, method: str, event: MutableMapping[str, Any]) -> structlog.typing.ProcessorReturnValue:
    return structlog.processors.format_exc_info(logger, method, event) if "exc_info" in event else event


def _to_json(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> bytes:
    return orjson.dumps(event, default=str)


def _to_json_text(logger: Any, method: str, event: MutableMapping[str, Any]) -> str:
    return _to_json(logger, method, event).decode()
