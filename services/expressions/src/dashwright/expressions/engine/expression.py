"""The interfaces of expressions: the refIds that an expression reads, and a pure function from their values to an outcome."""

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
    """Items of one operand of a binary operator that match no item of the other operand."""

    operation: str  #: The source of the binary operation, such as ``$A + $B``.
    operand: str  #: The source of the operand, such as ``$A``.
    labels: tuple[Labels, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A value for which a classic condition holds."""

    value: float | None  #: None for null.
    metric: str  #: The name of the value's field.
    labels: Labels


@dataclass(frozen=True, slots=True)
class Outcome:
    """The values of an expression that succeeded, and information about them."""

    values: Values | Table
    warnings: tuple[str, ...] = ()  #: These become notices of the first frame.
    dropped_items: tuple[DroppedItems, ...] = ()  #: For the explanation of an evaluation.
    matches: tuple[Match, ...] | None = None  #: The matches of classic conditions; None for other expressions.


class Expression(Protocol):
    """An expression over values."""

    #: False if the expression may read only data source queries, and no expression may read its result.
    is_chainable: ClassVar[bool]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refIds that it reads, each once, in the order of their first use."""

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return the outcome. Raises a DashwrightError if the inputs are not compatible."""


# Not a protocol like ``Expression``, because the engine distinguishes the two by ``isinstance``.
class TableExpression(ABC):
    """An expression that selects from tables: the frames of data source queries and the results of other expressions."""

    is_chainable: ClassVar[bool] = True

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """The refIds that it selects from, each once, in the order of their first use."""

    @abstractmethod
    def select(self, inputs: Mapping[str, Values | Table], limits: Limits) -> Outcome:
        """Return the outcome. Raises a DashwrightError if the statement fails.

        It may run until the deadline, so call it in a thread.
        """


def ref_id_of(reference: str, missing_message: str = "no variable specified to reference") -> str:
    """Return the refId in a reference such as ``A``, ``$A`` or ``${my query}``.

    Raises BadRequest with a message that starts with ``missing_message`` if the refId is empty.
    """
    is_braced = reference.startswith("${") and reference.endswith("}")
    ref_id = reference[2:-1] if is_braced else reference.removeprefix("$")
    if not ref_id.strip():
        raise BadRequest(f"{missing_message}; name a query or expression, such as $A or ${{my query}}")
    return ref_id
