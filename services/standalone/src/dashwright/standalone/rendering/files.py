"""Drawing of a dashboard in a file, without a server."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any, Final

from dashwright.common.errors import BadRequest
from dashwright.common.models.pictures import PictureOptions, PictureRequest
from dashwright.common.models.query_context import QueryContext
from dashwright.common.settings import load
from dashwright.expressions.consumer import query_settings
from dashwright.expressions.pictures.picture import draw
from dashwright.expressions.pictures.plotter import Plotter
from dashwright.standalone.documents import read_document
from dashwright.standalone.fixed_clock import FixedClock
from dashwright.standalone.rendering.recorded_panels import RecordedPanels

#: The seconds after which panels show that they were not drawn in time.
_DRAW_SECONDS: Final = 60.0


async def draw_file(file: str, data: Path | None, options: PictureOptions, now: datetime | None) -> bytes:
    """Return the picture of the dashboard in a file, with the results in ``data``.

    ``now`` is the current time for relative times such as now-6h, by default the latest time of the results.

    Raises OSError or UnicodeDecodeError if a file cannot be read, SettingsError for invalid environment variables,
    BadRequest or Invalid for an invalid file, and the errors of ``draw``.
    """
    request = PictureRequest.model_validate(options.model_dump(by_alias=True) | {"spec": _dashboard_of(read_document(file))})
    recorded = RecordedPanels.read(data)
    settings = replace(query_settings(load()), sources=recorded)
    if current_time := now or recorded.last_time:
        settings = replace(settings, clock=FixedClock.at(current_time))
    plotter = Plotter()
    try:
        return (await draw(request, QueryContext(), settings, plotter, monotonic() + _DRAW_SECONDS)).body
    finally:
        await plotter.stop()
        settings.close()


def _dashboard_of(document: Any) -> dict[str, Any]:
    """Return the dashboard of a document: a resource, the body of a request to store a dashboard, or the dashboard itself."""
    for member in ("spec", "dashboard"):
        if isinstance(document, dict) and isinstance(document.get(member), dict):
            document = document[member]
    # Dashboards with a layout have elements, and those of very old versions rows.
    if not isinstance(document, dict) or not ("panels" in document or "elements" in document or "rows" in document):
        raise BadRequest("the file must contain a dashboard, with panels or elements")
    return document
