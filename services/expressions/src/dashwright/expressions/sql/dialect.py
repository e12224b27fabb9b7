"""MySQL's meaning in DuckDB's SQL: each node of an allowed tree is rewritten, its parts first."""

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from dashwright.expressions.sql.allow_list import place_of
from dashwright.expressions.sql.bounds import NODES, copies, measure, size, too_complex
from dashwright.expressions.sql.casts import converted
from dashwright.expressions.sql.coercion import coerced
from dashwright.expressions.sql.comparison import COMPARISONS, compared, contained, grouped, tested
from dashwright.expressions.sql.duckdb_sql import call, macro, text
from dashwright.expressions.sql.functions import FUNCTIONS
from dashwright.expressions.sql.functions.aggregates import complete_rows
from dashwright.expressions.sql.functions.choices import case
from dashwright.expressions.sql.functions.documents import extracted, unquoted
from dashwright.expressions.sql.functions.function import choice
from dashwright.expressions.sql.functions.strings import concatenated
from dashwright.expressions.sql.functions.times import add_interval, extract
from dashwright.expressions.sql.json_table import rows_of
from dashwright.expressions.sql.mysql_grammar import name_of
from dashwright.expressions.sql.patterns import collated, escaped, liked, matched
from dashwright.expressions.sql.refusals import InvalidStatement
from dashwright.expressions.sql.sql_type import SqlType, common, marked, type_of
from dashwright.expressions.sql.units import interval

_SHIFTS = ("date_add", "date_sub", "adddate", "subdate")
_N, _B, _T, _I = SqlType.NUMBER, SqlType.BOOLEAN, SqlType.TEXT, SqlType.INTEGER

MACROS = (
    macro("int_div(a, b)", "cast(trunc(a / b) as bigint)"),
    macro("bit_not(x)", "case when v < 0 then -v - 1 else 18446744073709551615::hugeint - v end", x="x::hugeint"),
    macro("trim_leading(x, d)", "regexp_replace(x, '^(?s:' || regexp_escape(d) || ')+', '')"),
    macro("trim_trailing(x, d)", "regexp_replace(x, '(?s:' || regexp_escape(d) || ')+$', '')"),
    macro("trim_both(x, d)", "mysql_trim_leading(mysql_trim_trailing(x, d), d)"),
)


def rewritten(tree: exp.Query) -> exp.Query:
    """Return the tree for DuckDB; ``tree`` is consumed. Raises InvalidStatement."""
    _name_projections(tree)
    root: exp.Expr = tree
    nodes = list(tree.walk(bfs=False))
    total = len(nodes)
    for node in reversed(nodes):
        before = size(node)
        rewrite = _REWRITES.get(type(node))
        try:
            new = rewrite(node) if rewrite is not None else node
        except InvalidStatement as refusal:
            raise refusal if refusal.position else InvalidStatement(refusal.why, place_of(node)) from refusal
        total += max(measure(new) - before, 0)
        if total > NODES:
            raise too_complex()
        if new is node:
            continue
        if node is root:
            root = new
        else:
            node.replace(new)
    assert isinstance(root, exp.Query)
    return root


def _name_projections(tree: exp.Expr) -> None:
    # MySQL names a column after its text, DuckDB after the rewritten expression.
    for select in list(tree.find_all(exp.Select)):
        named: list[exp.Expr] = []
        for projection in select.expressions:
            if isinstance(projection, (exp.Alias, exp.Column, exp.Star)):
                named.append(projection)
            else:
                named.append(exp.alias_(projection, name_of(projection), quoted=True, copy=False))
        select.set("expressions", named)


def _number(node: exp.Expr) -> exp.Expr:
    """Return an operand of arithmetic."""
    return grouped(coerced(node, _N))


def _chained(node: exp.Expr, *operators: type[exp.Expr]) -> exp.Expr:
    """Return the left operand of operators with the same precedence, without parentheses."""
    return node if isinstance(node, operators) else _number(node)


