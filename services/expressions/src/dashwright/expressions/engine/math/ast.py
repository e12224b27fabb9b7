"""The tree of a math expression. Nodes know their position in the text; comparisons of trees ignore it."""

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


Node = Number | Variable | Call | Unary | Binary


def spine(node: Node) -> tuple[Node, list[Binary]]:
    """Return the leftmost operand of a chain of binary operators, and the chain from the innermost operator outwards.

    All operators associate to the left, so a long sum is deep on its left side only. Code that walks the spine in a
    loop and recurses into right sides only never exceeds the parser's depth limit.
    """
    chain = []
    while isinstance(node, Binary):
        chain.append(node)
        node = node.left
    return node, chain[::-1]


def variables(node: Node) -> Iterator[Variable]:
    """Yield every variable of the tree, in the order of the text."""
    first, chain = spine(node)
    match first:
        case Variable():
            yield first
        case Call(arguments=arguments):
            for argument in arguments:
                yield from variables(argument)
        case Unary(operand=operand):
            yield from variables(operand)
    for binary in chain:
        yield from variables(binary.right)
