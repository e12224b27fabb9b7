"""``dashwright eval``: evaluates a panel's queries over recorded frames, without a server, for tests of dashboards."""

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from dashwright.common.clock import Clock
from dashwright.common.document import read_json, write_json
from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext, QueryEndpoint
from dashwright.common.settings import SettingsError, load
from dashwright.common.yaml import read_yaml
from dashwright.expressions import queries
from dashwright.expressions.consumer import query_settings
from dashwright.expressions.formats import response
from dashwright.expressions.sources.directory import BUILT_IN, DataSource
from dashwright.expressions.sources.recorded_frames import RecordedFrames
from dashwright.standalone.panel import panel_of
from dashwright.standalone.tables import show
from dashwright.standalone.terminal import error_line

FAILED, NOT_RUN = 1, 2
_PIPED_WIDTH = 160


@dataclass(frozen=True, slots=True)
class _FixedClock(Clock):
    """A clock that always returns the same time."""

    at: datetime

    def seconds(self) -> float:
        """Return the fixed time in seconds since the epoch."""
        return self.at.timestamp()


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
    form: Annotated[Literal["table", "json"], Parameter(name="--format")] = "table",
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
        The time that now stands for, to get reproducible results.
    strict
        Validate strictly, as /api/panels/query does. By default, members without effect are accepted, as by /api/ds/query.
    form
        Text tables, or the JSON of a /api/ds/query response.
    """
    try:
        body = _body(file, panel, {"from": start, "to": end}, strict=strict)
        recorded = RecordedFrames({}) if frames is None else RecordedFrames.of_response(frames.read_bytes())
        settings = query_settings(load())
    except (DashwrightError, SettingsError, OSError, UnicodeDecodeError) as error:
        return _refused(error, NOT_RUN)
    clock = settings.clock if now is None else _FixedClock(now if now.tzinfo else now.replace(tzinfo=UTC))
    settings = replace(settings, clock=clock, sources=_Recordings(recorded))
    try:
        shown = asyncio.run(queries.evaluate(body, QueryContext(QueryEndpoint.PANEL if strict else QueryEndpoint.QUERY), settings)).shown
    except DashwrightError as error:
        return _refused(error, FAILED)
    finally:
        settings.close()
    if form == "json":
        sys.stdout.write(b"".join(part for part, _ in response.fragments(shown)).decode() + "\n")
    else:
        console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH, highlight=False)
        for ref_id, result in shown.items():
            show(console, ref_id, result)
    return FAILED if any(result.error for result in shown.values()) else 0


def _refused(error: Exception, status: int) -> int:
    sys.stderr.write(f"dashwright eval: {error_line(error)}\n")
    return status


def _body(file: str, wanted: str | None, span: dict[str, str | None], *, strict: bool) -> bytes:
    text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    document = read_yaml(text) if file.endswith((".yaml", ".yml")) else read_json(text)
    panel = {**panel_of(document, wanted), **{key: value for key, value in span.items() if value is not None}}
    if strict:
        return write_json(panel)
    queries = [*panel.pop("queries", []), *panel.pop("targets", [])]
    return write_json({"queries": queries, **{key: panel[key] for key in span if key in panel}})


class _Recordings:
    """Recorded frames in place of every data source that is not built in."""

    def __init__(self, recorded: RecordedFrames) -> None:
        self._recorded = recorded

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> list[DataSource | DashwrightError]:
        """Return the recorded frames of each query, or an error."""
        return [self._found(query) for query in queries]

    def _found(self, query: SourceQuery) -> DataSource | DashwrightError:
        kind = query.datasource.type
        if query.ref_id in self._recorded:
            return DataSource(kind, self._recorded)
        if kind in BUILT_IN:
            return DataSource(kind, BUILT_IN[kind])
        return BadRequest(
            f"no frames are recorded for query {query.ref_id}; give a response of /api/ds/query that contains them with --frames"
        )