def _arithmetic(node: exp.Add | exp.Sub | exp.Mul) -> exp.Expr:
    left, right = node.this, node.expression
    if isinstance(right, exp.Interval):
        return add_interval(left, right, -1 if isinstance(node, exp.Sub) else 1)
    if isinstance(left, exp.Interval):
        if not isinstance(node, exp.Add):
            raise InvalidStatement("an INTERVAL belongs after + or -, or before +")
        return add_interval(right, left, 1)
    kind = common([_counted(left), _counted(right)])
    same = (exp.Mul,) if isinstance(node, exp.Mul) else (exp.Add, exp.Sub)
    return marked(type(node)(this=_chained(left, *same), expression=_number(right)), kind)


def _counted(node: exp.Expr) -> SqlType:
    return _I if type_of(node) in {_I, _B} else _N


def _divide(node: exp.Div) -> exp.Expr:
    return marked(exp.Div(this=_number(node.this), expression=_number(node.expression)), _N)


def _divide_whole(node: exp.IntDiv) -> exp.Expr:
    left, right = _number(node.this), _number(node.expression)
    whole = {type_of(left), type_of(right)} == {_I}
    return call("divide" if whole else "mysql_int_div", left, right, kind=_I)


def _modulo(node: exp.Mod) -> exp.Expr:
    return marked(
        exp.Mod(this=_number(node.this), expression=_number(node.expression)), common([_counted(node.this), _counted(node.expression)])
    )


def _negative(node: exp.Neg) -> exp.Expr:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return marked(node, type_of(node.this))
    return marked(exp.Neg(this=grouped(coerced(node.this, _N))), _counted(node.this))


def _bitwise(node: exp.Binary) -> exp.Expr:
    left, right = (grouped(coerced(side, _I)) for side in (node.this, node.expression))
    if isinstance(node, exp.BitwiseXor):
        return call("xor", left, right, kind=_I)
    return marked(exp.Paren(this=type(node)(this=left, expression=right)), _I)


def _compare(node: exp.Binary) -> exp.Expr:
    return compared(type(node), node.this, node.expression)


def _connect(node: exp.Connector) -> exp.Expr:
    sides = []
    for side in (node.this, node.expression):
        truth = coerced(side, _B)
        sides.append(grouped(truth) if isinstance(truth, exp.Connector) and type(truth) is not type(node) else truth)
    return marked(type(node)(this=sides[0], expression=sides[1]), _B)


def _exclusive(node: exp.Xor) -> exp.Expr:
    left, right = (grouped(coerced(side, _B)) for side in (node.this, node.expression))
    return marked(exp.Paren(this=exp.NEQ(this=left, expression=right)), _B)


def _not(node: exp.Not) -> exp.Expr:
    return marked(exp.Not(this=grouped(coerced(node.this, _B))), _B)


def _in(node: exp.In) -> exp.Expr:
    if node.args.get("query"):
        return marked(node, _B)
    return contained(node.this, node.expressions)


def _between(node: exp.Between) -> exp.Expr:
    value, low, high = node.this, node.args["low"], node.args["high"]
    kinds = {type_of(part) for part in (value, low, high)} - {SqlType.NULL}
    if len(kinds) > 1 and not kinds <= {_I, _N}:
        if isinstance(value, (exp.Column, exp.Literal)):
            both = exp.and_(compared(exp.GTE, value.copy(), low), compared(exp.LTE, value, high), copy=False)
            return marked(exp.paren(both, copy=False), _B)
        if kinds & {_N, _I, _B}:
            value, low, high = (coerced(part, _N) for part in (value, low, high))
        elif kinds & {SqlType.TIME, SqlType.DATE}:
            value, low, high = (coerced(part, SqlType.TIME) for part in (value, low, high))
    return marked(exp.Between(this=grouped(value), low=grouped(low), high=grouped(high)), _B)


def _if(node: exp.If) -> exp.Expr:
    if isinstance(node.parent, exp.Case):
        return node
    return FUNCTIONS["if"].build([node.this, node.args["true"], node.args.get("false") or exp.null()])


