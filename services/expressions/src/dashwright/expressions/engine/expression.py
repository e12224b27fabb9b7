"""What every expression kind gives the graph: the inputs it reads and a pure function of them."""

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
    """Items of ``operand`` that found no partner in the union of ``operation``, both as text."""

    operation: str
    operand: str
    labels: tuple[Labels, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """A value that made a classic condition hold: what it was (None for null), of which field and with which labels."""

    value: float | None
    metric: str
    labels: Labels


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an expression came to; ``warnings`` are shown on its first frame, ``dropped`` to who asks for an explanation.

    ``matches`` are there for classic conditions only.
    """

    values: Values | Table
    warnings: tuple[str, ...] = ()
    dropped: tuple[DroppedItems, ...] = ()
    matches: tuple[Match, ...] | None = None


class Expression(Protocol):
    """``stands_alone``: it reads ordinary queries only, and no other expression may read it."""

    stands_alone: ClassVar[bool]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refIds it reads, each once, in the order they are named."""

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Raises an error of the tree where the inputs do not suit."""


class TableExpression(ABC):
    """An expression that selects from tables: ordinary queries reach it as their frames, other expressions as what they came to."""

    stands_alone: ClassVar[bool] = False

    @property
    @abstractmethod
    def inputs(self) -> tuple[str, ...]:
        """The refIds it selects from, each once, in the order they are named."""

    @abstractmethod
    def select(self, inputs: Mapping[str, Values | Table], limits: Limits) -> Outcome:
        """Raises an error of the tree. May take as long as the deadline allows, so it is no work for the event loop."""


def ref_id_of(reference: str, missing: str = "no variable specified to reference") -> str:
    """The refId that ``reference`` names. Raises BadRequest, which begins with ``missing``, where it names none."""
    ref_id = reference.removeprefix("$")
    if ref_id != reference and ref_id.startswith("{") and ref_id.endswith("}"):
        ref_id = ref_id[1:-1]
    if not ref_id.strip():
        raise BadRequest(f"{missing}; name a query or expression, such as $A or ${{my query}}")
    return ref_id
