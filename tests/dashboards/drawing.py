"""Drawing of the panels of dashboard files over generated data."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final

import orjson
import yaml
from tests.dashboards.sources import GeneratedSources

from dashwright.common.models.dashboard_outline import DashboardOutline, OutlinePanel
from dashwright.common.models.pictures import MIN_PANEL_WIDTH, PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.common.settings import load
from dashwright.expressions.consumer import query_settings
from dashwright.expressions.pictures.dashboard import read_sections
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import Plotter
from dashwright.expressions.queries import QuerySettings
from dashwright.standalone.fixed_clock import FixedClock

#: The time of the pictures, so that results can be repeated.
NOW: Final = datetime(2026, 6, 15, 12, 34, 56, tzinfo=UTC)
#: Pixels of the whole width of a dashboard.
_WIDTH: Final = 1_400
#: Grafana's grid: columns of a dashboard, pixels of a grid row, and pixels between two panels.
_COLUMNS: Final = 24
_ROW_HEIGHT: Final = 38
_GAP: Final = 8
_TIMEOUT_SECONDS: Final = 60.0
#: The states of panels that show their data.
DRAWN: Final = frozenset({"drawn", "partial"})


@dataclass(frozen=True, slots=True)
class DrawnPanel:
    """A drawn panel with its state."""

    id: int
    title: str
    type: str
    state: str
    message: str = ""


@dataclass(slots=True)
class DrawnDashboard:
    """A dashboard of a file with its drawn panels."""

    name: str
    panels: list[DrawnPanel] = field(default_factory=list)

    @property
    def counts(self) -> Counter[str]:
        """The number of panels in each state."""
        return Counter(panel.state for panel in self.panels)


async def draw_files(directory: Path) -> list[DrawnDashboard]:
    """Return the dashboards of all files below a directory, with the state of each panel."""
    return [DrawnDashboard(name, await draw_panels(spec)) for name, spec in dashboards_below(directory)]


def dashboards_below(directory: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the dashboards in the files below a directory, with the paths of the files."""
    for path in sorted(directory.rglob("*")):
        if path.suffix in (".json", ".yaml", ".yml"):
            yield from ((str(path.relative_to(directory)), spec) for spec in dashboards_of(path))


def dashboards_of(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the dashboards in a file; files of other content have none."""
    text = path.read_text(encoding="utf-8")
    try:
        documents = [orjson.loads(text)] if path.suffix == ".json" else list(yaml.safe_load_all(text))
    except (orjson.JSONDecodeError, yaml.YAMLError):
        return
    for document in documents:
        # A dashboard may be wrapped in a resource, or in the body of a request to store it.
        for member in ("spec", "dashboard"):
            if isinstance(document, dict) and isinstance(document.get(member), dict):
                document = document[member]
        if isinstance(document, dict) and (isinstance(document.get("panels", document.get("rows")), list) or "elements" in document):
            yield document


async def draw_panels(spec: dict[str, Any]) -> list[DrawnPanel]:
    """Draw each panel of a dashboard, in its own size, including the panels of collapsed rows."""
    panels = {int(panel.source["id"]): panel.source for section in read_sections(spec) for panel in section.panels}
    settings = replace(query_settings(load()), sources=GeneratedSources(spec, panels), clock=FixedClock.at(NOW))
    plotter = Plotter()
    try:
        outline = DashboardOutline.model_validate_json(await _draw(spec, settings, plotter, {"format": "outline"}))
        # Of the copies of a repeated panel, which have the same id, the first one is drawn.
        panels_by_id = {panel.id: panel for section in outline.sections for panel in reversed(section.panels)}
        return [await _drawn_panel(spec, settings, plotter, panel) for panel in panels_by_id.values()]
    finally:
        await plotter.stop()
        settings.close()


async def _drawn_panel(spec: dict[str, Any], settings: QuerySettings, plotter: Plotter, panel: OutlinePanel) -> DrawnPanel:
    """Draw one panel in the size that it has in its dashboard."""
    width, height = max(panel.width * _WIDTH // _COLUMNS, MIN_PANEL_WIDTH), max(panel.height * _ROW_HEIGHT - _GAP, 50)
    options = {"format": "json", "panel": panel.id, "width": width, "height": height, "variables": panel.variables}
    report = orjson.loads(await _draw(spec, settings, plotter, options))
    (entry,) = report["panels"]
    return DrawnPanel(panel.id, panel.title, entry["type"], entry["state"], entry.get("message", ""))


async def _draw(spec: dict[str, Any], settings: QuerySettings, plotter: Plotter, options: Mapping[str, Any]) -> bytes:
    """Return the picture, report or outline of a dashboard, by the format in the options."""
    request = PictureRequest.model_validate({**options, "spec": spec})
    return (await draw(request, QueryContext(), settings, plotter, monotonic() + _TIMEOUT_SECONDS)).body
