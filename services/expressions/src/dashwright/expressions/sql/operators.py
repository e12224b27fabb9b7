"""Rewriting of MySQL's arithmetic, bitwise and logical operators for DuckDB."""

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerce
from dashwright.expressions.sql.comparison import parenthesized
from dashwright.expressions.sql.duckdb_sql import call, macro
from dashwright.expressions.sql.functions.times import add_interval
from dashwright.expressions.sql.sql_type import SqlType, common_type, type_of, with_type
from dashwright.expressions.sql.statement_errors import InvalidStatement

_NUMBER, _BOOLEAN, _INTEGER = SqlType.NUMBER, SqlType.BOOLEAN, SqlType.INTEGER

MACROS = (
    macro("int_div(a, b)", "cast(trunc(a / b) as bigint)"),
    # The complement of a non-negative number is taken within 64 bits, whose largest number is 2**64 - 1. ``$x`` is the bound value.
    macro("bit_not(x)", "case when $x < 0 then -$x - 1 else 18446744073709551615::hugeint - $x end", x="x::hugeint"),
)


def _number_operand(node: exp.Expr) -> exp.Expr:
    """Return the node as an operand of arithmetic."""
    return parenthesized(coerce(node, _NUMBER))


def _left_operand(node: exp.Expr, *operators: type[exp.Expr]) -> exp.Expr:
    """Return the left operand. The result of one of ``operators`` is a number of the same precedence, and is used unchanged."""
    return node if isinstance(node, operators) else _number_operand(node)


def arithmetic(node: exp.Add | exp.Sub | exp.Mul) -> exp.Expr:
    """Return the sum, difference or product. Raises InvalidStatement for a misplaced INTERVAL."""
    left, right = node.this, node.expression
    if isinstance(right, exp.Interval):
        return add_interval(left, right, -1 if isinstance(node, exp.Sub) else 1)
    if isinstance(left, exp.Interval):
        if not isinstance(node, exp.Add):
            raise InvalidStatement("an INTERVAL belongs after + or -, or before +")
        return add_interval(right, left, 1)
    result_type = common_type([_numeric_type(left), _numeric_type(right)])
    same_precedence = (exp.Mul,) if isinstance(node, exp.Mul) else (exp.Add, exp.Sub)
    return with_type(type(node)(this=_left_operand(left, *same_precedence), expression=_number_operand(right)), result_type)


def _numeric_type(node: exp.Expr) -> SqlType:
    """Return the numeric type of an operand, which determines that of the result: INTEGER for integers and booleans, else NUMBER."""
    return _INTEGER if type_of(node) in {_INTEGER, _BOOLEAN} else _NUMBER


def divide(node: exp.Div) -> exp.Expr:
    """Return the division, which is not rounded."""
    return with_type(exp.Div(this=_number_operand(node.this), expression=_number_operand(node.expression)), _NUMBER)


def integer_division(node: exp.IntDiv) -> exp.Expr:
    """Return the integer part of a quotient."""
    left, right = _number_operand(node.this), _number_operand(node.expression)
    # After the conversion to NUMBER, only literals may still be integers. DuckDB's ``divide`` divides integers exactly.
    are_integers = {type_of(left), type_of(right)} == {_INTEGER}
    return call("divide" if are_integers else "mysql_int_div", left, right, result_type=_INTEGER)


def modulo(node: exp.Mod) -> exp.Expr:
    """Return the remainder of a division."""
    return with_type(
        exp.Mod(this=_number_operand(node.this), expression=_number_operand(node.expression)),
        common_type([_numeric_type(node.this), _numeric_type(node.expression)]),
    )


def negate(node: exp.Neg) -> exp.Expr:
    """Return the negative number."""
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return with_type(node, type_of(node.this))
    return with_type(exp.Neg(this=parenthesized(coerce(node.this, _NUMBER))), _numeric_type(node.this))


def bitwise(node: exp.Binary) -> exp.Expr:
    """Return a bitwise operation on integers."""
    left, right = (parenthesized(coerce(operand, _INTEGER)) for operand in (node.this, node.expression))
    if isinstance(node, exp.BitwiseXor):
        return call("xor", left, right, result_type=_INTEGER)
    return with_type(exp.Paren(this=type(node)(this=left, expression=right)), _INTEGER)


def logical(node: exp.Connector) -> exp.Expr:
    """Return the AND or OR of two conditions. An OR inside an AND, or an AND inside an OR, gets parentheses."""
    operands = []
    for operand in (node.this, node.expression):
        condition = coerce(operand, _BOOLEAN)
        operands.append(
            parenthesized(condition) if isinstance(condition, exp.Connector) and type(condition) is not type(node) else condition
        )
    return with_type(type(node)(this=operands[0], expression=operands[1]), _BOOLEAN)


def exclusive_or(node: exp.Xor) -> exp.Expr:
    """Return the XOR of two conditions."""
    left, right = (parenthesized(coerce(operand, _BOOLEAN)) for operand in (node.this, node.expression))
    return with_type(exp.Paren(this=exp.NEQ(this=left, expression=right)), _BOOLEAN)


def logical_not(node: exp.Not) -> exp.Expr:
    """Return the negation of a condition."""
    return with_type(exp.Not(this=parenthesized(coerce(node.this, _BOOLEAN))), _BOOLEAN)


def bitwise_not(node: exp.BitwiseNot) -> exp.Expr:
    """Return the bitwise complement of an integer, as an unsigned number."""
    return call("mysql_bit_not", coerce(node.this, _INTEGER), result_type=_INTEGER)
