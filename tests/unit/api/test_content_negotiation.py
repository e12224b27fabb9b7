"""Content negotiation, and objects in each format."""

import json
import uuid
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.http.call import Call
from dashwright.api.resources import formats
from dashwright.api.resources.formats import Format, IncludeObjectPolicy, Representation, format_of
from dashwright.api.resources.watching.lines import bookmark_line, event_line
from dashwright.common.errors import BadRequest, NotAcceptable
from dashwright.common.kinds.registry import DASHBOARD, JOB, LIBRARY_PANEL, REPOSITORY
from dashwright.common.stores.resources import StoredObject
from dashwright.common.yaml import read_yaml

# Formats, and the media types by which Kubernetes' clients request tables and metadata.
JSON = Format()
YAML = Format(is_yaml=True)
TABLE = Format(Representation.TABLE)
METADATA = Format(Representation.METADATA)
AS_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
AS_METADATA = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PROTOBUF = "application/vnd.kubernetes.protobuf"
# The title in the database differs from that in the spec, so that tests can distinguish them.
STORED = StoredObject(
    kind=DASHBOARD,
    uid=uuid.UUID(int=1),
    name="cpu",
    namespace="default",
    resource_version=7,
    generation=2,
    stored_version="v2alpha1",
    metadata='{"name": "cpu", "creationTimestamp": "2026-11-21T10:00:00Z"}',
    spec='{"title":"in the body","rate":1.10}',
    status=None,
    title="CPU",
    subtype="timeseries",
)
WITHOUT_BODY = replace(STORED, spec="")


class FakeRequest:
    """The part of a request that negotiation reads."""

    def __init__(self, accept: str, include: str = "") -> None:
        self.accept = accept
        self.query = {"includeObject": include}


def negotiate(accept: str, include: str = "", *, streamed: bool = False) -> Format:
    """Return the format for a header ``Accept`` and a query parameter ``includeObject``. ``streamed`` is true for a watch."""
    return format_of(cast("Call", FakeRequest(accept, include)), json_only=streamed)


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ("", JSON),
        ("*/*", JSON),
        # Ranges, weights, and an invalid weight.
        ("text/html,application/*;q=0.9", JSON),
        ("application/json", JSON),
        ("application/json;stream=watch", JSON),
        ("Application/YAML", YAML),
        ("application/yaml;q=0.5, application/json;q=0.4", YAML),
        ("application/yaml;q=0.5, application/json", JSON),
        ("application/yaml;q=x, application/json;q=0.1", JSON),
        # Headers that Kubernetes' clients send for objects, tables and metadata, and types that the gateway does not know.
        (f"{PROTOBUF},application/json", JSON),
        (f"{AS_TABLE},application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", TABLE),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", replace(TABLE, meta_version="v1beta1")),
        ("application/yaml;as=Table;v=v1;g=meta.k8s.io", replace(TABLE, is_yaml=True)),
        (f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1,{AS_METADATA},application/json", METADATA),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", METADATA),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json;q=0.1", JSON),
        ("application/json;as=Chart;v=v1;g=meta.k8s.io,application/yaml", YAML),
    ],
)
def test_the_supported_range_with_the_highest_weight_wins(accept: str, expected: Format) -> None:
    """The supported range with the highest weight wins, and the first of equal weights.

    Unknown types and ranges of weight 0 count as missing.
    """
    assert negotiate(accept) == expected


@pytest.mark.parametrize(
    "accept", [PROTOBUF, "text/html", "application/json;q=0", "application/json;as=Table", AS_TABLE.replace("meta.k8s.io", "example.org")]
)
def test_an_unacceptable_header_is_406(accept: str) -> None:
    """An Accept header without a supported type is refused with 406, and the message names the supported types."""
    with pytest.raises(NotAcceptable, match=r"application/json, application/yaml.*as=Table"):
        negotiate(accept)


RANGES = st.builds(
    "{}{}".format,
    st.sampled_from(["application/json", "application/yaml", "*/*", "application/*", "text/html", "", "a/b"]),
    st.sampled_from(["", ";q=0", ";q=0.5", ";q=nan", ";q=-1", ";q=inf", ";as=Table;g=meta.k8s.io;v=v1", ";as=Table;g=;v=v1", ";=;;as"]),
)


@given(st.lists(RANGES, max_size=5).map(",".join) | st.text(max_size=40), st.booleans())
def test_any_header_is_understood_or_not_acceptable(accept: str, streamed: bool) -> None:
    """An arbitrary header results in a format or in NotAcceptable, never in another error. The format of a stream is not YAML."""
    try:
        form = negotiate(accept, streamed=streamed)
    except NotAcceptable:
        return
    assert not (streamed and form.is_yaml)


def test_a_watch_is_always_json() -> None:
    """A watch has no YAML form; a client that accepts both receives JSON."""
    assert negotiate("application/yaml, application/json;q=0.1", streamed=True) == JSON
    with pytest.raises(NotAcceptable, match=r"accepted: application/json;"):
        negotiate("application/yaml", streamed=True)


