"""Rewriting of MySQL's syntax trees for DuckDB: each node is rewritten after its children."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from dashwright.expressions.sql import operators
from dashwright.expressions.sql.allow_list import position_of
from dashwright.expressions.sql.bounds import MAX_NODES, copies, measure, too_complex_error, tree_size
from dashwright.expressions.sql.casts import build_cast
from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.comparison import COMPARISONS, build_in, build_is, comparison, parenthesized
from dashwright.expressions.sql.duckdb_sql import call, macro, string_literal
from dashwright.expressions.sql.functions import FUNCTIONS
from dashwright.expressions.sql.functions.aggregates import complete_row
from dashwright.expressions.sql.functions.choices import case
from dashwright.expressions.sql.functions.documents import extract_json, unquote_json
from dashwright.expressions.sql.functions.function import choice
from dashwright.expressions.sql.functions.strings import concatenate
from dashwright.expressions.sql.functions.times import extract
from dashwright.expressions.sql.json_table import json_table_rows
from dashwright.expressions.sql.mysql_grammar import default_name
from dashwright.expressions.sql.patterns import collate, escaped_like, like_test, regexp_test
from dashwright.expressions.sql.sql_type import SqlType, type_of, with_type
from dashwright.expressions.sql.statement_errors import InvalidStatement
from dashwright.expressions.sql.units import interval

_FUNCTIONS_OF_INTERVALS = ("date_add", "date_sub", "adddate", "subdate")
_NUMBER, _BOOLEAN, _STRING, _INTEGER = SqlType.NUMBER, SqlType.BOOLEAN, SqlType.STRING, SqlType.INTEGER

MACROS = (
    *operators.MACROS,
    macro("trim_leading(x, d)", "regexp_replace(x, '^(?s:' || regexp_escape(d) || ')+', '')"),
    macro("trim_trailing(x, d)", "regexp_replace(x, '(?s:' || regexp_escape(d) || ')+$', '')"),
    macro("trim_both(x, d)", "mysql_trim_leading(mysql_trim_trailing(x, d), d)"),
)


def rewrite(tree: exp.Query) -> exp.Query:
    """Return the tree of the same statement for DuckDB. ``tree`` is changed in place. Raises InvalidStatement."""
    _name_projections(tree)
    root: exp.Expr = tree
    nodes = list(tree.walk(bfs=False))
    node_count = len(nodes)
    for node in reversed(nodes):
        previous_size = tree_size(node)
        rewriter = _REWRITES.get(type(node))
        try:
            rewritten_node = rewriter(node) if rewriter is not None else node
        except InvalidStatement as error:
            if error.position:
                raise
            raise InvalidStatement(error.reason, position_of(node)) from error
        # A rewrite may copy its operands, so nested rewrites could let the tree grow exponentially.
        node_count += max(measure(rewritten_node) - previous_size, 0)
        if node_count > MAX_NODES:
            raise too_complex_error()
        if rewritten_node is node:
            continue
        if node is root:
            root = rewritten_node
        else:
            node.replace(rewritten_node)
    assert isinstance(root, exp.Query)
    return root


def _name_projections(tree: exp.Expr) -> None:
    """Give each result column that has no name its source text as alias, as MySQL does."""
    # DuckDB would name the column after the rewritten expression.
    for select in list(tree.find_all(exp.Select)):
        named_projections: list[exp.Expr] = []
        for projection in select.expressions:
            if isinstance(projection, (exp.Alias, exp.Column, exp.Star)):
                named_projections.append(projection)
            else:
                named_projections.append(exp.alias_(projection, default_name(projection), quoted=True, copy=False))
        select.set("expressions", named_projections)


def _compare(node: exp.Binary) -> exp.Expr:
    return comparison(type(node), node.this, node.expression)


def _in(node: exp.In) -> exp.Expr:
    if node.args.get("query"):
        return with_type(node, _BOOLEAN)
    return build_in(node.this, node.expressions)


def _between(node: exp.Between) -> exp.Expr:
    """Return the BETWEEN test. Operands of different types are converted, or compared one by one if the value is repeatable."""
    value, low, high = node.this, node.args["low"], node.args["high"]
    types = {type_of(operand) for operand in (value, low, high)} - {SqlType.NULL}
    have_different_types = len(types) > 1 and not types <= {_INTEGER, _NUMBER}
    if have_different_types:
        if _is_repeatable(value):
            both_bounds = exp.and_(comparison(exp.GTE, value.copy(), low), comparison(exp.LTE, value, high), copy=False)
            return with_type(exp.paren(both_bounds, copy=False), _BOOLEAN)
        if types & {_NUMBER, _INTEGER, _BOOLEAN}:
            value, low, high = (coerce(operand, _NUMBER) for operand in (value, low, high))
        elif types & {SqlType.TIMESTAMP, SqlType.DATE}:
            value, low, high = (coerce(operand, SqlType.TIMESTAMP) for operand in (value, low, high))
    return with_type(exp.Between(this=parenthesized(value), low=parenthesized(low), high=parenthesized(high)), _BOOLEAN)


def _if(node: exp.If) -> exp.Expr:
    # The branches of a CASE are nodes of this type too. They are rewritten with the CASE.
    if isinstance(node.parent, exp.Case):
        return node
    return FUNCTIONS["if"].build([node.this, node.args["true"], node.args.get("false") or exp.null()])


def _case(node: exp.Case) -> exp.Expr:
    """Return the CASE expression. If its value must be evaluated only once, the CASE keeps it; else each branch compares it."""
    branches = node.args["ifs"]
    default = node.args.get("default")
    values = [branch.args["true"] for branch in branches] + ([default] if default is not None else [])
    conditions = [_condition(node.this, branch.this) for branch in branches]

    def build(results: list[exp.Expr]) -> exp.Expr:
        # If there is a default, ``results`` has its result after the results of the branches.
        expression = case(list(zip(conditions, results, strict=False)), results[-1] if default is not None else None)
        if node.this is not None and not _is_repeatable(node.this):
            expression.set("this", node.this)
        return expression

    return choice(values, build)


def _condition(value: exp.Expr | None, candidate: exp.Expr) -> exp.Expr:
    """Return the condition of a WHEN branch: ``candidate`` itself, or its comparison with the value of the CASE.

    If the value must be evaluated only once, the CASE keeps it, and the result is ``candidate`` converted to the type of the value.
    """
    if value is None:
        return coerce(candidate, _BOOLEAN)
    if _is_repeatable(value):
        return comparison(exp.EQ, value.copy(), candidate)
    value_type = type_of(value)
    if value_type in {SqlType.UNKNOWN, SqlType.NULL}:
        return candidate
    return coerce(candidate, _NUMBER if value_type in {_INTEGER, _BOOLEAN} else value_type)


def _is_repeatable(node: exp.Expr) -> bool:
    """Return whether the node can be used several times, because its value is the same each time."""
    return isinstance(node, (exp.Column, exp.Literal))


def _paren(node: exp.Paren) -> exp.Expr:
    return with_type(node, type_of(node.this))


def _convert_condition(node: exp.Where | exp.Having) -> exp.Expr:
    """Return the clause with its condition converted to a boolean."""
    node.set("this", coerce(node.this, _BOOLEAN))
    return node


def _join(node: exp.Join) -> exp.Expr:
    """Return the join. Without a condition it becomes a CROSS JOIN, as in MySQL."""
    if node.args.get("on") is not None:
        node.set("on", coerce(node.args["on"], _BOOLEAN))
    # STRAIGHT_JOIN only advises MySQL's optimizer; the rows are those of an inner join.
    if node.text("kind").upper() == "STRAIGHT_JOIN":
        node.set("kind", None)
    if not any(node.args.get(key) for key in ("on", "using", "method", "side", "kind")):
        node.set("kind", "CROSS")
    return node


def _select(node: exp.Select) -> exp.Expr:
    """Return the SELECT without ``FROM dual``, MySQL's table for statements without a table."""
    from_clause = node.args.get("from_")
    if from_clause is not None and _is_dual(from_clause.this) and not node.args.get("joins"):
        node.set("from_", None)
    return node


