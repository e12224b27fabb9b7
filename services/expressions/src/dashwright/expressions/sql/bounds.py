"""Limits on the cost of parsing and rewriting one statement.

The rewritten tree may be much larger than the statement, so its size is checked while it grows.
"""

from sqlglot import exp

from dashwright.expressions.sql.statement_errors import InvalidStatement

#: Characters of one statement, even if the setting ``EXPRESSION_LENGTH`` allows more.
MAX_LENGTH = 100_000

#: Tokens of one statement.
MAX_TOKENS = 20_000

#: Depth of parentheses, calls and CASE. The recursive parser nests about thirty calls of Python for each level.
MAX_DEPTH = 25

#: Nodes of a statement's tree, including those created while it is rewritten.
MAX_NODES = 60_000

#: Characters of the SQL that DuckDB runs.
MAX_SQL_LENGTH = 2_000_000

_BASE_STEPS, _STEPS_PER_TOKEN = 10_000, 3
_SIZE_KEY = "size"


def step_limit(token_count: int) -> int:
    """Return the number of steps that the parser may take for a statement. It takes a step for each token that it reads.

    After backtracking it reads tokens again, in ordinary statements each token twice.
    """
    return _BASE_STEPS + _STEPS_PER_TOKEN * token_count


def too_complex_error() -> InvalidStatement:
    """Return the error for a statement that costs too much."""
    return InvalidStatement(
        "it is too complex: its nesting and repetition take too long to parse; split it, or move a part to a WITH clause"
    )


def tree_size(node: exp.Expr) -> int:
    """Return the number of nodes of a tree. The size of a subtree is not computed again if ``measure`` has stored it."""
    total, pending = 0, [node]
    while pending:
        current = pending.pop()
        stored_size = current.meta_get(_SIZE_KEY)
        if stored_size is None:
            total += 1
            pending.extend(current.iter_expressions())
        else:
            total += int(stored_size)
    return total


def measure(node: exp.Expr) -> int:
    """Return the number of nodes of a tree, and store it in the ``meta`` of the root, which copies of the tree keep."""
    node.meta.pop(_SIZE_KEY, None)
    node.meta[_SIZE_KEY] = nodes = tree_size(node)
    return nodes


def copies(node: exp.Expr, count: int) -> list[exp.Expr]:
    """Return ``count`` copies of a tree. Raises InvalidStatement if they would be too large together."""
    if tree_size(node) * count > MAX_NODES:
        raise too_complex_error()
    return [node.copy() for _ in range(count)]
