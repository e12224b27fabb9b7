"""The built-in source ``grafana-testdata-datasource``: answers what the query itself holds, and needs no record."""

import asyncio
from collections.abc import Sequence

from dashwright.common.errors import BadRequest
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.frame_reader import read_frames
from dashwright.expressions.sources.source import Source

TYPE = "grafana-testdata-datasource"

_LARGE = 5_000
"""Characters from which reading leaves the event loop."""


class TestData(Source):
    """Scenario ``raw_frame``: the frames lie in ``rawFrameContent`` as JSON text."""

    async def health(self) -> str:
        return "Data source is working"

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        properties = query.model_extra or {}
        scenario = properties.get("scenarioId")
        if scenario != "raw_frame":
            raise BadRequest(f"scenario {scenario!r} of {TYPE} is not served; use raw_frame with rawFrameContent")
        content = properties.get("rawFrameContent", "")
        if not isinstance(content, str):
            raise BadRequest("rawFrameContent must be text that holds a JSON list of frames")
        if not content.strip():
            return []
        if len(content) > _LARGE:
            return await asyncio.to_thread(read_frames, content)
        return read_frames(content)
