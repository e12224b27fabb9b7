"""The description of all routes: names that client generators can use, and a type for every body."""

import re
from collections import Counter
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import orjson
import pytest
from tests.unit.api.gateway_routes import nodes, routes

from dashwright.api.routes.description import described_api

#: Operation ids of Grafana's API by method and path.
KNOWN_IDS: Final = Path(__file__).with_name("operation_ids.json")

#: Names of the types that clients know from Grafana's API and from the resource API.
SPECIFIED_TYPES: Final = [
    "AnnotationActions",
    "AnnotationPermission",
    "Author",
    "ConversionStatus",
    "Dashboard",
    "DashboardAccess",
    "DashboardList",
    "DashboardStatus",
    "DashboardVersionInfo",
    "DashboardVersionList",
    "DashboardWithAccessInfo",
    "ExportJobOptions",
    "FileItem",
    "FileList",
    "GitHostRepositoryConfig",
    "HealthStatus",
    "HistoryItem",
    "HistoryList",
    "Job",
    "JobList",
    "JobResourceSummary",
    "JobSpec",
    "JobStatus",
    "LibraryPanel",
    "LibraryPanelList",
    "LibraryPanelSpec",
    "LibraryPanelStatus",
    "LintIssue",
    "LocalRepositoryConfig",
    "PullRequestJobOptions",
    "Repository",
    "RepositoryList",
    "RepositorySpec",
    "RepositoryStatus",
    "RepositoryView",
    "RepositoryViewList",
    "ResourceCount",
    "ResourceList",
    "ResourceListItem",
    "ResourceObjects",
    "ResourceStats",
    "ResourceType",
    "ResourceWrapper",
    "SyncJobOptions",
    "SyncOptions",
    "SyncStatus",
    "TestResults",
    "VersionsQueryOptions",
    "WebhookResponse",
    "WebhookStatus",
]

_BODY: Final = "the body of a dashboard: what its version and its panels define"
_PANEL: Final = "what the type of the panel defines"
_SOURCE: Final = "options that the type of the data source defines"
_OBJECT: Final = "an object of any kind"
_QUERIES: Final = "queries, whose members their data sources define"
_PREFERENCES: Final = "what the pages of another server, such as Grafana, store"
#: The places where any JSON is permitted, with the reason.
#: A place is a member of a schema, ``[]`` for the items of a list, or an operation with ``request`` or a response status.
FREE_FORM: Final = {
    "AddDataSourceCommand.jsonData": _SOURCE,
    "AnnotationChange.data": "whatever the client wants to keep with an annotation",
    "ConversionStatus.source": "the stored spec of a dashboard that cannot be converted",
    "AnnotationShape.data": "whatever the client wants to keep with an annotation",
    "AuditEvent.details": "what the event is about",
    "CreateLibraryElementCommand.model": _PANEL,
    "BatchItemResult.result": "the JobStatus of a job, or the frames of an evaluation",
    "BatchItem.spec": "the spec of a Job or Evaluation, which kind names",
    "CreateSnapshotCommand.dashboard": _BODY,
    "Dashboard.spec": _BODY,
    "Panel.transformations[]": "a transformation of a dashboard, whose options depend on its id",
    "CreateQueryInQueryHistoryCommand.queries[]": _QUERIES,
    "DashboardBody.dashboard": _BODY,
    "DashboardShape.dashboard": _BODY,
    "ImportBody.dashboard": _BODY,
    "interpolateDashboard 200": _BODY,
    "DashboardWithAccessInfo.spec": _BODY,
    "DataSourceChanges.jsonData": _SOURCE,
    "DataSourceItem.jsonData": _SOURCE,
    "DataSourceShape.jsonData": _SOURCE,
    "ElementChange.model": _PANEL,
    "ElementShape.model": _PANEL,
    "Error.extra": "what a program may want to know of one error",
    "EvaluationSpec.panel": "a panel of any type, examined when it is submitted",
    "EvaluationSpec.queries[]": "queries, whose members their data sources define",
    "FrameData.values[][]": "values of any type",
    "FrameField.config": "options of the display",
    "FrameSchema.meta": "what the data source says of its frames",
    "FrontendDataSource.jsonData": _SOURCE,
    "FrontendSettings.licenseInfo": "always empty",
    "HistoryEntryShape.queries[]": _QUERIES,
    "JsonPatchOperation.value": "any value",
    "LibraryPanelSpec.fieldConfig": _PANEL,
    "LibraryPanelSpec.options": _PANEL,
    "LibraryPanelSpec.targets[]": "queries, whose members their data sources define",
    "LibraryPanelStatus.missing": "members that the spec has no place for",
    "ManagedFieldsEntry.fieldsV1": "a tree of paths, as Kubernetes writes it",
    "MergePatch": "the members of the object to change",
    "PlannedChange.diff[]": "steps of a JSON patch, in which null is a value",
    "PlaylistStatus": "always empty",
    "PostAnnotationCommand.data": "whatever the client wants to keep with an annotation",
    "PreferencesBody.navbar": _PREFERENCES,
    "PreferencesBody.queryHistory": _PREFERENCES,
    "PreferencesSpec.navbar": _PREFERENCES,
    "PreferencesSpec.queryHistory": _PREFERENCES,
    "PreferencesShape.navbar": _PREFERENCES,
    "PreferencesShape.queryHistory": _PREFERENCES,
    "QueryMeta.explain": "details for debugging",
    "ResourceObjects.dryRun": _OBJECT,
    "ResourceObjects.existing": _OBJECT,
    "ResourceObjects.file": _OBJECT,
    "SnapshotShape.dashboard": _BODY,
    "ThresholdCondition.loadedDimensions": "a data frame",
    "TokenStatus": "always empty",
    "VersionShape.data": _BODY,
    "WatchEvent.object": _OBJECT,
    **{f"{verb}RepositoryFile{version} request": "any text" for verb in ("create", "replace") for version in ("", "V1", "V1beta1")},
    "getAsyncApi 200": "a document of a specification of its own",
    "getOpenApi 200": "a document of a specification of its own",
    "getOpenApiV2 200": "a document of a specification of its own",
    "getOpenApiV3 200": "a document of a specification of its own",
    "getPanelSchema 200": "a document of a specification of its own",
    "getTargetSchema 200": "a document of a specification of its own",
}


