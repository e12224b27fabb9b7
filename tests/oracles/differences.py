"""What SQL expressions answer otherwise than MariaDB on purpose: the table of the reference page, which is the one list of it."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import duckdb
from tests.oracles.cases import Answer, ask_duckdb, same, shown

PAGE = Path(__file__).parents[2] / "docs/reference/sql.md"
_ROW = re.compile(r"^\| `(.+?)` \| (.+?) \| (.+?) \| (.+?) \|$", re.MULTILINE)


class Difference(NamedTuple):
    """Both answers, as ``shown``, and why they differ."""

    here: str
    there: str
    why: str


@cache
def differences() -> dict[str, Difference]:
    """By the case."""
    _, _, rest = PAGE.read_text().partition("<!-- differences -->\n")
    table, _, _ = rest.partition("<!-- end -->")
    return {case.replace("\\|", "|"): Difference(here, there, why) for case, here, there, why in _ROW.findall(table)}


def check_case(connection: duckdb.DuckDBPyConnection, case: str, there: Answer) -> str | None:
    """What is wrong with the answer to this case, beside MariaDB's, or None."""
    here = ask_duckdb(connection, case)
    listed = differences().get(case)
    if listed is None:
        return None if same(here, there) else f"{case}: {shown(here)}, MariaDB: {shown(there)}"
    if same(here, there):
        return f"{case}: listed as different, and both answer {shown(here)}"
    told = (listed.here.strip("`"), listed.there.strip("`"))
    return None if told == (shown(here), shown(there)) else f"{case}: listed as {told}, answered {(shown(here), shown(there))}"
