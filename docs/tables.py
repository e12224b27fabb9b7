"""Writes the tables of the reference pages from the code, between their markers (``make docs``)."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from dashwright.common.settings import Settings
from dashwright.expressions.engine.math.functions import FUNCTIONS
from dashwright.expressions.engine.math.operators import BINARY
from dashwright.expressions.engine.reducers import REDUCERS
from dashwright.expressions.sql.functions import GROUPS

PAGE = Path(__file__).parent / "reference/expressions.md"
SQL_PAGE = PAGE.with_name("sql.md")
SETTINGS_PAGE = PAGE.with_name("settings.md")

#: Headings in the page of settings, by the first setting below each.
_HEADINGS_OF_SETTINGS: Final = {
    "HTTP_HOST": "Address and TLS",
    "DATABASE_URL": "Database, broker and directory of data",
    "ADMIN_USER": "Passwords and logins",
    "TRUSTED_PROXIES": "Proxies and names of the server",
    "API_KEY_MAX_SECONDS_TO_LIVE": "Tokens, audit, dead letters and quotas",
    "SECRET_KEY": "Secrets, features and local directories",
    "LOG_LEVEL": "Logs, probes and metrics",
    "ADDRESS_CONNECTIONS": "Connections and memory of a gateway",
    "START_SECONDS": "Start and stop",
    "QUERY_SECONDS": "Queries and expressions",
    "EVALUATION_RESULT_SECONDS": "Evaluations",
    "SQL_SLOTS": "SQL expressions and transformations",
    "ALLOWED_HOSTS": "Data sources",
    "JOB_SLOTS": "Jobs and batches",
    "MIN_REFRESH": "Dashboards, folders and watches",
    "SCHEDULING": "Repositories and git hosts",
    "RESULTS_URL": "Results of batches",
    "SNAPSHOTS": "Snapshots, playlists, short URLs and query histories",
    "PREFERRED_DASHBOARD_VERSION": "Versions of dashboards",
    "PROVISIONING_DIR": "Files that declare repositories",
    "GIT_SECONDS": "Transfers and keys of git",
    "NOTIFICATION_SECONDS": "Notifications",
    "PROXY_MAX_BYTES": "Proxy to data sources",
}


def page_with_tables(text: str) -> str:
    """Return a page whose marked tables are replaced by those generated from the code."""
    for name, rows in _tables().items():
        if f"<!-- {name} -->\n" not in text:
            continue
        before, marker, table_and_after = text.partition(f"<!-- {name} -->\n")
        _, end_marker, after = table_and_after.partition("<!-- end -->")
        text = before + marker + rows + end_marker + after
    return text


def _tables() -> Mapping[str, str]:
    """Return the tables as Markdown, by the name in their marker."""
    tightest_first = sorted(BINARY.items(), key=lambda item: -item[1].precedence)
    operators = ((_code(symbol), str(operator.precedence + 1), operator.doc) for symbol, operator in tightest_first)
    functions = ((_code(f"{name}({', '.join('x' * function.arity)})"), function.doc) for name, function in FUNCTIONS.items())
    reducers = ((_code(name), reducer.doc) for name, reducer in REDUCERS.items())
    return {
        "operators": _table(("operator", "precedence", "result"), operators),
        "functions": _table(("function", "result"), functions),
        "settings": _sections_of_settings(),
        "reducers": _table(("reducer", "result"), reducers),
        **{
            f"sql {name}": _table(("function", "result"), ((_code(function.usage), function.doc) for function in group))
            for name, group in GROUPS.items()
        },
    }


def _sections_of_settings() -> str:
    """Return a heading with a table for each group of settings."""
    rows_by_heading: dict[str, list[tuple[str, str, str, str]]] = {}
    headings = dict(_HEADINGS_OF_SETTINGS)
    for row in _settings():
        heading = headings.pop(row[0].strip("`"), None) or next(reversed(rows_by_heading))
        rows_by_heading.setdefault(heading, []).append(row)
    assert not headings, f"no settings: {', '.join(headings)}"
    tables = (f"## {heading}\n\n{_table(('name', 'default', 'meaning', 'read by'), rows)}" for heading, rows in rows_by_heading.items())
    return "\n" + "\n".join(tables) + "\n"


def _settings() -> Iterable[tuple[str, str, str, str]]:
    """Yield name, default, meaning and readers of each setting."""
    for name, field in Settings.model_fields.items():
        extra = field.json_schema_extra
        assert isinstance(extra, dict), f"{name} is not described"
        default = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
        if isinstance(default, bool):
            default = str(default).lower()
        is_shown = isinstance(default, int | float | str | Path) and default != ""
        cell = extra["displayed_default"] or (f"`{default}`" if is_shown else "none")
        yield f"`{name.upper()}`", str(cell), str(field.description), str(extra["read_by"])


def _code(text: str) -> str:
    # An unescaped bar ends a cell even within backticks.
    return f"`{text}`".replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    for page in (PAGE, SQL_PAGE, SETTINGS_PAGE):
        page.write_text(page_with_tables(page.read_text()))