@pytest.fixture(scope="module")
def described() -> Any:
    """Return the description of all routes as clients read it, after a conversion to JSON."""
    return orjson.loads(orjson.dumps(described_api(routes(), version="1")))


def operations(document: Any) -> dict[str, Any]:
    """Return every operation by its method and path."""
    return {f"{method.upper()} {path}": operation for path, methods in document["paths"].items() for method, operation in methods.items()}


def test_names_of_schemas_suit_every_generator(described: Any) -> None:
    """The name of a schema is a capital letter, followed by letters and digits.

    Names are distinct even if case is ignored, and differ from names that generators add: ``NewX``, ``NullableX``, ``XWithDefaults``.
    """
    names = list(described["components"]["schemas"])
    assert [name for name in names if not re.fullmatch(r"[A-Z][A-Za-z0-9]*", name)] == []
    assert [name for name, count in Counter(map(str.lower, names)).items() if count > 1] == []
    generated_names = {f"{prefix}{name}" for name in names for prefix in ("New", "Nullable")} | {f"{name}WithDefaults" for name in names}
    assert [name for name in names if name in generated_names or name.startswith("New")] == []


def test_the_types_of_the_interface_have_their_names(described: Any) -> None:
    """Types that clients know have their specified names."""
    assert set(SPECIFIED_TYPES) <= set(described["components"]["schemas"])


def test_operations_have_the_ids_that_clients_know(described: Any) -> None:
    """Operation ids are distinct even if case is ignored. Operations of Grafana's API have Grafana's ids."""
    ids = {route: operation["operationId"] for route, operation in operations(described).items()}
    assert [name for name, count in Counter(map(str.lower, ids.values())).items() if count > 1] == []
    known_ids = orjson.loads(KNOWN_IDS.read_bytes())
    assert {route: ids.get(route) for route in known_ids} == known_ids


def test_every_body_has_a_type(described: Any) -> None:
    """Every schema and body describes its values completely, except at the places of ``FREE_FORM``."""
    untyped_bodies = set()
    for name, schema in described["components"]["schemas"].items():
        untyped_bodies |= set(untyped_paths(schema, name))
    for operation in operations(described).values():
        identifier = operation["operationId"]
        bodies = {"request": operation.get("requestBody", {}), **operation["responses"]}
        for part, body in bodies.items():
            for content in body.get("content", {}).values():
                untyped_bodies |= set(untyped_paths(content["schema"], f"{identifier} {part}"))
    assert untyped_bodies == set(FREE_FORM)


def untyped_paths(schema: Any, path: str) -> Any:
    """Yield the places, in the form of ``FREE_FORM``, where a schema does not describe the value."""
    # The target of the reference is examined under its own name.
    if "$ref" in schema:
        return
    for word in ("anyOf", "oneOf", "allOf"):
        for part in schema.get(word, ()):
            yield from untyped_paths(part, path)
    for name, part in schema.get("properties", {}).items():
        yield from untyped_paths(part, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from untyped_paths(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from untyped_paths(schema["additionalProperties"], f"{path}[]")
    has_no_type = not {"type", "properties", "anyOf", "oneOf", "allOf", "enum", "const"} & set(schema)
    names_members = bool(schema.get("properties")) or isinstance(schema.get("additionalProperties"), dict)
    if has_no_type or (schema.get("type") == "object" and not names_members):
        yield path


def test_groups_have_names_and_descriptions(described: Any) -> None:
    """Every operation has a group, and every group a name and a description."""
    assert all(tag["description"] and tag["name"][0].isupper() for tag in described["tags"])
    assert {tag for operation in operations(described).values() for tag in operation["tags"]} == {tag["name"] for tag in described["tags"]}


def test_examples_are_as_described(described: Any) -> None:
    """The examples of operations match their schemas, and at least ten bodies have an example."""
    count = 0
    for operation in operations(described).values():
        for body in (operation.get("requestBody", {}), *operation["responses"].values()):
            for content in body.get("content", {}).values():
                if "example" in content:
                    schema = {**content["schema"], "components": described["components"]}
                    jsonschema_rs.validate(schema, content["example"])
                    count += 1
    assert count >= 10


def test_every_parameter_is_described(described: Any) -> None:
    """Parameters have a type, and query parameters also have a description.

    Flags are booleans. Bodies of images and of Arrow are strings in the format ``binary``.
    """
    flags = set()
    for operation in operations(described).values():
        for parameter in operation.get("parameters", ()):
            assert parameter["schema"].get("type"), (operation["operationId"], parameter)
            if parameter["in"] == "query":
                assert parameter["description"]
            if parameter["schema"]["type"] == "boolean":
                flags.add(parameter["name"])
    assert {"lenient", "explain", "force", "watch", "allowWatchBookmarks", "sendInitialEvents", "accesscontrol"} <= flags
    for path, node in nodes(described["paths"]):
        content_by_media = node.get("content")
        # A property that is named ``content`` may be no object.
        if not isinstance(content_by_media, dict):
            continue
        for media, content in content_by_media.items():
            if media.startswith(("image/", "application/vnd.apache.arrow")):
                assert content["schema"] == {"type": "string", "format": "binary"}, path
