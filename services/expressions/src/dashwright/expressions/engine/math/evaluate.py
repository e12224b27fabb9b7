"""The type ``math``: a parsed expression over the results of other queries."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from dashwright.expressions.engine.expression import DroppedItems, Outcome
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limit_checks import bytes_of
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.ast import Binary, Call, Node, Number, Operand, Unary, Variable, left_chain, variables
from dashwright.expressions.engine.math.functions import FUNCTIONS
from dashwright.expressions.engine.math.matching import UnpairedLabels, combine
from dashwright.expressions.engine.math.operators import apply_unary
from dashwright.expressions.engine.math.parser import parse
from dashwright.expressions.engine.math.printer import source_of
from dashwright.expressions.engine.values import NoData, Scalar, Values

_MAX_LISTED_LABELS = 5


@dataclass(frozen=True, slots=True)
class Math:
    """A parsed expression. The parser checks it completely, so that its evaluation can only fail by exceeding a limit."""

    is_chainable: ClassVar[bool] = True

    tree: Node

    @staticmethod
    def parse(source: str, limits: Limits | None = None) -> "Math":
        """Return the parsed expression. Raises BadRequest with the position of the fault."""
        limits = limits or Limits()
        return Math(parse(source, limits.expression_length, limits.expression_depth, limits.deadline))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refIds of its variables, each once."""
        return tuple(dict.fromkeys(variable.ref_id for variable in variables(self.tree)))

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return the values of the expression, and a warning about items that match no item of the other operand."""
        with limits.memory.nested() as memory:
            evaluation = _Evaluation(inputs, replace(limits, memory=memory))
            values = evaluation.value(self.tree)
            return Outcome(values, evaluation.warnings(), evaluation.dropped_items())


class _Evaluation:
    """One evaluation of a tree. It collects the items that match no item of the other operand."""

    def __init__(self, inputs: Mapping[str, Values], limits: Limits) -> None:
        self._inputs = inputs
        self._limits = limits
        self._unpaired: list[tuple[Binary, UnpairedLabels]] = []
        self._sizes: dict[int, int] = {}  # Reserved bytes of intermediate results, by object id.

    def value(self, node: Node) -> Values:
        """Return the values of a node and of all nodes below it."""
        # The chain of operators is applied in a loop, because a long sum is too deep for a recursion.
        operand, chain = left_chain(node)
        values = self._operand(operand)
        for binary in chain:
            values = self._binary(binary, values)
        return values

    def _operand(self, node: Operand) -> Values:
        match node:
            case Number(value=value):
                return Scalar.of(value)
            case Variable(ref_id=ref_id):
                return self._inputs[ref_id]
            case Call(function=function, arguments=arguments):
                argument_values = [*map(self.value, arguments)]
                return self._reserve(FUNCTIONS[function].apply(*argument_values), *argument_values)
            case Unary(symbol=symbol, operand=operand):
                values = self.value(operand)
                result = values if isinstance(values, NoData) else values.map(lambda cells: apply_unary(symbol, cells))
                return self._reserve(result, values)

    def _binary(self, binary: Binary, left: Values) -> Values:
        """Return the values of a binary operation, whose left side has the values ``left``."""
        self._limits.deadline.check()
        right = self.value(binary.right)
        values, unpaired = combine(binary.symbol, left, right, self._limits, lambda: _operand_sources(binary))
        if unpaired.left or unpaired.right:
            self._unpaired.append((binary, unpaired))
        return self._reserve(values, left, right)

    def _reserve(self, values: Values, *operands: Values) -> Values:
        """Reserve memory for an intermediate result, release the memory of its operands, and return the result."""
        # A function may return its argument itself, which takes no further memory.
        if any(values is operand for operand in operands):
            return values
        size = bytes_of(values)
        self._limits.memory.reserve(size)
        for operand in operands:
            self._limits.memory.release(self._sizes.pop(id(operand), 0))
        self._sizes[id(values)] = size
        return values

    def warnings(self) -> tuple[str, ...]:
        if not self._unpaired:
            return ()
        count = sum(len(unpaired.left) + len(unpaired.right) for _, unpaired in self._unpaired)
        descriptions = " ".join(f"[{_describe(binary, unpaired)}]" for binary, unpaired in self._unpaired)
        return (f"{count} items dropped from union(s): {descriptions}",)

    def dropped_items(self) -> tuple[DroppedItems, ...]:
        dropped_items = []
        for binary, unpaired in self._unpaired:
            labels_by_operand = zip(_operand_sources(binary), (unpaired.left, unpaired.right), strict=True)
            dropped_items += [DroppedItems(source_of(binary), operand, labels) for operand, labels in labels_by_operand if labels]
        return tuple(dropped_items)


def _operand_sources(binary: Binary) -> tuple[str, str]:
    return source_of(binary.left), source_of(binary.right)


def _describe(binary: Binary, unpaired: UnpairedLabels) -> str:
    labels_by_operand = zip(_operand_sources(binary), (unpaired.left, unpaired.right), strict=True)
    descriptions = [f"({operand}: {_list_labels(labels)})" for operand, labels in labels_by_operand if labels]
    return f'"{source_of(binary)}": ' + " ".join(descriptions)


def _list_labels(labels: tuple[Labels, ...]) -> str:
    label_texts = " ".join(f"{{{label_set}}}" for label_set in labels[:_MAX_LISTED_LABELS])
    omitted_count = len(labels) - _MAX_LISTED_LABELS
    return f"{label_texts} ...{omitted_count} more..." if omitted_count > 0 else label_texts
