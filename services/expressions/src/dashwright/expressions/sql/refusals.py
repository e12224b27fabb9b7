"""Why a statement is not run: errors with the ids that clients know. Those who raise them need not know whose statement it is."""

from abc import ABC, abstractmethod
from typing import ClassVar

from dashwright.common.errors import BadRequest

Position = tuple[int, int]
"""Line and column, from 1."""


class Refusal(Exception, ABC):
    """What is wrong with a statement, and where."""

    message_id: ClassVar[str]

    def __init__(self, why: str, position: Position | None = None, advice: str = "") -> None:
        super().__init__(why)
        self.why, self.position, self.advice = why, position, advice

    def of(self, ref_id: str) -> BadRequest:
        """The error to answer for the statement of ``ref_id``; ``details`` holds ``line`` and ``column`` where they are known."""
        where = f" (line {self.position[0]}, column {self.position[1]})" if self.position else ""
        details = {"line": str(self.position[0]), "column": str(self.position[1])} if self.position else {}
        return BadRequest(self._text(ref_id) + where + self.advice, message_id=self.message_id, details=details)

    @abstractmethod
    def _text(self, ref_id: str) -> str: ...


class EmptyStatement(Refusal):
    """There is no statement."""

    message_id = "sse.sql.empty_query"

    def _text(self, ref_id: str) -> str:
        return f"sql expression [{ref_id}] failed because it has an empty SQL query; write a SELECT"


class InvalidStatement(Refusal):
    """It, or a part of it, cannot be understood."""

    message_id = "sse.sql.invalid_query"

    def _text(self, ref_id: str) -> str:
        return f"sql expression [{ref_id}] failed because it has an invalid SQL query: {self.why}"


class Blocked(Refusal):
    """It says what statements may not say here; ``why`` is the word."""

    message_id = "sse.sql.blocked_node_or_func"
    what: ClassVar[str] = "keyword"

    def _text(self, ref_id: str) -> str:
        refused = f"the sql {self.what} '{self.why}' is not in the allowed list of {self.what}s"
        return f"did not execute the SQL expression {ref_id} because {refused}"


class BlockedFunction(Blocked):
    """It calls a function that is not in the list."""

    what = "function"
