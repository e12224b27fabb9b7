"""Engine of statements: tables in, a frame out, every failure as an error that says what to do."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from dashwright.common.errors import BadRequest, DashwrightError, DeadlineExceeded, TooLarge, Unavailable
from dashwright.common.fair_limiter import FairLimiter
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.sql.engine_errors import explained
from dashwright.expressions.sql.pipe import Wait
from dashwright.expressions.sql.relation import Relation, Statement
from dashwright.expressions.sql.results import MalformedResult, frame_of
from dashwright.expressions.sql.sandbox import ChildEnded, ChildResponse, Fence, NoChild, Sandbox
from dashwright.expressions.sql.shared_tables import TextTooLong, sizes

_log = structlog.get_logger()

_UNKNOWN_COLUMN = re.compile(r'(?:Referenced column|does not have a column named|Referenced table) "(?P<name>(?:[^"]|"")*)"')
_OUT_OF_MEMORY = ("OutOfMemoryException", "MemoryError")
_SHOWN_COLUMNS = 50

#: More statements than queries, jobs and panels of pictures can run at the same time.
_WAITING = 256


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The result of a statement."""

    frame: Frame
    is_cut: bool  #: More rows matched than may be returned.


class SqlEngine:
    """Runs ``slots`` statements concurrently, each within ``limits``.

    A request takes a slot of ``limiter`` before it selects.
    """

    def __init__(self, limits: Limits, *, slots: int) -> None:
        self.sandbox = Sandbox(Fence(limits.sql_bytes, limits.sql_seconds, _macros), slots)
        advice = "try again in a moment (setting DASHWRIGHT_SQL_SLOTS)"
        self.limiter = FairLimiter(slots, waiting=_WAITING, subject="queries with sql expressions", advice=advice)

    def warm(self, seconds: float) -> None:
        """Start the first child and parse a first statement, so that no caller waits for that. Raises Unavailable."""
        until = time.monotonic() + seconds

        def wait() -> float:
            if (left := until - time.monotonic()) <= 0:
                raise NoChild(f"the process for statements was not ready within {seconds:g} s")
            return left

        try:
            self.sandbox.warm(wait)
        except NoChild as error:
            raise Unavailable(str(error), message_id="sse.sql.unavailable") from error
        from dashwright.expressions.sql import statement

        statement.warm()

    def read(self, text: str, ref_id: str) -> Statement:
        """Return the statement that ``ref_id`` is.

        Raises BadRequest with a ``message_id`` of ``sse.sql``, and the place where it is known.
        """
        # The parser takes a fifth of the time that all imports do, and only workers with the feature need it.
        from dashwright.expressions.sql.statement import read

        return read(text, ref_id)

    def stop(self) -> None:
        """Stop running statements with an error, and end all processes."""
        self.sandbox.stop()

    def select(self, ref_id: str, sql: str, relations: Mapping[str, Relation], limits: Limits) -> SqlResult:
        """Run a statement of DuckDB's SQL in the caller's thread until it ends or the deadline passes.

        Raises an error of the tree.
        """
        _check_room(ref_id, relations, limits)
        request = {"sql": sql, "cells": limits.sql_output_cells, "bytes": limits.sql_bytes}
        try:
            response = self.sandbox.run(request, relations, _waiting(limits), lambda: _working(ref_id, limits))
            if "error" not in response.head:
                return SqlResult(frame_of(response), bool(response.head["cut"]))
        except NoChild as error:
            raise Unavailable(f"sql expression [{ref_id}] was not run: {error}; try again", message_id="sse.sql.unavailable") from error
        except ChildEnded as error:
            raise _ended(ref_id, error) from error
        except (OSError, TextTooLong) as error:
            found = f"the tables of sql expression [{ref_id}] do not fit into memory"
            raise TooLarge(f"{found}; ask for a shorter time range, or reduce before you select", message_id="sse.limit") from error
        except (MalformedResult, KeyError) as error:
            raise DashwrightError(f"the response to sql expression [{ref_id}] cannot be read: {error}") from error
        raise _failed(ref_id, response, relations, limits)


def _macros() -> Sequence[str]:
    # Imported while the first child starts, which is another process.
    from dashwright.expressions.sql.macros import MACROS

    return MACROS


def _check_room(ref_id: str, relations: Mapping[str, Relation], limits: Limits) -> None:
    """Raise TooLarge if the tables are too large. Runs before they are laid out, and counts no further than needed."""
    size = 0
    for relation in relations.values():
        for part in sizes(relation):
            size += part
            if size > limits.sql_bytes:
                found = f"the tables of sql expression [{ref_id}] take {size} bytes or more"
                raise limits.refusal("sql_bytes", found, "ask for a shorter time range, or reduce before you select")


def _waiting(limits: Limits) -> Wait:
    def wait() -> float:
        limits.deadline.check()
        return limits.deadline.left

    return wait


def _working(ref_id: str, limits: Limits) -> Wait:
    ends = time.monotonic() + limits.sql_seconds

    def wait() -> float:
        limits.deadline.check()
        left = ends - time.monotonic()
        if left <= 0:
            raise DeadlineExceeded(
                f"sql expression [{ref_id}] timed out after {limits.sql_seconds:g}s (setting DASHWRIGHT_SQL_SECONDS); select from less, "
                "or join on more columns",
                message_id="sse.sql.timeout",
            )
        return min(left, limits.deadline.left)

    return wait


def _ended(ref_id: str, error: ChildEnded) -> Unavailable:
    _log.warning("sql_child_ended", ref_id=ref_id, reason=str(error))
    return Unavailable(
        f"the process that ran sql expression [{ref_id}] is gone: {error}; try again, and select from less if that does not help: "
        "it may have needed more memory than is available",
        message_id="sse.sql.process_ended",
    )


def _failed(ref_id: str, response: ChildResponse, relations: Mapping[str, Relation], limits: Limits) -> DashwrightError:
    kind = str(response.head["error"])
    text = str(response.head.get("text", "")).partition("\n\nLINE ")[0].strip()
    if kind in _OUT_OF_MEMORY or "Out of Memory Error" in text:
        return TooLarge(
            f"sql expression [{ref_id}] needs more memory than the {limits.sql_bytes} bytes allowed (setting DASHWRIGHT_SQL_BYTES); "
            "select from less, or group and filter before you join",
            message_id="sse.limit",
        )
    if kind == "BinderException" and (unknown := _UNKNOWN_COLUMN.search(text)):
        return BadRequest(
            f"sql expression [{ref_id}] failed because it selects from a column (refId/query) that does not exist: "
            f"{unknown['name']}; {_columns_of(relations)}",
            message_id="sse.sql.column_not_found",
        )
    return BadRequest(
        f"sql expression [{ref_id}] failed due to error from the sql expression engine: {explained(kind, text)}; {_columns_of(relations)}",
        message_id="sse.sql.general_gms_error",
    )


def _columns_of(relations: Mapping[str, Relation]) -> str:
    if not relations:
        return "the statement selects from no table"
    return "the tables are " + "; ".join(f"{name}: {_names(relation)}" for name, relation in relations.items())


def _names(relation: Relation) -> str:
    names: Sequence[Any] = [column.name for column in relation.columns]
    more = len(names) - _SHOWN_COLUMNS
    return ", ".join(names[:_SHOWN_COLUMNS]) + (f" and {more} more" if more > 0 else "")