@pytest.mark.parametrize("policy", IncludeObjectPolicy)
def test_a_query_parameter_selects_the_object_in_the_rows_of_a_table(policy: IncludeObjectPolicy) -> None:
    """``includeObject`` selects whether the rows of a table contain the object, its metadata or nothing.

    Other values are refused if a table is requested, and ignored for JSON.
    """
    assert negotiate(AS_TABLE, policy.value).include_object is policy
    assert negotiate("application/json", "rubbish") == JSON
    with pytest.raises(BadRequest, match="None, Metadata, Object"):
        negotiate(AS_TABLE, "none")


@pytest.mark.parametrize(
    ("form", "kind", "needs_body"),
    [
        (JSON, DASHBOARD, True),
        (METADATA, REPOSITORY, False),
        (TABLE, DASHBOARD, False),
        (TABLE, LIBRARY_PANEL, False),
        (TABLE, JOB, False),
        (TABLE, REPOSITORY, True),
        (replace(TABLE, include_object=IncludeObjectPolicy.OBJECT), DASHBOARD, True),
    ],
)
def test_specs_are_read_only_if_needed(form: Format, kind: Any, *, needs_body: bool) -> None:
    """Columns of names, titles, types, times and states need no spec. Specs are read only for other columns."""
    assert form.needs_body(kind) is needs_body


def parse_json(body: bytes | Any) -> Any:
    """Return the value of a JSON body."""
    return json.loads(body)


def test_an_object_keeps_its_digits() -> None:
    """Numbers of a spec have the stored digits in JSON and YAML."""
    response = formats.object_response(JSON, DASHBOARD, "v0alpha1", STORED, 201, {"Warning": "x"})
    assert response.status == 201
    assert response.content_type == "application/json"
    assert dict(response.headers) == {"Vary": "Accept", "Warning": "x"}
    assert response.body == STORED.encode("v0alpha1")
    in_yaml = formats.object_response(YAML, DASHBOARD, "v0alpha1", STORED)
    assert in_yaml.content_type == "application/yaml"
    assert b"rate: 1.10\n" in cast("bytes", in_yaml.body)
    assert read_yaml(cast("bytes", in_yaml.body).decode()) == parse_json(response.body)


async def test_a_large_object_is_converted_in_a_thread() -> None:
    """The YAML of a large object is a stream, which a thread converts so that other requests proceed. The result is the same."""
    large_object = replace(STORED, spec=json.dumps({"texts": ["no"] * 20_000}))
    response = formats.object_response(YAML, DASHBOARD, "v2alpha1", large_object)
    assert not isinstance(response.body, bytes)
    written = b"".join([piece async for piece in response.body]).decode()
    assert read_yaml(written) == parse_json(large_object.encode("v2alpha1"))


def test_a_table_needs_no_body() -> None:
    """Cells of a dashboard are read from columns of the database, without its body. The row has the metadata with the version."""
    table = parse_json(formats.object_response(TABLE, DASHBOARD, "v2alpha1", WITHOUT_BODY).body)
    assert table["kind"] == "Table"
    assert table["apiVersion"] == "meta.k8s.io/v1"
    assert table["metadata"] == {"resourceVersion": "7"}
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Title", "Created At"]
    assert [(column["type"], column["format"]) for column in table["columnDefinitions"]] == [
        ("string", "name"),
        ("string", ""),
        ("date", ""),
    ]
    (row,) = table["rows"]
    assert row["cells"] == ["cpu", "CPU", "2026-11-21T10:00:00Z"]
    assert row["object"]["kind"] == "PartialObjectMetadata"
    assert row["object"]["metadata"] == {
        "name": "cpu",
        "resourceVersion": "7",
        "generation": 2,
        "creationTimestamp": "2026-11-21T10:00:00Z",
    }


def test_the_type_of_a_panel_is_a_column() -> None:
    """The table of library panels has the type between title and time."""
    table = parse_json(formats.object_response(TABLE, LIBRARY_PANEL, "v2alpha1", replace(WITHOUT_BODY, kind=LIBRARY_PANEL)).body)
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Title", "Type", "Created At"]
    assert table["rows"][0]["cells"] == ["cpu", "CPU", "timeseries", "2026-11-21T10:00:00Z"]


def test_cells_without_a_database_column_are_read_from_the_object() -> None:
    """A cell has the value at its path in the spec or status, or null if it is missing."""
    repository = replace(STORED, kind=REPOSITORY, spec='{"title":"R","type":"local"}', status='{"health":{"healthy":true}}')
    row = parse_json(formats.object_response(TABLE, REPOSITORY, "v0alpha1", repository).body)["rows"][0]
    assert row["cells"] == ["cpu", "CPU", "local", True, "2026-11-21T10:00:00Z"]
    row = parse_json(formats.object_response(TABLE, REPOSITORY, "v0alpha1", replace(repository, status=None)).body)["rows"][0]
    assert row["cells"][3] is None


def test_a_status_cell_needs_no_body() -> None:
    """State and message of a job are read from its status, without its spec."""
    job = replace(WITHOUT_BODY, kind=JOB, status='{"state":"working","message":"half of it"}')
    row = parse_json(formats.object_response(TABLE, JOB, "v0alpha1", job).body)["rows"][0]
    assert row["cells"] == ["cpu", "working", "half of it", "2026-11-21T10:00:00Z"]


