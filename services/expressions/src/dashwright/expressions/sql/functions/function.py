"""The shape of an entry in the table of functions, and the ways to write one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from dashwright.expressions.sql.coercion import agreed, coerced
from dashwright.expressions.sql.duckdb_sql import call
from dashwright.expressions.sql.sql_type import SqlType, common, marked, type_of

Build = Callable[[Sequence[exp.Expr]], exp.Expr]


@dataclass(frozen=True, slots=True)
class SqlFunction:
    """A function of the language.

    ``usage`` is how it is written and ``doc`` what it gives, for the reference page. It takes ``least`` to ``most`` arguments (None: any
    number), and ``build`` makes DuckDB's expression of them. ``macros`` are statements that it needs. ``aggregate``: over the rows of a
    group; ``window``: over a window only; ``distinct``: takes DISTINCT.
    """

    name: str
    usage: str
    doc: str
    build: Build
    least: int
    most: int | None
    macros: tuple[str, ...] = ()
    aggregate: bool = False
    window: bool = False
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """A body in DuckDB's SQL over parameters of these kinds."""

    kinds: tuple[SqlType, ...]
    names: tuple[str, ...]
    body: str


def form(parameters: str, body: str) -> Form:
    """Of ``"t: time, n: integer"`` and an expression over ``t`` and ``n`` that names neither twice (see ``let``)."""
    pairs = [parameter.split(": ") for parameter in parameters.split(", ")] if parameters else []
    return Form(tuple(SqlType[kind.upper()] for _, kind in pairs), tuple(name for name, _ in pairs), body)


def scalar(name: str, gives: SqlType, doc: str, *forms: Form, usage: str = "") -> SqlFunction:
    """A function of one form for each number of arguments it takes."""
    by_count = {len(one.kinds): one for one in forms}
    bodies = ", ".join(f"({', '.join(one.names)}) as {one.body}" for one in forms)

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        kinds = by_count[len(arguments)].kinds
        return call("mysql_" + name, *map(coerced, arguments, kinds), kind=gives)

    longest = max(forms, key=lambda one: len(one.names)).names
    needed = min(by_count)
    shown = ", ".join(longest[:needed]) + "".join(f"[, {extra}]" for extra in longest[needed:])
    return SqlFunction(name, usage or f"{name}({shown})", doc, build, needed, max(by_count), (f"create macro mysql_{name} {bodies}",))


def written(name: str, usage: str, doc: str, build: Build, least: int, most: int | None, *macros: str) -> SqlFunction:
    """A function whose expression depends on how its arguments are written."""
    return SqlFunction(name, usage, doc, build, least, most, macros)


def aggregate(name: str, duckdb: str, kinds: str, gives: SqlType | None, doc: str, *, distinct: bool = False) -> SqlFunction:
    """A function over the rows of a group: DuckDB's, over arguments of these kinds. ``gives`` None: what its first argument is."""
    wanted = [SqlType[kind.upper()] for kind in kinds.split(", ")]

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call(duckdb, *map(coerced, arguments, wanted), kind=gives or type_of(arguments[0]))

    usage = f"{name}({'[DISTINCT] ' if distinct else ''}{', '.join('xyz'[: len(wanted)])})"
    return SqlFunction(name, usage, doc, build, len(wanted), len(wanted), aggregate=True, distinct=distinct)


def window(name: str, usage: str, doc: str, least: int, most: int, gives: SqlType | None = None) -> SqlFunction:
    """A function that DuckDB has under the same name, with the same meaning."""

    def build(arguments: Sequence[exp.Expr]) -> exp.Expr:
        return call(name, *arguments, kind=gives or type_of(arguments[0]))

    return SqlFunction(name, usage, doc, build, least, most, window=True)


def choice(arguments: Sequence[exp.Expr], build: Callable[[list[exp.Expr]], exp.Expr]) -> exp.Expr:
    """What ``build`` makes of values that one is chosen of."""
    kind = common([type_of(argument) for argument in arguments])
    return marked(build(agreed(list(arguments), kind)), kind)


def alias(function: SqlFunction, name: str) -> SqlFunction:
    """The same under another name."""
    return replace(function, name=name, usage=function.usage.replace(function.name, name, 1), doc=f"as `{function.name}`", macros=())
