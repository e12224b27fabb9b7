"""Bounds on the cost of parsing one statement. Sizes that may grow faster than the statement are checked as they grow."""

from sqlglot import exp

from dashwright.expressions.sql.refusals import InvalidStatement

#: Characters of one statement, whatever ``EXPRESSION_LENGTH`` allows.
LENGTH = 100_000

#: Tokens of one statement.
TOKENS = 20_000

#: Depth of parentheses, calls and CASE; the recursive parser makes about thirty calls for each level.
DEPTH = 25

#: Nodes of a statement's tree, with those created while it is rewritten.
NODES = 60_000

#: Characters of the SQL that DuckDB runs.
SQL_LENGTH = 2_000_000

_STEPS, _STEPS_PER_TOKEN = 10_000, 3
_SIZE = "size"


def steps(tokens: int) -> int:
    """Return the number of steps the parser may take: tokens read, those read again after backtracking included.

    Ordinary statements take two steps per token.
    """
    return _STEPS + _STEPS_PER_TOKEN * tokens


def too_complex() -> InvalidStatement:
    """Return the error for a statement that costs too much."""
    return InvalidStatement(
        "it is too complex: its nesting and repetition take too long to parse; split it, or move a part to a WITH clause"
    )


def size(node: exp.Expr) -> int:
    """Return the number of nodes below a node; parts that were measured before are not walked again."""
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


def measure(node: exp.Expr) -> int:
    """Return the size of a node, and store it in the node's meta, which copies keep."""
    node.meta.pop(_SIZE, None)
    node.meta[_SIZE] = found = size(node)
    return found


def copies(node: exp.Expr, count: int) -> list[exp.Expr]:
    """Return ``count`` copies of the node. Raises InvalidStatement if together they would be too large."""
    if size(node) * count > NODES:
        raise too_complex()
    return [node.copy() for _ in range(count)]
