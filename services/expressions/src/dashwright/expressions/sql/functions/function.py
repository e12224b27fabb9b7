"""The shape of an entry in the table of functions, and builders of entries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dashwright.expressions.sql.coercion import agreed, coerced
from dashwright.expressions.sql.duckdb_sql import call
from dashwright.expressions.sql.sql_type import SqlType, common, marked, type_of

Build = Callable[[Sequence[exp.Expr]], exp.Expr]


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A function of the language."""

    name: str
    usage: str  #: The call, for the reference page.
    doc: str  #: The result, for the reference page.
    build: Build  #: Returns DuckDB's expression of the arguments.
    least: int  #: Fewest arguments.
    most: int | None  #: Most arguments; None for any number.
    macros: tuple[str, ...] = ()  #: Statements that create what it needs.
    aggregate: bool = False  #: Over the rows of a group.
    window: bool = False  #: Over a window only.
    distinct: bool = False  #: Takes DISTINCT.


@dataclass(frozen=True, slots=True)
class Form:
    """A body in DuckDB's SQL over typed parameters."""

    kinds: tuple[SqlType, ...]
    names: tuple[str, ...]
    body: str


def form(parameters: str, body: str) -> Form:
    """Return the form with parameters ``"t: time, n: integer"`` and an expression that names each once (see ``let``)."""
    pairs = [parameter.split(": ") for parameter in parameters.split(", ")] if parameters else []
    return Form(tuple(SqlType[kind.upper()] for _, kind in pairs), tuple(name for name, _ in pairs), body)


def scalar(name: str, gives: SqlType, doc: str, *forms: Form, usage: str = "") -> SqlFunction:
    """Return a function with one form for each number of arguments."""
    by_count = {len(one.kinds): one for one in forms}
    bodies = ", ".join(f"({', '.join(one.names)}) as {one.body}" for one in forms)

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        kinds = by_count[len(arguments)].kinds
        return call("mysql_" + name, *map(coerced, arguments, kinds), kind=gives)

    longest = max(forms, key=lambda one: len(one.names)).names
    needed = min(by_count)
    shown = ", ".join(longest[:needed]) + "".join(f"[, {extra}]" for extra in longest[needed:])
    if not needed:
        shown = shown.replace("[, ", "[", 1)
    return SqlFunction(name, usage or f"{name}({shown})", doc, build, needed, max(by_count), (f"create macro mysql_{name} {bodies}",))


def written(name: str, usage: str, doc: str, build: Build, least: int, most: int | None, *macros: str) -> SqlFunction:
    """Return a function whose expression depends on how its arguments are written."""
    return SqlFunction(name, usage, doc, build, least, most, macros)


def aggregate(name: str, duckdb: str, kinds: str, gives: SqlType | None, doc: str, *, distinct: bool = False) -> SqlFunction:
    """Return a function over the rows of a group: DuckDB's, over arguments of these types.

    ``gives`` None is the type of its first argument.
    """
    wanted = [SqlType[kind.upper()] for kind in kinds.split(", ")]

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call(duckdb, *map(coerced, arguments, wanted), kind=gives or type_of(arguments[0]))

    usage = f"{name}({'[DISTINCT] ' if distinct else ''}{', '.join('xyz'[: len(wanted)])})"
    return SqlFunction(name, usage, doc, build, len(wanted), len(wanted), aggregate=True, distinct=distinct)


def window(name: str, usage: str, doc: str, least: int, most: int, gives: SqlType | None = None) -> SqlFunction:
    """Return a window function that DuckDB has under the same name, with the same meaning."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call(name, *arguments, kind=gives or type_of(arguments[0]))

    return SqlFunction(name, usage, doc, build, least, most, window=True)


def choice(arguments: Sequence[exp.Expr], build: Callable[[list[exp.Expr]], exp.Expr]) -> exp.Expr:
    """Return ``build`` of the arguments, cast to their common type (COALESCE, CASE, IF …)."""
    kind = common([type_of(argument) for argument in arguments])
    return marked(build(agreed(list(arguments), kind)), kind)


def alias(function: SqlFunction, name: str) -> SqlFunction:
    """Return the function under another name."""
    return replace(function, name=name, usage=function.usage.replace(function.name, name, 1), doc=f"same as `{function.name}`", macros=())