def _is_dual(table: exp.Expr) -> bool:
    return isinstance(table, exp.Table) and table.name.lower() == "dual"


def _group(node: exp.Group) -> exp.Expr:
    """Return the GROUP BY, with MySQL's ``x WITH ROLLUP`` as ``ROLLUP (x)``."""
    if node.args.get("rollup"):
        node.set("rollup", [exp.Rollup(expressions=node.expressions)])
        node.set("expressions", [])
    return node


def _limit(node: exp.Limit | exp.Offset) -> exp.Expr:
    """Return the clause unchanged. Raises InvalidStatement if it has anything but a whole number."""
    if not (isinstance(node.expression, exp.Literal) and node.expression.is_int):
        raise InvalidStatement("LIMIT and OFFSET take whole numbers")
    return node


def _subquery(node: exp.Subquery) -> exp.Expr:
    """Return the subquery. If it has a single column, it gets the type of the column."""
    query = node.this
    if isinstance(query, exp.Select) and len(query.expressions) == 1:
        projection = query.expressions[0]
        return with_type(node, type_of(projection.this if isinstance(projection, exp.Alias) else projection))
    return node


def _interval(node: exp.Interval) -> exp.Expr:
    """Return the interval unchanged: the rewrite of its parent replaces it. Raises InvalidStatement if the parent takes none."""
    parent = node.parent
    if isinstance(parent, (exp.Add, exp.Sub, exp.WindowSpec)) or (
        isinstance(parent, exp.Anonymous) and parent.name.lower() in _FUNCTIONS_OF_INTERVALS
    ):
        return node
    raise InvalidStatement(f"an INTERVAL belongs next to + or -, in a window's frame, or in {', '.join(_FUNCTIONS_OF_INTERVALS)}")


