"""The type ``math``: a parsed expression over the results of other queries."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

from dashwright.expressions.engine.bounds import bytes_of
from dashwright.expressions.engine.expression import DroppedItems, Outcome
from dashwright.expressions.engine.labels import Labels
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.math.ast import Binary, Call, Node, Number, Unary, Variable, spine, variables
from dashwright.expressions.engine.math.functions import FUNCTIONS
from dashwright.expressions.engine.math.matching import UnpairedLabels, combine
from dashwright.expressions.engine.math.operators import apply_unary
from dashwright.expressions.engine.math.parser import parse
from dashwright.expressions.engine.math.printer import text_of
from dashwright.expressions.engine.values import NoData, Scalar, Values

_SHOWN_DROPS = 5


@dataclass(frozen=True, slots=True)
class Math:
    """A parsed expression. The parser has checked all of it, so the evaluation fails on limits only."""

    stands_alone: ClassVar[bool] = False

    tree: Node

    @staticmethod
    def parsed(text: str, limits: Limits | None = None) -> "Math":
        """Return the expression in ``text``. Raises BadRequest with the position of the fault."""
        limits = limits or Limits()
        return Math(parse(text, limits.expression_length, limits.expression_depth, limits.deadline))

    @property
    def inputs(self) -> tuple[str, ...]:
        """The refIds of its variables, each once."""
        return tuple(dict.fromkeys(variable.ref_id for variable in variables(self.tree)))

    def evaluate(self, inputs: Mapping[str, Values], limits: Limits) -> Outcome:
        """Return the value of the expression, with warnings about items that found no partner."""
        with limits.memory.extra() as memory:
            run = _Run(inputs, replace(limits, memory=memory))
            values = run.value(self.tree)
            return Outcome(values, run.warnings(), run.dropped())


class _Run:
    """One evaluation, which collects the items that unions drop."""

    def __init__(self, inputs: Mapping[str, Values], limits: Limits) -> None:
        self._inputs = inputs
        self._limits = limits
        self._drops: list[tuple[Binary, UnpairedLabels]] = []
        self._sizes: dict[int, int] = {}

    def value(self, node: Node) -> Values:
        first, chain = spine(node)
        values = self._operand(first)
        for binary in chain:
            values = self._binary(binary, values)
        return values

    def _operand(self, node: Node) -> Values:
        match node:
            case Number(value=value):
                return Scalar.of(value)
            case Variable(ref_id=ref_id):
                return self._inputs[ref_id]
            case Call(function=function, arguments=arguments):
                operands = [*map(self.value, arguments)]
                return self._made(FUNCTIONS[function].apply(*operands), *operands)
            case Unary(symbol=symbol, operand=operand):
                values = self.value(operand)
                made = values if isinstance(values, NoData) else values.map(lambda cells: apply_unary(symbol, cells))
                return self._made(made, values)
            case Binary():
                return self.value(node)

    def _binary(self, binary: Binary, left: Values) -> Values:
        self._limits.deadline.check()
        right = self.value(binary.right)
        values, unpaired = combine(binary.symbol, left, right, self._limits, lambda: _sides(binary))
        if unpaired.left or unpaired.right:
            self._drops.append((binary, unpaired))
        return self._made(values, left, right)

    def _made(self, values: Values, *operands: Values) -> Values:
        """Count an intermediate result, and release the results that it was made of."""
        if any(values is operand for operand in operands):
            return values
        size = bytes_of(values)
        self._limits.memory.take(size)
        for operand in operands:
            self._limits.memory.give(self._sizes.pop(id(operand), 0))
        self._sizes[id(values)] = size
        return values

    def warnings(self) -> tuple[str, ...]:
        if not self._drops:
            return ()
        count = sum(len(unpaired.left) + len(unpaired.right) for _, unpaired in self._drops)
        shown = " ".join(f"[{_drop(binary, unpaired)}]" for binary, unpaired in self._drops)
        return (f"{count} items dropped from union(s): {shown}",)

    def dropped(self) -> tuple[DroppedItems, ...]:
        found = []
        for binary, unpaired in self._drops:
            sides = zip(_sides(binary), (unpaired.left, unpaired.right), strict=True)
            found += [DroppedItems(text_of(binary), operand, labels) for operand, labels in sides if labels]
        return tuple(found)


def _sides(binary: Binary) -> tuple[str, str]:
    return text_of(binary.left), text_of(binary.right)


def _drop(binary: Binary, unpaired: UnpairedLabels) -> str:
    sides = zip(_sides(binary), (unpaired.left, unpaired.right), strict=True)
    return f'"{text_of(binary)}": ' + " ".join(f"({side}: {_items(labels)})" for side, labels in sides if labels)


def _items(labels: tuple[Labels, ...]) -> str:
    shown = " ".join(f"{{{item}}}" for item in labels[:_SHOWN_DROPS])
    more = len(labels) - _SHOWN_DROPS
    return f"{shown} ...{more} more..." if more > 0 else shown
