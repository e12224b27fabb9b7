"""Engine of statements: runs a statement on tables, and turns each failure into an error with advice."""

import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, TooLarge, Unavailable
from dashwright.common.fair_limiter import FairLimiter
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sql.engine_errors import explain
from dashwright.expressions.sql.pipe import RemainingSeconds
from dashwright.expressions.sql.relation import Relation, Statement
from dashwright.expressions.sql.results import MalformedResult, frame_of
from dashwright.expressions.sql.sandbox import ChildEnded, ChildResponse, ChildUnavailable, Sandbox, SandboxSettings
from dashwright.expressions.sql.shared_tables import StringsTooLong, buffer_sizes

_log = structlog.get_logger()

_UNKNOWN_COLUMN = re.compile(r'(?:Referenced column|does not have a column named|Referenced table) "(?P<name>(?:[^"]|"")*)"')
_OUT_OF_MEMORY = ("OutOfMemoryException", "MemoryError")
_MAX_LISTED_COLUMNS = 50

#: Held during deferred imports: threads that import modules of an import cycle concurrently could get partially initialized modules.
_import_lock = threading.Lock()

#: More than the number of statements that queries, jobs and panels of pictures can run concurrently.
_MAX_WAITING_STATEMENTS = 256


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The result of a statement."""

    frame: Frame
    is_truncated: bool  #: Whether rows are missing because of the limit of cells.


class SqlEngine:
    """Engine that runs up to ``slots`` statements concurrently, each within ``limits``.

    A caller of ``select`` must have a slot of ``limiter``.
    """

    def __init__(self, limits: Limits, *, slots: int) -> None:
        self.sandbox = Sandbox(SandboxSettings(limits.sql_bytes, limits.sql_seconds, _load_macros), slots)
        advice = "try again in a moment (setting DASHWRIGHT_SQL_SLOTS)"
        self.limiter = FairLimiter(slots, waiting=_MAX_WAITING_STATEMENTS, subject="queries with sql expressions", advice=advice)

    def warm(self, seconds: float) -> None:
        """Start a child and parse a statement within ``seconds``, so that the first caller need not wait. Raises Unavailable."""
        deadline = time.monotonic() + seconds

        def remaining_seconds() -> float:
            if (seconds_left := deadline - time.monotonic()) <= 0:
                raise ChildUnavailable(f"the process for statements was not ready within {seconds:g} s")
            return seconds_left

        try:
            self.sandbox.warm(remaining_seconds)
        except ChildUnavailable as error:
            raise Unavailable(str(error), message_id="sse.sql.unavailable") from error
        with _import_lock:
            from dashwright.expressions.sql import statement

        statement.warm_up()

    def parse(self, source: str, ref_id: str) -> Statement:
        """Return the parsed statement of the query ``ref_id``.

        Raises BadRequest with a ``message_id`` below ``sse.sql``, and the position of the error if it is known.
        """
        # The import of the parser takes a fifth of the time of all imports, and only workers with SQL expressions need it.
        with _import_lock:
            from dashwright.expressions.sql.statement import parse_statement

        return parse_statement(source, ref_id)

    def stop(self) -> None:
        """Stop running statements with an error, and end all processes."""
        self.sandbox.stop()

    def select(self, ref_id: str, sql: str, relations: Mapping[str, Relation], limits: Limits) -> SqlResult:
        """Return the result of a statement in DuckDB's SQL, run on ``relations`` by table name.

        It blocks the caller's thread until the deadline at most. ``ref_id`` is that of the sql expression, for errors. Raises
        a DashwrightError.
        """
        _check_size(ref_id, relations, limits)
        request = {"sql": sql, "cells": limits.sql_output_cells, "bytes": limits.sql_bytes}
        try:
            response = self.sandbox.run(request, relations, _request_timer(limits), lambda: _statement_timer(ref_id, limits))
            if "error" not in response.header:
                return SqlResult(frame_of(response), bool(response.header["cut"]))
        except ChildUnavailable as error:
            raise Unavailable(f"sql expression [{ref_id}] was not run: {error}; try again", message_id="sse.sql.unavailable") from error
        except ChildEnded as error:
            raise _child_ended_error(ref_id, error) from error
        except (OSError, StringsTooLong) as error:
            message = f"the tables of sql expression [{ref_id}] do not fit into memory"
            raise TooLarge(f"{message}; ask for a shorter time range, or reduce before you select", message_id="sse.limit") from error
        except (MalformedResult, KeyError) as error:
            raise DashwrightError(f"the response to sql expression [{ref_id}] cannot be read: {error}") from error
        raise _statement_error(ref_id, response, relations, limits)


def _load_macros() -> Sequence[str]:
    # Deferred, so that this slow import runs while the process of the first child starts.
    with _import_lock:
        from dashwright.expressions.sql.macros import MACROS

    return MACROS


def _check_size(ref_id: str, relations: Mapping[str, Relation], limits: Limits) -> None:
    """Raise TooLarge if the tables are too large, before their buffers are created."""
    size = 0
    for relation in relations.values():
        for buffer_size in buffer_sizes(relation):
            size += buffer_size
            if size > limits.sql_bytes:
                message = f"the tables of sql expression [{ref_id}] take {size} bytes or more"
                raise limits.refusal("sql_bytes", message, "ask for a shorter time range, or reduce before you select")


def _request_timer(limits: Limits) -> RemainingSeconds:
    """Return a function that returns the remaining seconds of the request."""

    def remaining_seconds() -> float:
        limits.deadline.check()
        return limits.deadline.remaining_seconds

    return remaining_seconds


def _statement_timer(ref_id: str, limits: Limits) -> RemainingSeconds:
    """Return a function that returns the remaining seconds of the statement, which starts now."""
    end = time.monotonic() + limits.sql_seconds

    def remaining_seconds() -> float:
        limits.deadline.check()
        seconds_left = end - time.monotonic()
        if seconds_left <= 0:
            raise DeadlineExceeded(
                f"sql expression [{ref_id}] timed out after {limits.sql_seconds:g}s (setting DASHWRIGHT_SQL_SECONDS); select from less, "
                "or join on more columns",
                message_id="sse.sql.timeout",
            )
        return min(seconds_left, limits.deadline.remaining_seconds)

    return remaining_seconds


def _child_ended_error(ref_id: str, error: ChildEnded) -> Unavailable:
    _log.warning("sql_child_ended", ref_id=ref_id, reason=str(error))
    return Unavailable(
        f"the process that ran sql expression [{ref_id}] is gone: {error}; try again, and select from less if that does not help: "
        "it may have needed more memory than is available",
        message_id="sse.sql.process_ended",
    )


def _statement_error(ref_id: str, response: ChildResponse, relations: Mapping[str, Relation], limits: Limits) -> DashwrightError:
    """Return the error of a statement that failed in the child, with the columns that the statement could select."""
    error_class = str(response.header["error"])
    message = str(response.header.get("text", "")).partition("\n\nLINE ")[0].strip()
    if error_class in _OUT_OF_MEMORY or "Out of Memory Error" in message:
        return TooLarge(
            f"sql expression [{ref_id}] needs more memory than the {limits.sql_bytes} bytes allowed (setting DASHWRIGHT_SQL_BYTES); "
            "select from less, or group and filter before you join",
            message_id="sse.limit",
        )
    if error_class == "BinderException" and (match := _UNKNOWN_COLUMN.search(message)):
        return BadRequest(
            f"sql expression [{ref_id}] failed because it selects from a column (refId/query) that does not exist: "
            f"{match['name']}; {_table_description(relations)}",
            message_id="sse.sql.column_not_found",
        )
    return BadRequest(
        f"sql expression [{ref_id}] failed due to error from the sql expression engine: {explain(error_class, message)}; "
        f"{_table_description(relations)}",
        message_id="sse.sql.general_gms_error",
    )


def _table_description(relations: Mapping[str, Relation]) -> str:
    if not relations:
        return "the statement selects from no table"
    return "the tables are " + "; ".join(f"{name}: {_column_names(relation)}" for name, relation in relations.items())


def _column_names(relation: Relation) -> str:
    names: Sequence[Any] = [column.name for column in relation.columns]
    omitted = len(names) - _MAX_LISTED_COLUMNS
    return ", ".join(names[:_MAX_LISTED_COLUMNS]) + (f" and {omitted} more" if omitted > 0 else "")