def test_rows_without_and_with_their_objects() -> None:
    """A row has only cells, or the whole object in the requested version."""
    bare = parse_json(
        formats.object_response(replace(TABLE, include_object=IncludeObjectPolicy.NONE), DASHBOARD, "v2alpha1", WITHOUT_BODY).body
    )
    assert bare["rows"] == [{"cells": ["cpu", "CPU", "2026-11-21T10:00:00Z"]}]
    full = parse_json(
        formats.object_response(replace(TABLE, include_object=IncludeObjectPolicy.OBJECT), DASHBOARD, "v0alpha1", STORED).body
    )
    assert full["rows"][0]["object"] == parse_json(STORED.encode("v0alpha1"))


def test_encoded_objects_can_be_returned_in_every_format() -> None:
    """Objects that are already encoded as JSON become tables and metadata, too. Their cells are read by path."""
    created = STORED.encode("v2alpha1")
    assert formats.object_response(JSON, DASHBOARD, "v2alpha1", created).body == created
    table = parse_json(formats.object_response(TABLE, DASHBOARD, "v2alpha1", created).body)
    assert table["rows"][0]["cells"] == ["cpu", "in the body", "2026-11-21T10:00:00Z"]
    assert table["metadata"]["resourceVersion"] == "7"
    assert parse_json(formats.object_response(METADATA, DASHBOARD, "v2alpha1", created).body) == parse_json(
        formats.object_response(METADATA, DASHBOARD, "v2alpha1", STORED).body
    )


@pytest.mark.parametrize("form", [JSON, YAML, METADATA, TABLE, replace(TABLE, is_yaml=True)], ids=str)
@pytest.mark.parametrize(
    "pieces",
    [
        pytest.param([], id="none"),
        pytest.param([[]], id="empty"),
        pytest.param([[STORED]], id="one"),
        pytest.param([[], [STORED, STORED], [STORED]], id="three"),
    ],
)
def test_the_parts_of_a_list_join_to_one_document(form: Format, pieces: list[list[StoredObject]]) -> None:
    """Head, pieces and tail join to one document with all objects, and with the metadata of the list."""
    listing = formats.ListEncoder(form, DASHBOARD, "v2alpha1")
    text = listing.head({"resourceVersion": "9"}) + b"".join(listing.items(piece) for piece in pieces) + listing.tail()
    read = read_yaml(text.decode()) if form.is_yaml else parse_json(text)
    items = read["rows" if form.representation is Representation.TABLE else "items"]
    assert len(items) == sum(map(len, pieces))
    assert read["metadata"] == {"resourceVersion": "9"}
    names = {Representation.OBJECT: "DashboardList", Representation.TABLE: "Table", Representation.METADATA: "PartialObjectMetadataList"}
    assert read["kind"] == names[form.representation]
    if items and form.representation is Representation.OBJECT:
        assert items[0] == parse_json(STORED.encode("v2alpha1"))


@pytest.mark.parametrize(
    ("form", "kind"), [(JSON, "Dashboard"), (METADATA, "PartialObjectMetadata"), (TABLE, "Table")], ids=["whole", "metadata", "table"]
)
def test_an_event_is_a_line(form: Format, kind: str) -> None:
    """A watch event is one line whose object has the requested format."""
    line = event_line(form, DASHBOARD, "v2alpha1", "MODIFIED", STORED, with_columns=True)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1
    event = parse_json(line)
    assert event["type"] == "MODIFIED"
    assert event["object"]["kind"] == kind


def test_columns_are_sent_once() -> None:
    """The first event of a watched table has the columns; later ones have null."""
    first = parse_json(event_line(TABLE, DASHBOARD, "v2alpha1", "ADDED", STORED, with_columns=True))["object"]
    later = parse_json(event_line(TABLE, DASHBOARD, "v2alpha1", "ADDED", STORED, with_columns=False))["object"]
    assert len(first["columnDefinitions"]) == 3
    assert later["columnDefinitions"] is None
    assert later["metadata"] == {"resourceVersion": "7"}


@pytest.mark.parametrize(("form", "path"), [(JSON, ()), (METADATA, ()), (TABLE, ("rows", 0, "object"))], ids=["whole", "metadata", "table"])
def test_a_bookmark_has_a_version(form: Format, path: tuple[Any, ...]) -> None:
    """A bookmark is an object in the requested format with a resource version. The bookmark that ends the initial events has an annotation.

    ``path`` is that of the object with the annotation: in a table, the object of the only row.
    """
    for ends_initial_events in (False, True):
        line = parse_json(bookmark_line(form, DASHBOARD, "v2alpha1", 12, ends_initial_events=ends_initial_events))
        assert line["type"] == "BOOKMARK"
        node = line["object"]
        assert node["metadata"]["resourceVersion"] == "12"
        for step in path:
            node = node[step]
        assert node["metadata"].get("annotations") == ({"k8s.io/initial-events-end": "true"} if ends_initial_events else None)
