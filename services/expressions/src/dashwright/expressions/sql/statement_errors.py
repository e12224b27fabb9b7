"""Errors of statements, with message ids for clients. They do not know the refId of the query until ``to_bad_request``."""

from abc import ABC, abstractmethod
from typing import ClassVar

from dashwright.common.errors import BadRequest

#: Line and column, from 1.
Position = tuple[int, int]


class StatementError(Exception, ABC):
    """An error of a statement, with its position."""

    message_id: ClassVar[str]

    def __init__(self, reason: str, position: Position | None = None, advice: str = "") -> None:
        super().__init__(reason)
        self.reason, self.position, self.advice = reason, position, advice

    def to_bad_request(self, ref_id: str) -> BadRequest:
        """Return the error of the query ``ref_id``. Its ``details`` have the line and column if the position is known."""
        location = f" (line {self.position[0]}, column {self.position[1]})" if self.position else ""
        details = {"line": str(self.position[0]), "column": str(self.position[1])} if self.position else {}
        return BadRequest(self._message(ref_id) + location + self.advice, message_id=self.message_id, details=details)

    @abstractmethod
    def _message(self, ref_id: str) -> str: ...


class EmptyStatement(StatementError):
    """The statement is empty."""

    message_id = "sse.sql.empty_query"

    def _message(self, ref_id: str) -> str:
        return f"sql expression [{ref_id}] failed because it has an empty SQL query; write a SELECT"


class InvalidStatement(StatementError):
    """The statement cannot be parsed, or has no meaning."""

    message_id = "sse.sql.invalid_query"

    def _message(self, ref_id: str) -> str:
        return f"sql expression [{ref_id}] failed because it has an invalid SQL query: {self.reason}"


class SyntaxNotAllowed(StatementError):
    """The statement contains syntax that is not on the allow list. ``reason`` is its keyword."""

    message_id = "sse.sql.blocked_node_or_func"
    subject: ClassVar[str] = "keyword"

    def _message(self, ref_id: str) -> str:
        reason = f"the sql {self.subject} '{self.reason}' is not in the allowed list of {self.subject}s"
        return f"did not execute the SQL expression {ref_id} because {reason}"


class FunctionNotAllowed(SyntaxNotAllowed):
    """The statement calls a function that is not on the allow list. ``reason`` is its name."""

    subject = "function"
