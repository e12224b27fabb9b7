"""Writes the tables of the reference pages from the code, between their markers (``make docs``)."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from dashwright.expressions.engine.math.functions import FUNCTIONS
from dashwright.expressions.engine.math.operators import BINARY
from dashwright.expressions.engine.reducers import REDUCERS
from dashwright.expressions.sql.functions import GROUPS

PAGE = Path(__file__).parent / "reference/expressions.md"
SQL_PAGE = PAGE.with_name("sql.md")


def page_with_tables(text: str) -> str:
    """Return the page with the tables that it has markers for, as the code has them now."""
    for name, rows in _tables().items():
        if f"<!-- {name} -->\n" not in text:
            continue
        before, marker, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition("<!-- end -->")
        text = before + marker + rows + end + after
    return text


def _tables() -> Mapping[str, str]:
    tightest_first = sorted(BINARY.items(), key=lambda item: -item[1].precedence)
    operators = ((_code(symbol), str(operator.precedence + 1), operator.doc) for symbol, operator in tightest_first)
    functions = ((_code(f"{name}({', '.join('x' * function.arity)})"), function.doc) for name, function in FUNCTIONS.items())
    reducers = ((_code(name), reducer.doc) for name, reducer in REDUCERS.items())
    return {
        "operators": _table(("operator", "binds", "gives"), operators),
        "functions": _table(("function", "gives"), functions),
        "reducers": _table(("reducer", "gives"), reducers),
        **{
            f"sql {name}": _table(("function", "gives"), ((_code(function.usage), function.doc) for function in group))
            for name, group in GROUPS.items()
        },
    }


def _code(text: str) -> str:
    # A bare bar would end the cell, also within backticks.
    return f"`{text}`".replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    for page in (PAGE, SQL_PAGE):
        page.write_text(page_with_tables(page.read_text()))