def _case(node: exp.Case) -> exp.Expr:
    branches = node.args["ifs"]
    default = node.args.get("default")
    values = [branch.args["true"] for branch in branches] + ([default] if default is not None else [])
    conditions = [_condition(node.this, branch.this) for branch in branches]

    def build(chosen: list[exp.Expr]) -> exp.Expr:
        whole = case(list(zip(conditions, chosen, strict=False)), chosen[-1] if default is not None else None)
        if node.this is not None and not _is_repeatable(node.this):
            whole.set("this", node.this)
        return whole

    return choice(values, build)


def _condition(value: exp.Expr | None, of: exp.Expr) -> exp.Expr:
    if value is None:
        return coerced(of, _B)
    if _is_repeatable(value):
        return compared(exp.EQ, value.copy(), of)
    wanted = type_of(value)
    if wanted in {SqlType.UNKNOWN, SqlType.NULL}:
        return of
    return coerced(of, _N if wanted in {_I, _B} else wanted)


def _is_repeatable(node: exp.Expr) -> bool:
    return isinstance(node, (exp.Column, exp.Literal))


def _paren(node: exp.Paren) -> exp.Expr:
    return marked(node, type_of(node.this))


def _clause(node: exp.Where | exp.Having) -> exp.Expr:
    node.set("this", coerced(node.this, _B))
    return node


def _join(node: exp.Join) -> exp.Expr:
    if node.args.get("on") is not None:
        node.set("on", coerced(node.args["on"], _B))
    if node.text("kind").upper() == "STRAIGHT_JOIN":
        node.set("kind", None)
    if not any(node.args.get(part) for part in ("on", "using", "method", "side", "kind")):
        node.set("kind", "CROSS")
    return node


def _select(node: exp.Select) -> exp.Expr:
    source = node.args.get("from_")
    if source is not None and _is_dual(source.this) and not node.args.get("joins"):
        node.set("from_", None)
    return node


def _is_dual(table: exp.Expr) -> bool:
    return isinstance(table, exp.Table) and table.name.lower() == "dual"


def _group(node: exp.Group) -> exp.Expr:
    if node.args.get("rollup"):
        node.set("rollup", [exp.Rollup(expressions=node.expressions)])
        node.set("expressions", [])
    return node


def _limit(node: exp.Limit | exp.Offset) -> exp.Expr:
    if not (isinstance(node.expression, exp.Literal) and node.expression.is_int):
        raise InvalidStatement("LIMIT and OFFSET take whole numbers")
    return node


def _subquery(node: exp.Subquery) -> exp.Expr:
    inner = node.this
    if isinstance(inner, exp.Select) and len(inner.expressions) == 1:
        only = inner.expressions[0]
        return marked(node, type_of(only.this if isinstance(only, exp.Alias) else only))
    return node


def _interval(node: exp.Interval) -> exp.Expr:
    """Return the interval, which the rewrite of its parent replaces. Raises InvalidStatement elsewhere."""
    parent = node.parent
    if isinstance(parent, (exp.Add, exp.Sub, exp.WindowSpec)) or (isinstance(parent, exp.Anonymous) and parent.name.lower() in _SHIFTS):
        return node
    raise InvalidStatement(f"an INTERVAL belongs next to + or -, in a window's frame, or in {', '.join(_SHIFTS)}")


def _table(node: exp.Table) -> exp.Expr:
    return rows_of(node, node.this) if isinstance(node.this, exp.JSONTable) else node


def _call(node: exp.Anonymous) -> exp.Expr:
    function = FUNCTIONS[node.name.lower()]
    first = node.expressions[0] if node.expressions else None
    if isinstance(first, exp.Distinct):
        return _distinct(function.build, first.expressions)
    if function.name == "count" and len(node.expressions) > 1:
        raise InvalidStatement("count takes several arguments with DISTINCT only")
    return function.build(node.expressions)


def _distinct(build: Callable[[list[exp.Expr]], exp.Expr], values: list[exp.Expr]) -> exp.Expr:
    built = build([values[0] if len(values) == 1 else complete_rows(values)])
    built.set("expressions", [exp.Distinct(expressions=built.expressions)])
    return built


