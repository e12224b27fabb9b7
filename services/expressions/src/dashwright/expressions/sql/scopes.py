"""Scopes of names: which names in a statement are results, and which its own WITH clauses define."""

from collections.abc import Iterator

from sqlglot import exp

_Names = frozenset[str]


def tables_of(tree: exp.Expr) -> Iterator[exp.Table]:
    """Yield the tables that no surrounding WITH clause names: results, and ``dual``, in any order."""
    left: list[tuple[exp.Expr, _Names]] = [(tree, frozenset())]
    while left:
        node, named = left.pop()
        if isinstance(node, exp.Table) and node.name and node.name.casefold() not in named:
            yield node
        clause = node.args.get("with_")
        if isinstance(clause, exp.With):
            for one in clause.expressions:
                left += _body(one, named, recursive=bool(clause.args.get("recursive")))
                named |= {one.alias.casefold()}
        left += ((part, named) for part in node.iter_expressions() if part is not clause)


def _body(clause: exp.CTE, named: _Names, *, recursive: bool) -> list[tuple[exp.Expr, _Names]]:
    """Return the parts of a WITH clause, each with the names it sees.

    A clause sees the clauses before it; itself only in the recursive step, the only place where DuckDB sees it too.
    """
    body = clause.this
    if not (recursive and isinstance(body, exp.Union)):
        return [(body, named)]
    own = clause.alias.casefold()
    step, inner = body.expression, body.args.get("with_")
    if isinstance(inner, exp.With):
        # Its own WITH clause may hide the name; that rare case is treated as not recursive.
        return [(body, named)]
    rest = (part for part in body.iter_expressions() if part is not step)
    return [(step, named | {own}), *((part, named) for part in rest)]
