"""The reference page is correct: its statements create a suitable role, its macros expand as shown, its queries return its results."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import asyncpg
from tests.integration.postgres_source.conftest import RANGE, Warehouse, column_values, patient_limits
from tests.servers.databases import with_database

from dashwright.common.models.data_sources import SourceRecord
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.timerange import parse_time_range
from dashwright.expressions.sources.postgres.connections import Connections
from dashwright.expressions.sources.postgres.macros import MacroContext, expand
from dashwright.expressions.sources.postgres.source import Postgres

PAGE = Path(__file__).parents[3] / "docs/reference/data-sources-postgres.md"
#: A block of code with its language and a word about its use, and a row of the table of macros.
_FENCE = re.compile(r"^```(\w+ \w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MACRO = re.compile(r"^\| `(\$__[^`]+)` \| `([^`]+)` \|$", re.MULTILINE)


def test_macros_expand_as_on_the_page() -> None:
    """The page has every macro with its expansion."""
    rows = _MACRO.findall(PAGE.read_text())
    assert {row[0]: expand(row[0], MacroContext(RANGE, 60_000)).sql for row in rows} == dict(rows)
    # The page has 18 rows: no row was overlooked by the pattern.
    assert len(rows) == 18


async def test_the_recipe_creates_the_source_of_the_page(warehouse: Warehouse, owner: Any, connections: Connections) -> None:
    """The statements of the page create a role, with which its data source connects, and its queries return its results."""
    database, role = f"{warehouse.database}_page", f"{warehouse.reader}_page"
    await owner.execute(f"create database {database}")
    page_connection = await asyncpg.connect(with_database(warehouse.owner_url, database))
    try:
        blocks = [(kind, text.replace("dashwright_reader", role)) for kind, text in _FENCE.findall(PAGE.read_text())]
        for kind, text in blocks:
            if kind == "sql owner":
                await page_connection.execute(text)
        source = Postgres(_record(next(text for kind, text in blocks if kind == "json source"), warehouse, database), connections)
        assert await source.health() == "Database Connection OK"
        query_count = 0
        # The block after each query is its result.
        for (kind, query), (_, result) in pairwise(blocks):
            if kind == "json query":
                assert "\n".join(_lines(await _frame(source, json.loads(query)))) + "\n" == result
                query_count += 1
        assert query_count == 3  # all queries of the page
        await page_connection.execute("create table later (x int)")
        assert await page_connection.fetchval(f"select has_table_privilege('{role}', 'later', 'select')")
    finally:
        await page_connection.execute(f"drop owned by {role}")
        await page_connection.close()
        await owner.execute(f"drop database {database} with (force)")
        await owner.execute(f"drop role {role}")


def _record(text: str, warehouse: Warehouse, database: str) -> SourceRecord:
    """Return the data source of the page, but on the server of the test."""
    body = json.loads(text)
    options = {**body["jsonData"], "sslmode": "disable", "database": database}
    secrets = {"password": body["secureJsonData"]["password"]}
    return replace(
        warehouse.record, uid="page", name=body["name"], type=body["type"], user=body["user"], json_data=options, secrets=secrets
    )


async def _frame(source: Postgres, query: dict[str, Any]) -> Frame:
    """Return the result of a query of the page, by default in the first hour of 2020."""
    span = parse_time_range("2020-01-01", query.pop("to", "2020-01-01T01"), datetime.now(UTC))
    source_query = SourceQuery.model_validate({"refId": "A", "datasource": {"type": "postgres", "uid": "page"}, **query})
    (frame,) = await source.query(source_query, span, patient_limits())
    return frame


def _lines(frame: Frame) -> Iterator[str]:
    """Yield a line for each column as the page shows it: the name with the labels, and the values."""
    for item in frame.fields:
        cells = column_values(Frame([item]))[item.name]
        if item.type is FieldType.TIME:
            cells = [f"{datetime.fromtimestamp(value / 1e9, UTC):%H:%M}" for value in cells]
        labels = f"{{{item.labels}}}" if item.labels else ""
        yield " ".join([item.name + labels, *(_cell(value) for value in cells)])


def _cell(value: Any) -> str:
    """Return a value as the page shows it."""
    return "null" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
