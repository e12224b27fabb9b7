"""Recorded results of the queries of a dashboard, which take the place of its data sources."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson

from dashwright.common.errors import BadRequest, DashwrightError
from dashwright.common.models.data_source_types import PROMETHEUS, TYPE_BY_NAME
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry
from dashwright.expressions.sources.recorded_frames import RecordedFrames
from dashwright.expressions.sources.registry import BUILT_IN, DataSource

_NANOS_PER_SECOND: Final = 1_000_000_000
_TYPE_IDS: Final = sorted({kind.id for kind in TYPE_BY_NAME.values()})


class _AnyOption(RecordedFrames):
    """A source of one option for every variable, so that panels which use the variable are drawn."""

    async def variable_options(self, text: str, time_range: TimeRange, limits: Limits) -> Sequence[tuple[str, str]]:
        """Return the same option for any query."""
        return [("recorded", "recorded")]


_ANY_OPTION: Final = _AnyOption({})


class RecordedPanels:
    """Data sources of all types, which return the recorded frames of each panel.

    A panel without an entry of its own has the frames of ``shared``. A built-in data source without frames runs its queries itself.
    """

    def __init__(self, shared: RecordedFrames, panels: Mapping[int, RecordedFrames]) -> None:
        self._shared = shared
        self._panels = panels

    @classmethod
    def read(cls, path: Path | None) -> "RecordedPanels":
        """Return the recorded results in a file, or no results. Raises OSError, or BadRequest if the file has another form.

        The file has the results of all panels (``{"results": {"A": …}}``), of each panel (``{"panels": {"2": {"results": …}}}``), or both.
        """
        if path is None:
            return cls(RecordedFrames({}), {})
        try:
            document = orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError as error:
            raise BadRequest(f"{path} is not JSON: {error}") from error
        panels = document.get("panels", {}) if isinstance(document, dict) else None
        if not isinstance(panels, dict) or not ("results" in document or panels):
            raise BadRequest(f'{path} has no results: give {{"panels": {{"2": {{"results": {{"A": {{"frames": […]}}}}}}}}}}')
        shared = _frames_of(document) if "results" in document else RecordedFrames({})
        return cls(shared, {_panel_id(name): _frames_of(results) for name, results in panels.items()})

    @property
    def last_time(self) -> datetime | None:
        """The latest recorded time, or None."""
        times = [frames.last_time for frames in (self._shared, *self._panels.values())]
        latest = max((time for time in times if time is not None), default=None)
        return None if latest is None else datetime.fromtimestamp(latest / _NANOS_PER_SECOND, UTC)

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> list[DataSource | DashwrightError]:
        """Return the data source of each query, or an error if no frames are recorded for it.

        Queries without a panel are those of variables, whose options are not recorded.
        """
        if context.panel_id is None:
            return [DataSource(query.datasource.type, _ANY_OPTION) for query in queries]
        frames = self._panels.get(context.panel_id, self._shared)
        return [_source_of(query, frames, context.panel_id) for query in queries]

    async def catalog(self, context: QueryContext) -> Catalog:
        """Return a data source of each type. Every reference of a dashboard is resolved to one of them."""
        return Catalog([CatalogEntry(f"recorded-{id_}", f"Recorded {id_}", id_, is_default=id_ == PROMETHEUS.id) for id_ in _TYPE_IDS])


def _source_of(query: SourceQuery, frames: RecordedFrames, panel_id: int) -> DataSource | DashwrightError:
    """Return the source of recorded frames, else the built-in data source, else the error of a query without frames."""
    source_type = query.datasource.type
    if query.ref_id in frames:
        return DataSource(source_type, frames)
    if source_type in BUILT_IN:
        return DataSource(source_type, BUILT_IN[source_type])
    return BadRequest(f"no frames are recorded for query {query.ref_id} of panel {panel_id}; add them to the file of --data")


def _panel_id(name: str) -> int:
    """Return a member's name as the id of a panel. Raises BadRequest if it is not a number."""
    if not name.isdecimal():
        raise BadRequest(f"the recorded results have a panel {name!r:.80}, which is not the id of a panel; use its number")
    return int(name)


def _frames_of(document: Any) -> RecordedFrames:
    """Return the frames in a response of ``/api/ds/query``, given as a JSON tree."""
    return RecordedFrames.of_response(orjson.dumps(document))
