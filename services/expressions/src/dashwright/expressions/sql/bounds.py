"""What reading one statement may cost, whatever it says. What grows with it, and not only along it, is counted as it grows."""

from sqlglot import exp

from dashwright.expressions.sql.refusals import InvalidStatement

LENGTH = 100_000
"""Characters of one statement, whatever ``EXPRESSION_LENGTH`` allows."""

WORDS = 20_000
"""Words, numbers, texts and signs of one statement."""

DEPTH = 25
"""How deep parentheses, calls and CASE may nest: the parser calls itself some thirty times for each."""

NODES = 60_000
"""Nodes of a statement's tree, those that are made while it is rewritten included."""

SQL_LENGTH = 2_000_000
"""Characters of what DuckDB runs."""

_STEPS, _STEPS_A_WORD = 10_000, 3
_SIZE = "size"


def steps(words: int) -> int:
    """How many words the parser may go over, those again to which it goes back for another reading. Ordinary statements take two a word."""
    return _STEPS + _STEPS_A_WORD * words


def entangled() -> InvalidStatement:
    """The refusal of a statement that costs too much."""
    return InvalidStatement(
        "it is too entangled: what it nests and repeats takes too long to read; split it, or name a part in a WITH clause"
    )


def size(node: exp.Expr) -> int:
    """How many nodes lie there; those of parts that were ``measured`` are not counted again."""
    total, left = 0, [node]
    while left:
        one = left.pop()
        known = one.meta_get(_SIZE)
        if known is None:
            total += 1
            left.extend(one.iter_expressions())
        else:
            total += int(known)
    return total


def measured(node: exp.Expr) -> int:
    """Its size, which it remembers, as copies of it will."""
    node.meta.pop(_SIZE, None)
    node.meta[_SIZE] = found = size(node)
    return found


def copies(node: exp.Expr, count: int) -> list[exp.Expr]:
    """The node as often. Raises InvalidStatement before they are too much."""
    if size(node) * count > NODES:
        raise entangled()
    return [node.copy() for _ in range(count)]
