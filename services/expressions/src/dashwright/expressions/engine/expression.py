"""The interface of an expression type: the refIds that it reads, and a pure function from their values to an outcome."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol

from dashwright.common.errors import BadRequest
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.table import Table
from dashwright.expressions.engine.values import Values


@dataclass(frozen=True, slots=True)
class DroppedItems:
    """Items of one operand that matched no item of the other."""

    operation: str  #: The binary operation, as text.
    operand: str  #: One side of it, as text.
    labels: tuple[Labels, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A value that matched a classic condition."""

    value: float | None  #: None for null.
    metric: str  #: The name of the value's field.
    labels: Labels


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of an expression."""

    values: Values | Table
    warnings: tuple[str, ...] = ()  #: Shown on its first frame.
    dropped: tuple[DroppedItems, ...] = ()  #: Shown in an explanation.
    matches: tuple[Match, ...] | None = None  #: None for all but classic conditions.


class Expression(Protocol):
    """An expression over values."""

    stands_alone: ClassVar[bool]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refIds it reads, each once, in the order they are named."""

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return the outcome. Raises a DashwrightError if the inputs are not compatible."""


class TableExpression(ABC):
    """An expression that selects from tables: the frames of data source queries and the results of other expressions."""

    stands_alone: ClassVar[bool] = False

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """The refIds it selects from, each once, in the order they are named."""

    @abstractmethod
    def select(self, inputs: Mapping[str, Values | Table], limits: Limits) -> Outcome:
        """Return the outcome. Raises a DashwrightError if the statement fails.

        It may take until the deadline, so it must not run on the event loop.
        """


def ref_id_of(reference: str, missing: str = "no variable specified to reference") -> str:
    """Return the refId that ``reference`` names: ``A``, ``$A`` or ``${my query}``.

    Raises BadRequest with a message that starts with ``missing``, if it names no refId.
    """
    ref_id = reference.removeprefix("$")
    if ref_id != reference and ref_id.startswith("{") and ref_id.endswith("}"):
        ref_id = ref_id[1:-1]
    if not ref_id.strip():
        raise BadRequest(f"{missing}; name a query or expression, such as $A or ${{my query}}")
    return ref_id
