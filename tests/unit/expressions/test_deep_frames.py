"""Metadata of a frame may be nested, up to a limit."""

from typing import Any

import orjson
import pytest

from dashwright.common.errors import BadRequest
from dashwright.expressions.formats.frame_reader import read_frames
from dashwright.expressions.queries import respond


def nested(levels: int) -> dict[str, Any]:
    return {"a": nested(levels - 1)} if levels > 1 else {}


def frame(member: str, levels: int) -> bytes:
    """As JSON, since what writes it could not follow it otherwise."""
    field: dict[str, Any] = {"name": "v", "type": "other"}
    told: dict[str, Any] = {"schema": {"fields": [field]}, "data": {"values": [[1]]}}
    deep = b'{"a":' * (levels - 1) + b"{}" + b"}" * (levels - 1)
    if member == "meta":
        told["schema"]["meta"] = "DEEP"
    elif member == "config":
        field["config"] = "DEEP"
    else:
        told["data"]["values"] = [["DEEP"]]
    return orjson.dumps([told]).replace(b'"DEEP"', deep)


@pytest.mark.parametrize(
    ("member", "place"),
    [("meta", "[0].schema.meta"), ("config", "[0].schema.fields[0].config"), ("values", "[0].data.values[0]")],
)
async def test_too_deep_a_frame_is_an_error_of_its_ref_id(member: str, place: str) -> None:
    """It names the place and the allowed depth before encoding could fail; the rest of the request is unaffected."""
    with pytest.raises(BadRequest) as refused:
        read_frames(frame(member, 300))
    assert refused.value.message == f"{place} is nested too deeply: at most 128 levels"
    query = {
        "refId": "A",
        "datasource": {"type": "grafana-testdata-datasource"},
        "scenarioId": "raw_frame",
        "rawFrameContent": frame(member, 300).decode(),
    }
    body = orjson.dumps({"queries": [query, {"refId": "B", "type": "math", "expression": "1"}]})
    answered = await respond(body)
    assert isinstance(answered.body, bytes)
    results = orjson.loads(answered.body)["results"]
    assert {ref_id: result["status"] for ref_id, result in results.items()} == {"A": 400, "B": 200}


@pytest.mark.parametrize("member", ["meta", "config", "values"])
def test_what_nests_as_deep_as_allowed_is_read(member: str) -> None:
    """One level of a column of values is the column itself."""
    levels = 127 if member == "values" else 128
    (read,) = read_frames(frame(member, levels))
    found = {"meta": read.meta, "config": read.fields[0].config, "values": read.fields[0].values[0]}[member]
    assert found == nested(levels)
