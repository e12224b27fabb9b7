"""Traces continue those of clients, and logs contain their ids but no secrets."""

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import pytest
import structlog
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.observability import tracing
from dashwright.common.observability.logging import configure

INCOMING = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture(autouse=True, scope="module")
def own_trace_variable() -> Iterator[None]:
    """Keep the traces of this module out of the context of later tests, whose messages would contain them."""
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(tracing, "_current", ContextVar("trace", default=None))
        yield


@contextmanager
def configured_logging(**options: Any) -> Iterator[None]:
    """Log as a service does inside the context, and as the tests do after it."""
    handlers = logging.getLogger().handlers[:]
    level = logging.getLogger().level
    structlog_config = structlog.get_config()
    configure("test-service", **options)
    try:
        yield
    finally:
        structlog.configure(**structlog_config)
        structlog.contextvars.clear_contextvars()
        logging.basicConfig(handlers=handlers, level=level, force=True)


def test_a_trace_continues_with_a_new_span() -> None:
    """The trace id of a valid header is kept, with a new span id."""
    trace = tracing.enter(INCOMING)
    assert trace.trace_id == "0af7651916cd43dd8448eb211c80319c"
    assert trace.span_id != "b7ad6b7169203331"
    assert tracing.current() == trace
    assert tracing.enter(trace.header).trace_id == trace.trace_id


@given(st.one_of(st.none(), st.text(), st.just(INCOMING.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32))))
def test_an_invalid_header_starts_a_trace(header: str | None) -> None:
    """A missing or invalid header, such as one whose trace id is zero, starts a trace with ids of the right length."""
    trace = tracing.enter(header)
    assert len(trace.trace_id) == 32
    assert len(trace.span_id) == 16
    assert set(trace.trace_id) != {"0"}


def test_a_line_is_json_with_its_context_and_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of this project and of libraries are JSON with event and level. Values whose name is that of a secret are redacted."""
    with configured_logging(as_json=True):
        trace = tracing.enter(None)
        structlog.get_logger().info("something_happened", number=1, password="hush", Authorization="Basic hush")
        logging.getLogger("library").warning("mind the gap")
        lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    own_line, library_line = lines
    assert own_line["event"] == "something_happened"
    assert own_line["number"] == 1
    assert own_line["level"] == "info"
    assert own_line["service"] == "test-service"
    assert own_line["trace_id"] == trace.trace_id
    assert own_line["password"] == "[redacted]"
    assert own_line["Authorization"] == "[redacted]"
    assert library_line["event"] == "mind the gap"
    assert library_line["level"] == "warning"


@pytest.mark.parametrize(
    ("level", "expected", "with_trace"),
    [
        ("info", ["failed ", "listening", "warned"], ["warned"]),
        ("debug", ["failed ", "listening", "ok ", "warned"], ["failed ", "listening", "ok ", "warned"]),
    ],
)
def test_a_terminal_shows_short_lines(capsys: pytest.CaptureFixture[str], level: str, expected: list[str], with_trace: list[str]) -> None:
    """Requests that succeed appear only in debug, and identifiers only in warnings, errors and debug logs."""
    with configured_logging(level=level, as_json=False):
        trace = tracing.enter(None)
        log = structlog.get_logger()
        log.info("request_completed", status=200, path="/ok ")
        log.info("request_completed", status=404, path="/failed ")
        log.info("listening")
        log.warning("warned")
        lines = capsys.readouterr().err.splitlines()
    assert len(lines) == len(expected)
    words_with_trace = []
    for word in expected:
        (line,) = [line for line in lines if word in line]
        if trace.trace_id in line:
            words_with_trace.append(word)
    assert words_with_trace == with_trace


@pytest.mark.parametrize("as_json", [True, False], ids=["json", "terminal"])
def test_a_traceback_contains_no_values(capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    """A traceback has the lines of this project and of libraries, and no values of variables."""
    # The source line must not contain the secret, because tracebacks show source lines.
    secret = "".join(("hu", "sh"))
    with configured_logging(as_json=as_json):
        try:
            int(secret[:0])
        except ValueError:
            structlog.get_logger().exception("something_failed")
            logging.getLogger("library").exception("that failed, too")
        output = capsys.readouterr().err
    assert output.count("Traceback (most recent call last)") == 2
    assert "hush" not in output
