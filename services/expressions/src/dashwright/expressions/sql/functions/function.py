"""The type ``SqlFunction``, an entry in the table of functions, and functions that create such entries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dashwright.expressions.sql.coercion import coerce, coerce_all
from dashwright.expressions.sql.duckdb_sql import call
from dashwright.expressions.sql.sql_type import SqlType, common_type, type_of, with_type

#: Returns DuckDB's expression for a call of a function, from the arguments of the call.
Builder = Callable[[Sequence[exp.Expr]], exp.Expr]


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A function that statements may call."""

    name: str
    usage: str  #: The call, for the reference page.
    doc: str  #: The result, for the reference page.
    build: Builder
    min_arguments: int
    max_arguments: int | None  #: None if there is no maximum.
    macros: tuple[str, ...] = ()  #: Statements that create the macros which the result of ``build`` calls.
    is_aggregate: bool = False  #: Computed over the rows of a group.
    is_window: bool = False  #: Requires an OVER clause.
    takes_distinct: bool = False  #: Supports DISTINCT before its arguments.


@dataclass(frozen=True, slots=True)
class Overload:
    """The body of a function in DuckDB's SQL, for calls with as many arguments as it has parameters."""

    types: tuple[SqlType, ...]  #: The types of the parameters.
    names: tuple[str, ...]  #: The names of the parameters.
    body: str


def overload(parameters: str, body: str) -> Overload:
    """Return an overload with parameters such as ``"t: timestamp, n: integer"``.

    ``body`` should refer to each parameter once, because a macro evaluates its argument at each reference; see ``duckdb_sql.let``.
    """
    pairs = [parameter.split(": ") for parameter in parameters.split(", ")] if parameters else []
    return Overload(tuple(SqlType[type_name.upper()] for _, type_name in pairs), tuple(name for name, _ in pairs), body)


def scalar(name: str, result_type: SqlType, doc: str, *overloads: Overload, usage: str = "") -> SqlFunction:
    """Return a function with an overload for each number of arguments."""
    overloads_by_count = {len(variant.types): variant for variant in overloads}
    bodies = ", ".join(f"({', '.join(variant.names)}) as {variant.body}" for variant in overloads)

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        types = overloads_by_count[len(arguments)].types
        return call("mysql_" + name, *map(coerce, arguments, types), result_type=result_type)

    min_count, max_count = min(overloads_by_count), max(overloads_by_count)
    names = overloads_by_count[max_count].names
    parameters = ", ".join(names[:min_count]) + "".join(f"[, {optional}]" for optional in names[min_count:])
    if not min_count:
        # All parameters are optional: no comma precedes the first one.
        parameters = parameters.replace("[, ", "[", 1)
    macro = f"create macro mysql_{name} {bodies}"
    return SqlFunction(name, usage or f"{name}({parameters})", doc, build, min_count, max_count, (macro,))


def custom(
    name: str, usage: str, doc: str, build: Builder, *macros: str, min_arguments: int, max_arguments: int | None = None
) -> SqlFunction:
    """Return a function whose expression ``build`` derives from the syntax trees of its arguments.

    ``macros`` are the statements that create the macros of the expression. Without ``max_arguments``, there is no maximum.
    """
    return SqlFunction(name, usage, doc, build, min_arguments, max_arguments, macros)


def aggregate(
    name: str, duckdb_name: str, parameter_types: str, result_type: SqlType | None, doc: str, *, takes_distinct: bool = False
) -> SqlFunction:
    """Return an aggregate function that calls DuckDB's function ``duckdb_name``.

    ``parameter_types`` are names of SqlType. Without ``result_type`` the result has the type of the first argument.
    """
    types = [SqlType[type_name.upper()] for type_name in parameter_types.split(", ")]

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call(duckdb_name, *map(coerce, arguments, types), result_type=result_type or type_of(arguments[0]))

    # The reference page calls the arguments x, y and z.
    parameters = ", ".join("xyz"[: len(types)])
    usage = f"{name}({'[DISTINCT] ' if takes_distinct else ''}{parameters})"
    return SqlFunction(name, usage, doc, build, len(types), len(types), is_aggregate=True, takes_distinct=takes_distinct)


def window(name: str, usage: str, doc: str, *, min_arguments: int, max_arguments: int, result_type: SqlType | None = None) -> SqlFunction:
    """Return a window function that DuckDB has with the same name. By default its result has the type of its first argument."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call(name, *arguments, result_type=result_type or type_of(arguments[0]))

    return SqlFunction(name, usage, doc, build, min_arguments, max_arguments, is_window=True)


def choice(arguments: Sequence[exp.Expr], build: Callable[[list[exp.Expr]], exp.Expr]) -> exp.Expr:
    """Return the call of a function that returns one of its arguments, such as COALESCE.

    ``build`` returns the call from the arguments after their conversion to a common type.
    """
    result_type = common_type([type_of(argument) for argument in arguments])
    return with_type(build(coerce_all(list(arguments), result_type)), result_type)


def alias(function: SqlFunction, name: str) -> SqlFunction:
    """Return the function under another name."""
    usage = function.usage.replace(function.name, name, 1)
    # ``function`` itself has the statements that create the macros. They must run once.
    return replace(function, name=name, usage=usage, doc=f"same as `{function.name}`", macros=())