def _table(node: exp.Table) -> exp.Expr:
    return json_table_rows(node, node.this) if isinstance(node.this, exp.JSONTable) else node


def _call(node: exp.Anonymous) -> exp.Expr:
    """Return the call as the entry of the function builds it. Raises InvalidStatement for ``count`` of several arguments."""
    function = FUNCTIONS[node.name.lower()]
    first_argument = node.expressions[0] if node.expressions else None
    if isinstance(first_argument, exp.Distinct):
        return _distinct(function.build, first_argument.expressions)
    if function.name == "count" and len(node.expressions) > 1:
        raise InvalidStatement("count takes several arguments only with DISTINCT")
    return function.build(node.expressions)


def _distinct(build: Callable[[list[exp.Expr]], exp.Expr], values: list[exp.Expr]) -> exp.Expr:
    """Return an aggregate function of the distinct values. Several values are compared as one row."""
    expression = build([values[0] if len(values) == 1 else complete_row(values)])
    expression.set("expressions", [exp.Distinct(expressions=expression.expressions)])
    return expression


def _group_concat(node: exp.GroupConcat) -> exp.Expr:
    """Return GROUP_CONCAT as DuckDB's ``string_agg``, with the DISTINCT and ORDER BY of its argument."""
    value, order = node.this, None
    if isinstance(value, exp.Order):
        value, order = value.this, value
    is_distinct = isinstance(value, exp.Distinct)
    concatenated = concatenate(value.expressions if is_distinct else [value])
    string = exp.Distinct(expressions=[concatenated]) if is_distinct else concatenated
    separator = node.args.get("separator") or string_literal(",")
    if order is None:
        return call("string_agg", string, separator, result_type=_STRING)
    order_expressions = order.expressions
    if is_distinct:
        # DuckDB can order distinct strings of an aggregate only by the strings themselves, in the direction of the first item.
        order_expressions = [
            exp.Ordered(this=copied_string, desc=first_item.args.get("desc"), nulls_first=first_item.args.get("nulls_first"))
            for first_item, copied_string in zip(order_expressions, copies(concatenated, 1), strict=False)
        ]
    return call("string_agg", string, exp.Order(this=separator, expressions=order_expressions), result_type=_STRING)


