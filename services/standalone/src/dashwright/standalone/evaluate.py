"""The command ``dashwright eval``: it evaluates a panel's queries over recorded frames without a server, to test dashboards."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.json_documents import write_json
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.settings import SettingsError, load
from dashwright.expressions import queries
from dashwright.expressions.consumer import query_settings
from dashwright.expressions.formats import response
from dashwright.expressions.sources.catalog import Catalog
from dashwright.expressions.sources.recorded_frames import RecordedFrames
from dashwright.expressions.sources.registry import BUILT_IN, DataSource
from dashwright.standalone.documents import read_document
from dashwright.standalone.fixed_clock import FixedClock
from dashwright.standalone.panel import panel_of
from dashwright.standalone.tables import print_result
from dashwright.standalone.terminal import error_line

# Exit statuses.
FAILED, NOT_RUN = 1, 2
#: Characters of a line of output that is not sent to a terminal. Without it, rich would fit tables into 80 characters.
_PIPED_WIDTH = 160


def evaluate(
    file: Annotated[str, Parameter(allow_leading_hyphen=True)],
    /,
    *,
    panel: str | None = None,
    frames: Path | None = None,
    start: Annotated[str | None, Parameter(name="--from")] = None,
    end: Annotated[str | None, Parameter(name="--to")] = None,
    now: datetime | None = None,
    strict: bool = False,
    output_format: Annotated[Literal["table", "json"], Parameter(name="--format")] = "table",
) -> int:
    """Evaluate a panel's expressions over recorded frames, without a server.

    The exit status is 0 if every visible query has a result, 1 if one has an error or the panel is invalid, 2 if a file cannot be read.

    Parameters
    ----------
    file
        A panel, the body of a query, or a dashboard; JSON, or YAML by its extension; - for standard input.
    panel
        The panel of a dashboard, by its id or title.
    frames
        The results of the data sources: a response of /api/ds/query. Its frames replace the queries with the same refIds.
    start
        The start of the time range, instead of that in the file: now-6h, 2026-01-01, epoch milliseconds.
    end
        The end of the time range.
    now
        The current time for relative times such as now-6h, so that results are reproducible. A time without an offset is in UTC.
    strict
        Validate strictly, as /api/panels/query does. By default, members without effect are accepted, as by /api/ds/query.
    output_format
        Text tables, or the JSON of a /api/ds/query response.
    """
    try:
        body = _request_body(file, panel, {"from": start, "to": end}, strict=strict)
        recorded_frames = RecordedFrames({}) if frames is None else RecordedFrames.of_response(frames.read_bytes())
        settings = query_settings(load())
    except (DashwrightError, SettingsError, OSError, UnicodeDecodeError) as error:
        return _report_error(error, NOT_RUN)
    clock = settings.clock if now is None else FixedClock.at(now)
    settings = replace(settings, clock=clock, sources=_RecordedSources(recorded_frames))
    try:
        context = QueryContext(QueryEndpoint.PANEL if strict else QueryEndpoint.QUERY)
        results = asyncio.run(queries.evaluate(body, context, settings)).results
    except DashwrightError as error:
        return _report_error(error, FAILED)
    finally:
        settings.close()
    if output_format == "json":
        sys.stdout.write(b"".join(fragment for fragment, _ in response.fragments(results)).decode() + "\n")
    else:
        console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
        for ref_id, result in results.items():
            print_result(console, ref_id, result)
    return FAILED if any(result.error for result in results.values()) else 0


def _report_error(error: Exception, status: int) -> int:
    """Write an error to standard error, and return the exit status."""
    sys.stderr.write(f"dashwright eval: {error_line(error)}\n")
    return status


def _request_body(file: str, panel_selector: str | None, time_range: dict[str, str | None], *, strict: bool) -> bytes:
    """Return the body of a request to ``/api/panels/query`` if ``strict``, or else to ``/api/ds/query``.

    ``time_range`` has the members ``from`` and ``to``. The value in the file is used for a member without a value.
    """
    panel = {**panel_of(read_document(file), panel_selector), **{key: value for key, value in time_range.items() if value is not None}}
    if strict:
        return write_json(panel)
    panel_queries = [*panel.pop("queries", []), *panel.pop("targets", [])]
    return write_json({"queries": panel_queries, **{key: panel[key] for key in time_range if key in panel}})


class _RecordedSources:
    """Data sources that return recorded frames. A built-in data source without recorded frames runs its queries itself."""

    def __init__(self, recorded_frames: RecordedFrames) -> None:
        self._recorded_frames = recorded_frames

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> list[DataSource | DashwrightError]:
        """Return the data source of each query, or an error if no frames are recorded for it."""
        return [self._source_of(query) for query in queries]

    async def catalog(self, context: QueryContext) -> Catalog:
        """Return no data sources, because none is stored."""
        return Catalog()

    def _source_of(self, query: SourceQuery) -> DataSource | DashwrightError:
        """Return the source of recorded frames, else the built-in data source, else the error of a query without frames."""
        source_type = query.datasource.type
        if query.ref_id in self._recorded_frames:
            return DataSource(source_type, self._recorded_frames)
        if source_type in BUILT_IN:
            return DataSource(source_type, BUILT_IN[source_type])
        return BadRequest(
            f"no frames are recorded for query {query.ref_id}; give a response of /api/ds/query that contains them with --frames"
        )
