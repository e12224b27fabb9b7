"""Pictures of single panels, as a page requests them: which variables are resolved, and how often data sources are queried for them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import orjson
from tests.unit.expressions.sources.records import source_record

from dashwright.common.clock import Clock
from dashwright.common.errors import DashwrightError, SourceFailed
from dashwright.common.models.expressions import SourceQuery
from dashwright.common.models.pictures import PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import Plotter
from dashwright.expressions.queries import QuerySettings
from dashwright.expressions.sources.catalog import Catalog, CatalogEntry
from dashwright.expressions.sources.registry import DataSource, SourceRegistry
from dashwright.expressions.sources.source import Source
from dashwright.expressions.variables.option_cache import OptionCache


@dataclass
class ManualClock(Clock):
    """A clock whose time a test sets."""

    current_seconds: float = 1000.0

    def seconds(self) -> float:
        """Return the time that the test has set."""
        return self.current_seconds


class OptionSource(Source):
    """A data source with one option for each query, which records the queries. A query ``fail`` fails."""

    def __init__(self) -> None:
        self.requested_queries: list[str] = []

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return no frames."""
        return []

    async def health(self) -> str:
        """Return the state of a healthy data source."""
        return "OK"

    async def variable_options(self, text: str, time_range: TimeRange, limits: Limits) -> Sequence[tuple[str, str]]:
        """Record the query and return its option. Raises SourceFailed for ``fail``."""
        self.requested_queries.append(text)
        # A concurrent request can ask for the same options now.
        await asyncio.sleep(0)
        if text == "fail":
            raise SourceFailed("it is down")
        return [(f"value of {text}", text)]


class OneSourceRegistry(SourceRegistry):
    """A registry with one data source, of which every organization has a separate record."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self._source = source

    async def catalog(self, context: QueryContext) -> Catalog:
        """Return the only data source."""
        return Catalog([CatalogEntry("p", "P", "prometheus", is_default=True)])

    async def find(self, queries: Sequence[SourceQuery], context: QueryContext) -> list[DataSource | DashwrightError]:
        """Return the only data source, with the record of the organization, for each query."""
        return [DataSource("prometheus", self._source, record=source_record("http://p", "p", org_id=context.org_id)) for _ in queries]


def dashboard(*names: str) -> dict[str, Any]:
    """Return a dashboard with a variable and a text panel for each name; the panel shows its variable."""
    variables = [{"name": name, "type": "query", "query": name, "datasource": {"uid": "p"}} for name in names]
    panels = [
        {"id": index, "type": "text", "title": f"${name}", "gridPos": {"x": 0, "y": index, "w": 24, "h": 4}}
        for index, name in enumerate(names, 1)
    ]
    return {"title": "D", "panels": panels, "templating": {"list": variables}}


async def draw_titles(settings: QuerySettings, spec: dict[str, Any], *panel_ids: int, context: QueryContext | None = None) -> list[str]:
    """Return the titles of panels that are requested concurrently."""
    plotter = Plotter()
    requests = [PictureRequest(spec=spec, format="json", panel=panel_id) for panel_id in panel_ids]
    pictures = await asyncio.gather(
        *(draw(request, context or QueryContext(org_id=1), settings, plotter, monotonic() + 30) for request in requests)
    )
    await plotter.stop()
    return [orjson.loads(picture.body)["panels"][0]["title"] for picture in pictures]


async def test_only_the_variables_of_the_panel_are_resolved() -> None:
    """A picture of one panel sends only the queries of variables that this panel refers to."""
    source = OptionSource()
    assert await draw_titles(QuerySettings(sources=OneSourceRegistry(source)), dashboard("a", "b", "c"), 2) == ["b"]
    assert source.requested_queries == ["b"]


async def test_a_panel_with_the_queries_of_another_one_has_its_variables() -> None:
    """The variables of a panel include those of the panel whose data it shows."""
    source, spec = OptionSource(), dashboard("a", "b")
    spec["panels"][1] |= {"type": "stat", "datasource": {"uid": "-- Dashboard --"}, "targets": [{"refId": "A", "panelId": 1}]}
    await draw_titles(QuerySettings(sources=OneSourceRegistry(source)), spec, 2)
    assert sorted(source.requested_queries) == ["a", "b"]


async def test_the_panels_of_a_page_share_the_options_of_a_variable() -> None:
    """The data source is queried once for all panels. It is queried again if a user asks for fresh results, for another organization,
    and after the options have expired.
    """
    source, clock, spec = OptionSource(), ManualClock(), dashboard("a", "a")
    settings = QuerySettings(sources=OneSourceRegistry(source), clock=clock, options=OptionCache(clock=clock))
    assert await draw_titles(settings, spec, 1, 2) == ["a", "a"]
    assert await draw_titles(settings, spec, 1) == ["a"]
    assert source.requested_queries == ["a"]
    await draw_titles(settings, spec, 1, context=QueryContext(org_id=1, fresh=True))
    await draw_titles(settings, spec, 1, context=QueryContext(org_id=2))
    assert source.requested_queries == ["a"] * 3
    # Options expire after 10 seconds.
    clock.current_seconds += 11
    await draw_titles(settings, spec, 1)
    assert source.requested_queries == ["a"] * 4


async def test_a_failure_is_not_kept() -> None:
    """A query of options that failed is sent again for the next picture."""
    source, spec = OptionSource(), dashboard("fail")
    settings = QuerySettings(sources=OneSourceRegistry(source))
    await draw_titles(settings, spec, 1)
    await draw_titles(settings, spec, 1)
    assert source.requested_queries == ["fail", "fail"]


async def test_options_beyond_the_size_of_the_cache_are_evicted() -> None:
    """The least recently used options beyond the size of the cache are evicted. With a duration of 0 seconds, options are not kept."""
    requested_queries: list[str] = []

    async def options(cache: OptionCache, key: str) -> None:
        """Get the options with a key from a cache."""

        async def run() -> list[tuple[str, str]]:
            """Record that the cache has no such options, and return them."""
            requested_queries.append(key)
            return [(key, key)]

        await cache.get(key, run)

    # Two entries fit into the cache.
    small_cache = OptionCache(max_characters=500)
    # The third access makes "b" the least recently used entry, which "c" replaces.
    for key in ("a", "b", "a", "c", "a", "b"):
        await options(small_cache, key)
    assert requested_queries == ["a", "b", "c", "b"]
    requested_queries.clear()
    cache_without_duration = OptionCache(seconds=0)
    await options(cache_without_duration, "a")
    await options(cache_without_duration, "a")
    assert requested_queries == ["a", "a"]