def _group_concat(node: exp.GroupConcat) -> exp.Expr:
    inner, order = node.this, None
    if isinstance(inner, exp.Order):
        inner, order = inner.this, inner
    distinct = isinstance(inner, exp.Distinct)
    joined = concatenated(inner.expressions if distinct else [inner])
    value = exp.Distinct(expressions=[joined]) if distinct else joined
    separator = node.args.get("separator") or text(",")
    if order is None:
        return call("string_agg", value, separator, kind=_T)
    ordered = order.expressions
    if distinct:
        # DuckDB sorts the distinct texts of an aggregate by themselves only.
        ordered = [
            exp.Ordered(this=copy, desc=one.args.get("desc"), nulls_first=one.args.get("nulls_first"))
            for one, copy in zip(ordered, copies(joined, 1), strict=False)
        ]
    return call("string_agg", value, exp.Order(this=separator, expressions=ordered), kind=_T)


def _window(node: exp.Window) -> exp.Expr:
    if isinstance(node.this, exp.Anonymous):
        return marked(node, type_of(node.this))
    return node


def _frame(node: exp.WindowSpec) -> exp.Expr:
    for side in ("start", "end"):
        bound = node.args.get(side)
        if isinstance(bound, exp.Interval):
            step = interval(
                bound.this if not isinstance(bound.this, exp.Literal) else exp.Literal.number(bound.this.name), bound.text("unit").upper()
            )
            if step is None:
                raise InvalidStatement(f"'{bound.text('unit')}' is not a unit of a window's frame")
            node.set(side, step)
    return node


def _trim(node: exp.Trim) -> exp.Expr:
    value = coerced(node.this, _T)
    taken = node.args.get("expression")
    side = (node.text("position") or "both").lower()
    if taken is None and side == "both":
        return FUNCTIONS["trim"].build([value])
    return call(f"mysql_trim_{side}", value, coerced(taken, _T) if taken is not None else text(" "), kind=_T)


def _substring(node: exp.Substring) -> exp.Expr:
    arguments = [node.this, node.args.get("start") or exp.Literal.number(1), node.args.get("length")]
    return FUNCTIONS["substring"].build([argument for argument in arguments if argument is not None])


def _position(node: exp.StrPosition) -> exp.Expr:
    return FUNCTIONS["position"].build([node.args["substr"], node.this])


_REWRITES: Mapping[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul), _arithmetic),
    exp.Div: _divide,
    exp.IntDiv: _divide_whole,
    exp.Mod: _modulo,
    exp.Neg: _negative,
    **dict.fromkeys((exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift), _bitwise),
    exp.BitwiseNot: lambda node: call("mysql_bit_not", coerced(node.this, _I), kind=_I),
    **dict.fromkeys(COMPARISONS, _compare),
    **dict.fromkeys((exp.And, exp.Or), _connect),
    exp.Xor: _exclusive,
    exp.Not: _not,
    exp.Is: tested,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: liked,
    exp.Escape: escaped,
    exp.RegexpLike: matched,
    exp.Collate: collated,
    exp.If: _if,
    exp.Case: _case,
    exp.Cast: lambda node: converted(node.this, node.to),
    exp.Paren: _paren,
    exp.Exists: lambda node: marked(node, _B),
    exp.Where: _clause,
    exp.Having: _clause,
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
    exp.Concat: lambda node: concatenated(node.expressions),
    exp.Window: _window,
    exp.WindowSpec: _frame,
    exp.Trim: _trim,
    exp.Substring: _substring,
    exp.StrPosition: _position,
    exp.Extract: lambda node: extract(node.name.upper(), node.expression),
    exp.JSONExtract: lambda node: extracted(node.this, node.expression),
    exp.JSONExtractScalar: lambda node: unquoted(extracted(node.this, node.expression)),
    exp.JSONArrayContains: lambda node: FUNCTIONS["json_contains"].build([node.expression, call("to_json", node.this, kind=SqlType.JSON)]),
    exp.National: lambda node: text(node.name),
    exp.Introducer: lambda node: node.expression,
}
