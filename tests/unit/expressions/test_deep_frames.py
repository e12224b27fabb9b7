"""Metadata, configuration and values of a frame may be nested up to a limit of levels."""

from typing import Any

import orjson
import pytest

from dashwright.common.errors import BadRequest
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.queries import respond


def nested_object(levels: int) -> dict[str, Any]:
    """Return an object with this number of levels."""
    return {"a": nested_object(levels - 1)} if levels > 1 else {}


def deep_frame(member: str, levels: int) -> bytes:
    """Return a list of one frame, as JSON, whose metadata, configuration or value has this number of levels.

    The JSON is assembled as text, because orjson does not write such a depth.
    """
    field: dict[str, Any] = {"name": "v", "type": "other"}
    document: dict[str, Any] = {"schema": {"fields": [field]}, "data": {"values": [[1]]}}
    deep = b'{"a":' * (levels - 1) + b"{}" + b"}" * (levels - 1)
    if member == "meta":
        document["schema"]["meta"] = "DEEP"
    elif member == "config":
        field["config"] = "DEEP"
    else:
        document["data"]["values"] = [["DEEP"]]
    return orjson.dumps([document]).replace(b'"DEEP"', deep)


@pytest.mark.parametrize(
    ("member", "path"),
    [("meta", "[0].schema.meta"), ("config", "[0].schema.fields[0].config"), ("values", "[0].data.values[0]")],
)
async def test_a_frame_that_is_too_deep_is_an_error(member: str, path: str) -> None:
    """The error of a frame that is nested too deeply has the position and the limit. Other refIds are unaffected."""
    with pytest.raises(BadRequest) as error:
        read_frames(deep_frame(member, 300))
    assert error.value.message == f"{path} is nested too deeply: at most 128 levels"
    query = {
        "refId": "A",
        "datasource": {"type": "grafana-testdata-datasource"},
        "scenarioId": "raw_frame",
        "rawFrameContent": deep_frame(member, 300).decode(),
    }
    body = orjson.dumps({"queries": [query, {"refId": "B", "type": "math", "expression": "1"}]})
    response = await respond(body)
    assert isinstance(response.body, bytes)
    results = orjson.loads(response.body)["results"]
    assert {ref_id: result["status"] for ref_id, result in results.items()} == {"A": 400, "B": 200}


@pytest.mark.parametrize("member", ["meta", "config", "values"])
def test_the_maximum_depth_is_accepted(member: str) -> None:
    """Metadata, configuration and values may be nested up to the limit. A column counts as the first level of its values."""
    levels = 127 if member == "values" else 128
    (frame,) = read_frames(deep_frame(member, levels))
    (field,) = frame.fields
    nested_values = {"meta": frame.meta, "config": field.config, "values": field.values[0]}
    assert nested_values[member] == nested_object(levels)
