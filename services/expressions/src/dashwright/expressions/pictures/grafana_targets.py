"""Targets of ``-- Grafana --``, the data source of Grafana itself: random walks, and snapshots that a dashboard contains."""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from dashwright.common.json_shapes import list_of, object_of, objects_of, string_of
from dashwright.common.models.data_source_types import TESTDATA
from dashwright.expressions.variables.references import GRAFANA

_RANDOM_WALK: Final = "randomWalk"
_SNAPSHOT: Final = "snapshot"
#: What a running Grafana returns for each other type of query.
_ONLY_IN_GRAFANA: Final[Mapping[str, str]] = {
    "measurements": "live measurements, which are sent to a running Grafana",
    "annotations": "annotations",
    "timeRegions": "time regions",
    "list": "lists of the files of Grafana",
    "read": "the files of Grafana",
    "search": "results of searches",
    "searchNext": "results of searches",
}
#: The members of frames that Grafana stores in snapshots and that queries read.
_SCHEMA: Final = ("name", "refId", "meta")
_FIELD: Final = ("name", "type", "typeInfo", "labels", "config")
_DATA: Final = ("values", "entities", "nanos")


def read_grafana_target(target: Mapping[str, Any]) -> Mapping[str, Any] | str:
    """Return the query with the data of a target, or the sentence that its data is not available here."""
    query_type = string_of(target.get("queryType")) or _RANDOM_WALK
    query = {name: target[name] for name in ("refId", "hide") if name in target}
    query["datasource"] = {"type": TESTDATA.id, "uid": TESTDATA.id}
    if query_type == _RANDOM_WALK:
        return {**query, "scenarioId": "random_walk"}
    if query_type == _SNAPSHOT:
        frames = [_stored_frame(frame) for frame in objects_of(target.get("snapshot"))]
        return {**query, "scenarioId": "raw_frame", "rawFrameContent": orjson.dumps(frames).decode()}
    missing = _ONLY_IN_GRAFANA.get(query_type, f"queries of the type {query_type!r:.60}")
    return f"the data source {GRAFANA} has no {missing}; here it has random walks and snapshots"


def _stored_frame(frame: Mapping[str, Any]) -> dict[str, Any]:
    """Return a frame of a snapshot, with only the members that queries read."""
    schema, data = object_of(frame.get("schema")), object_of(frame.get("data"))
    fields = [_chosen(field, _FIELD) for field in objects_of(schema.get("fields"))]
    values = list_of(data.get("values"))[: len(fields)]
    return {"schema": {**_chosen(schema, _SCHEMA), "fields": fields}, "data": {**_chosen(data, _DATA), "values": values}}


def _chosen(members: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: members[name] for name in names if members.get(name) is not None}
