"""A tree to text, with no more parentheses than needed: ``parse(text_of(tree)) == tree``."""

import re

from dashwright.expressions.engine.math.ast import Binary, Call, Node, Number, Unary, Variable, spine
from dashwright.expressions.engine.math.operators import BINARY

_PLAIN = re.compile(r"\w+")


def text_of(node: Node) -> str:
    """Return the expression in its usual spelling: spaces around binary operators, ``${…}`` only if a refId needs it."""
    first, chain = spine(node)
    if not chain:
        return _operand(first)
    parts = [_operand(first)]
    opened = 0
    for binary, inner in zip(chain, [None, *chain[:-1]], strict=True):
        if inner is not None and BINARY[inner.symbol].precedence < BINARY[binary.symbol].precedence:
            parts.append(")")
            opened += 1
        parts.append(f" {binary.symbol} {_right(binary)}")
    return "(" * opened + "".join(parts)


def _right(binary: Binary) -> str:
    right = binary.right
    text = text_of(right)
    if isinstance(right, Binary) and BINARY[right.symbol].precedence <= BINARY[binary.symbol].precedence:
        return f"({text})"
    return text


def _operand(node: Node) -> str:
    match node:
        case Number(value=value):
            return repr(int(value)) if value % 1 == 0 and value < 2**53 else repr(value)
        case Variable(ref_id=ref_id):
            return f"${ref_id}" if _PLAIN.fullmatch(ref_id) else f"${{{ref_id}}}"
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(text_of, arguments))})"
        case Unary(symbol=symbol, operand=operand):
            return symbol + (f"({text_of(operand)})" if isinstance(operand, Binary) else text_of(operand))
        case Binary():
            return text_of(node)
