"""A data source that returns recorded frames."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.json_documents import write_json
from dashwright.common.models.expressions import SourceQuery
from dashwright.expressions.engine.frame import FieldType, Frame
from dashwright.expressions.engine.limits import Limits
from dashwright.expressions.engine.timerange import TimeRange
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.sources.source import Source


class RecordedFrames(Source):
    """A source that returns the frames recorded for each refId. It ignores the data source and the time range."""

    def __init__(self, frames: Mapping[str, Sequence[Frame]]) -> None:
        self._frames = frames

    @classmethod
    def of_response(cls, body: bytes) -> "RecordedFrames":
        """Return a source with the frames of a response of ``/api/ds/query``. Raises BadRequest."""
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError as error:
            raise BadRequest(f"the recorded frames are not JSON: {error}") from error
        results = document.get("results") if isinstance(document, dict) else None
        if not isinstance(results, dict):
            raise BadRequest('the recorded frames must be a response of /api/ds/query: {"results": {"A": {"frames": […]}}}')
        return cls({ref_id: _frames(ref_id, result) for ref_id, result in results.items()})

    def __contains__(self, ref_id: object) -> bool:
        return ref_id in self._frames

    @property
    def last_time(self) -> int | None:
        """The latest recorded time in nanoseconds since 1970, or None."""
        fields = [field for frames in self._frames.values() for frame in frames for field in frame.fields]
        times = [field.values for field in fields if field.type is FieldType.TIME and len(field.values)]
        return max((int(values.max()) for values in times), default=None)

    async def health(self) -> str:
        """Return a message that frames are recorded."""
        return "Frames are recorded"

    async def query(self, query: SourceQuery, time_range: TimeRange, limits: Limits) -> Sequence[Frame]:
        """Return the frames recorded for the refId."""
        return self._frames[query.ref_id]


def _frames(ref_id: str, result: Any) -> list[Frame]:
    frames = result.get("frames", []) if isinstance(result, dict) else None
    try:
        return read_frames(write_json(frames))
    except (BadRequest, Invalid) as error:
        raise BadRequest(f"the frames recorded for {ref_id} cannot be read: {error.message}") from error
