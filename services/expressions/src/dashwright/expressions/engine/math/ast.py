"""The syntax tree of a math expression.

The ``position`` of a node is the number of characters before it in the source. Comparisons of trees ignore it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Number:
    """A literal number."""

    value: float
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Variable:
    """The result of another query or expression, by its refId."""

    ref_id: str
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function."""

    function: str
    arguments: "tuple[Node, ...]"
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """A unary operator with its operand."""

    symbol: str
    operand: "Node"
    position: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Binary:
    """A binary operator with its operands; ``position`` is that of the operator."""

    symbol: str
    left: "Node"
    right: "Node"
    position: int = field(default=0, compare=False)


Operand = Number | Variable | Call | Unary
Node = Operand | Binary


def left_chain(node: Node) -> tuple[Operand, list[Binary]]:
    """Return the leftmost operand of nested binary operations, and the operations from the innermost outwards.

    All operators associate to the left, so the tree of a long sum is deep on its left side only. Code that walks the chain
    in a loop, and recurses into right sides only, never recurses deeper than the parser's depth limit.
    """
    chain = []
    while isinstance(node, Binary):
        chain.append(node)
        node = node.left
    return node, chain[::-1]


def variables(node: Node) -> Iterator[Variable]:
    """Yield every variable of the tree, in the order of the source."""
    operand, chain = left_chain(node)
    match operand:
        case Variable():
            yield operand
        case Call(arguments=arguments):
            for argument in arguments:
                yield from variables(argument)
        case Unary(operand=inner):
            yield from variables(inner)
    for binary in chain:
        yield from variables(binary.right)
