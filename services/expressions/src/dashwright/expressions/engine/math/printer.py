"""Printer of math expressions, with no more parentheses than needed: ``parse(source_of(tree)) == tree``."""

import re

from dashwright.expressions.engine.math.ast import Binary, Call, Node, Number, Operand, Unary, Variable, left_chain
from dashwright.expressions.engine.math.operators import BINARY

_UNBRACED_NAME = re.compile(r"\w+")
#: Doubles below this represent all integers exactly.
_EXACT_INTEGER_LIMIT = 2**53


def source_of(node: Node) -> str:
    """Return the expression in its usual spelling: spaces around binary operators, ``${…}`` only if a refId needs it."""
    operand, chain = left_chain(node)
    if not chain:
        return _operand(operand)
    parts = [_operand(operand)]
    parentheses = 0
    # An operator that binds tighter than the one before it gets everything before it as a parenthesized left side.
    for binary, previous in zip(chain, [None, *chain[:-1]], strict=True):
        if previous is not None and BINARY[previous.symbol].precedence < BINARY[binary.symbol].precedence:
            parts.append(")")
            parentheses += 1
        parts.append(f" {binary.symbol} {_right_side(binary)}")
    return "(" * parentheses + "".join(parts)


def _right_side(binary: Binary) -> str:
    right = binary.right
    source = source_of(right)
    if isinstance(right, Binary) and BINARY[right.symbol].precedence <= BINARY[binary.symbol].precedence:
        return f"({source})"
    return source


def _operand(node: Operand) -> str:
    match node:
        case Number(value=value):
            is_exact_integer = value % 1 == 0 and value < _EXACT_INTEGER_LIMIT
            return repr(int(value)) if is_exact_integer else repr(value)
        case Variable(ref_id=ref_id):
            return f"${ref_id}" if _UNBRACED_NAME.fullmatch(ref_id) else f"${{{ref_id}}}"
        case Call(function=function, arguments=arguments):
            return f"{function}({', '.join(map(source_of, arguments))})"
        case Unary(symbol=symbol, operand=operand):
            return symbol + (f"({source_of(operand)})" if isinstance(operand, Binary) else source_of(operand))
