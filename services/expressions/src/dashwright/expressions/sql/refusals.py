"""Refusals of statements: errors with the ids that clients know. Code that raises them need not know the refId."""

from abc import ABC, abstractmethod
from typing import ClassVar

from dashwright.common.errors import BadRequest

#: Line and column, from 1.
Position = tuple[int, int]


class Refusal(Exception, ABC):
    """A fault of a statement, with its position."""

    message_id: ClassVar[str]

    def __init__(self, why: str, position: Position | None = None, advice: str = "") -> None:
        super().__init__(why)
        self.why, self.position, self.advice = why, position, advice

    def of(self, ref_id: str) -> BadRequest:
        """Return the error for the statement of ``ref_id``; ``details`` hold ``line`` and ``column`` if they are known."""
        where = f" (line {self.position[0]}, column {self.position[1]})" if self.position else ""
        details = {"line": str(self.position[0]), "column": str(self.position[1])} if self.position else {}
        return BadRequest(self._text(ref_id) + where + self.advice, message_id=self.message_id, details=details)

    @abstractmethod
    def _text(self, ref_id: str) -> str: ...


class EmptyStatement(Refusal):
    """The statement is empty."""

    message_id = "sse.sql.empty_query"

    def _text(self, ref_id: str) -> str:
        return f"sql expression [{ref_id}] failed because it has an empty SQL query; write a SELECT"


class InvalidStatement(Refusal):
    """The statement, or a part of it, cannot be understood."""

    message_id = "sse.sql.invalid_query"

    def _text(self, ref_id: str) -> str:
        return f"sql expression [{ref_id}] failed because it has an invalid SQL query: {self.why}"


class Blocked(Refusal):
    """The statement has a part that is not allowed; ``why`` is its word."""

    message_id = "sse.sql.blocked_node_or_func"
    what: ClassVar[str] = "keyword"

    def _text(self, ref_id: str) -> str:
        refused = f"the sql {self.what} '{self.why}' is not in the allowed list of {self.what}s"
        return f"did not execute the SQL expression {ref_id} because {refused}"


class BlockedFunction(Blocked):
    """The statement calls a function that is not on the list."""

    what = "function"