def _window(node: exp.Window) -> exp.Expr:
    """Return the function with its OVER clause, as an expression of the function's type."""
    if isinstance(node.this, exp.Anonymous):
        return with_type(node, type_of(node.this))
    return node


def _window_frame(node: exp.WindowSpec) -> exp.Expr:
    """Return the frame of a window with DuckDB's intervals as its ends."""
    for side in ("start", "end"):
        boundary = node.args.get(side)
        if isinstance(boundary, exp.Interval):
            # sqlglot stores a literal amount as a string.
            amount = exp.Literal.number(boundary.this.name) if isinstance(boundary.this, exp.Literal) else boundary.this
            interval_value = interval(amount, boundary.text("unit").upper())
            if interval_value is None:
                raise InvalidStatement(f"'{boundary.text('unit')}' is not a unit of a window's frame")
            node.set(side, interval_value)
    return node


def _trim(node: exp.Trim) -> exp.Expr:
    """Return TRIM as a macro for the sides to trim, or as the function ``trim`` for spaces at both ends."""
    string = coerce(node.this, _STRING)
    characters = node.args.get("expression")
    side = (node.text("position") or "both").lower()
    if characters is None and side == "both":
        return FUNCTIONS["trim"].build([string])
    return call(
        f"mysql_trim_{side}", string, coerce(characters, _STRING) if characters is not None else string_literal(" "), result_type=_STRING
    )


def _substring(node: exp.Substring) -> exp.Expr:
    arguments = [node.this, node.args.get("start") or exp.Literal.number(1), node.args.get("length")]
    return FUNCTIONS["substring"].build([argument for argument in arguments if argument is not None])


def _position(node: exp.StrPosition) -> exp.Expr:
    return FUNCTIONS["position"].build([node.args["substr"], node.this])


#: The function that rewrites each type of node, whose children are rewritten already. Nodes of other types are unchanged.
_REWRITES: Mapping[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), operators.arithmetic),
    exp.Div: operators.divide,
    exp.IntDiv: operators.integer_division,
    exp.Mod: operators.modulo,
    exp.Neg: operators.negate,
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift), operators.bitwise),
    exp.BitwiseNot: operators.bitwise_not,
    **dict.fromkeys(COMPARISONS, _compare),
    **dict.fromkeys((exp.And, exp.Or), operators.logical),
    exp.Xor: operators.exclusive_or,
    exp.Not: operators.logical_not,
    exp.Is: build_is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: like_test,
    exp.Escape: escaped_like,
    exp.RegexpLike: regexp_test,
    exp.Collate: collate,
    exp.If: _if,
    exp.Case: _case,
    exp.Cast: lambda node: build_cast(node.this, node.to),
    exp.Paren: _paren,
    exp.Exists: lambda node: with_type(node, _BOOLEAN),
    exp.Where: _convert_condition,
    exp.Having: _convert_condition,
    exp.Join: _join,
    exp.Select: _select,
    exp.Group: _group,
    exp.Limit: _limit,
    exp.Offset: _limit,
    exp.Subquery: _subquery,
    exp.Anonymous: _call,
    exp.Interval: _interval,
    exp.Table: _table,
    exp.GroupConcat: _group_concat,
    exp.Concat: lambda node: concatenate(node.expressions),
    exp.Window: _window,
    exp.WindowSpec: _window_frame,
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.StrPosition: _position,
    exp.Extract: lambda node: extract(node.name.upper(), node.expression),
    exp.JSONExtract: lambda node: extract_json(node.this, node.expression),
    exp.JSONExtractScalar: lambda node: unquote_json(extract_json(node.this, node.expression)),
    # ``x MEMBER OF(array)``.
    exp.JSONArrayContains: lambda node: FUNCTIONS["json_contains"].build(
        [node.expression, call("to_json", node.this, result_type=SqlType.JSON)]
    ),
    exp.National: lambda node: string_literal(node.name),
    exp.Introducer: lambda node: node.expression,
}
