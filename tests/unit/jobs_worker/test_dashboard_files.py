"""Dashboards that are read from files: classic ones and resources, in JSON or YAML."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import BadRequest, Invalid, TooLarge
from dashwright.common.jobs.names import object_name
from dashwright.common.kinds.settings import AdmissionSettings
from dashwright.jobs_worker.domain.resource import Resource, ResourceReader, resource_from_bytes

MAX_FILE_BYTES = 2000
READER = ResourceReader("default", "team-repo", AdmissionSettings(), max_file_bytes=MAX_FILE_BYTES)

CLASSIC_DASHBOARD = (
    r'{"title": "T\n", "uid": "c", "tags": ["a", "é"], "panels": [{"libraryPanel": {"uid": "shared"}}], "z": 1.50, "text": "a\n\u0000"}'
)
DASHBOARD_RESOURCE = """{
    "apiVersion": "dashboard.grafana.app/v2alpha1",
    "kind": "Dashboard",
    "metadata": {"name": "n", "labels": {"l": "1"}, "annotations": {"a": "2\\n"}},
    "spec": {"title": "T", "tags": [], "elements": {}, "layout": {}}
}"""


def read_dashboard_file(body: str | bytes, path: str = "a/b.json") -> Resource:
    """Return the resource in a file of the repository ``team-repo``."""
    return READER.read(path, body.encode() if isinstance(body, str) else body)


def resource_text(version: str = "v1beta1", metadata: str = '{"name": "n"}', spec: str = '{"title": "T"}', kind: str = "Dashboard") -> str:
    """Return the text of a file with a resource."""
    return f'{{"apiVersion": "dashboard.grafana.app/{version}", "kind": "{kind}", "metadata": {metadata}, "spec": {spec}}}'


def test_classic_dashboard_is_wrapped() -> None:
    """A classic dashboard becomes a v0alpha1 Dashboard named by its uid, without id, uid and version."""
    resource = read_dashboard_file(
        '{"id": 7, "title": "CPU", "uid": "cpu-1", "version": 3, "panels": [{"id": 1, "version": 9}], "z": 1.50, "a": 1e2}'
    )
    assert resource.key == ("dashboard.grafana.app", "dashboards", "cpu-1")
    assert resource.kind == "Dashboard"
    assert resource.version == "v0alpha1"
    assert resource.extract.title == "CPU"
    assert resource.spec == b'{"title":"CPU","panels":[{"id":1,"version":9}],"z":1.50,"a":1e2}'


@pytest.mark.parametrize("uid", ["", '"uid": null,', '"uid": "",'])
def test_classic_dashboard_without_uid_is_named_by_its_path(uid: str) -> None:
    """A file without a name gets the name of its path."""
    assert read_dashboard_file(f'{{{uid} "title": "T", "schemaVersion": 39}}').key.name == object_name("team-repo", "a/b.json")


@pytest.mark.parametrize("version", ["v0alpha1", "v1beta1", "v2alpha1"])
def test_a_dashboard_resource_keeps_its_version(version: str) -> None:
    """A dashboard of each served version is stored unchanged."""
    resource = read_dashboard_file(resource_text(version))
    assert resource.version == version
    assert resource.key.name == "n"
    assert resource.spec == b'{"title":"T"}'


def test_a_layout_spec_is_unchanged() -> None:
    """In a spec of elements and layout, id, uid and version are fields like any other."""
    spec = '{"title":"T","elements":{},"layout":{},"id":1,"version":2}'
    assert read_dashboard_file(resource_text("v2alpha1", spec=spec)).spec == spec.encode()


def test_a_dashboard_resource_without_name_is_named_by_its_path() -> None:
    """Metadata may be missing; ``generateName`` does not count as a name."""
    for metadata in ("{}", "null", '{"generateName": "x-"}'):
        assert read_dashboard_file(resource_text(metadata=metadata)).key.name == object_name("team-repo", "a/b.json")


def test_own_labels_and_annotations_are_kept() -> None:
    """A file cannot set metadata that the server or the sync sets; all other metadata is kept."""
    resource = read_dashboard_file(
        resource_text(
            metadata='{"name": "n", "namespace": "default", "labels": {"team": "x", "grafana.app/deprecatedInternalID": "4"},'
            ' "annotations": {"note": "y", "grafana.app/managedBy": "terraform", "grafana.app/folder": "z", "grafana.app/createdBy": "me"}}'
        )
    )
    assert resource.labels == {"team": "x"}
    assert resource.annotations == {"note": "y"}


@pytest.mark.parametrize("path", ["a.yaml", "a.yml"])
def test_yaml_and_json_are_equal(path: str) -> None:
    """The suffix decides how a file is parsed, not its meaning."""
    body = "apiVersion: dashboard.grafana.app/v1beta1\nkind: Dashboard\nmetadata:\n  name: n\nspec:\n  title: T\n"
    assert read_dashboard_file(body, path) == read_dashboard_file(resource_text())
    assert read_dashboard_file("\ufeffuid: u\ntitle: T\ntags: [no]\n", path).spec == b'{"title":"T","tags":["no"]}'


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (resource_text("v9"), "'dashboard.grafana.app/v9' is not supported for Dashboard; known: .*v2alpha1.*v0alpha1"),
        (resource_text("v2", kind="LibraryPanel"), "'dashboard.grafana.app/v2' is not supported for LibraryPanel; known: .*v0alpha1"),
        (resource_text(kind="Snapshot"), "Snapshot of dashboard.grafana.app/v1beta1 is not synced: files hold Dashboard .*, LibraryPanel"),
        ('{"apiVersion": "folder.grafana.app/v0alpha1", "kind": "Folder", "spec": {}}', "folders come from directories"),
        ('{"kind": "Dashboard", "spec": {}}', "apiVersion and kind must both be strings"),
        (resource_text(metadata='{"namespace": "org-2"}'), "metadata.namespace is 'org-2', but this repository writes into 'default'"),
        (resource_text(metadata="[]"), "metadata must be an object"),
        (resource_text(metadata='{"name": 3}'), "metadata.name must be a string"),
        (resource_text(metadata='{"labels": {"a": 1}}'), r"metadata.labels\['a'\] must be a string"),
        (resource_text(spec="[]"), "spec is missing"),
        ('{"panels": [], "title": "T", "uid": 3}', "uid must be a string"),
        ('{"title": "T\\u0000", "uid": "u"}', "cannot be stored: NUL"),
        ('{"title": "T", "title": "S"}', "duplicate key"),
        ('{"title": "T", "tags": ' + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
        (b'{"title": "\xff"}', "not UTF-8 at byte 11"),
        ("\ufeff\ufeff{}", "not valid JSON"),
        ('{"title": "T", "panels": [], // a comment\n}', "not valid JSON"),
        ("{", "not valid JSON"),
    ],
)
def test_an_invalid_file_has_an_error_message(body: str | bytes, reason: str) -> None:
    """Every error has the fault and what to do."""
    with pytest.raises(Invalid, match=reason):
        read_dashboard_file(body)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ('{"panels": [], "uid": "u"}', "Dashboard title cannot be empty"),
        ('{"panels": [], "uid": "u", "title": "  "}', "Dashboard title cannot be empty"),
        ('{"panels": [], "uid": "u", "title": 3.5}', "Dashboard title cannot be empty"),
        ('{"title": "T", "uid": "' + "x" * 41 + '"}', "uid too long, max 40 characters: .* has 41; 'x{31}-[0-9a-f]{8}' is valid"),
        ('{"title": "T", "uid": "a/b (c) "}', "uid contains illegal characters: .*; 'a-b-c' is valid"),
    ],
)
def test_file_obeys_the_rules_of_dashboards(body: str, reason: str) -> None:
    """A dashboard with an invalid title or uid is refused, with the message that requests get, too."""
    with pytest.raises(BadRequest, match=reason):
        read_dashboard_file(body)


def test_file_over_the_limit_is_refused_unread() -> None:
    """A file of exactly the limit of bytes is read, and a larger one is refused before it is parsed."""
    start, end = '{"title": "T", "uid": "u", "a": "', '"}'
    largest = start + "x" * (MAX_FILE_BYTES - len(start) - len(end)) + end
    read_dashboard_file(largest)
    with pytest.raises(TooLarge, match="file has 2001 bytes, at most 2000"):
        read_dashboard_file(largest + " ")


@given(st.binary(max_size=80) | st.text(max_size=80).map(lambda text: orjson.dumps({"title": text, "uid": text, "panels": text})))
def test_any_bytes_give_a_resource_or_a_fault_of_the_file(body: bytes) -> None:
    """No file can end the job: it is read, or its own error is raised."""
    for path in ("a.json", "a.yaml"):
        try:
            resource = read_dashboard_file(body, path)
        except (Invalid, BadRequest):
            continue
        assert orjson.loads(resource.spec)["title"] == resource.extract.title


def test_a_layout_in_a_file_is_stored_as_the_newest_version() -> None:
    """A layout is stored as the newest version, regardless of the version in the file."""
    created = read_dashboard_file(resource_text("v1beta1", spec='{"title": "T", "layout": {}}'))
    assert created.version == "v2alpha1"
    assert created.extract.layout is True


def test_a_file_of_v1beta1_is_validated() -> None:
    """A file of v1beta1 is validated by the rules of requests in that version. The message names the field."""
    with pytest.raises(Invalid, match=r"spec\.editable"):
        read_dashboard_file(resource_text("v1beta1", spec='{"title": "T", "editable": "elephant"}'))
    assert read_dashboard_file(resource_text("v0alpha1", spec='{"title": "T", "editable": "elephant"}')).version == "v0alpha1"


@pytest.mark.parametrize("metadata", [r'{"labels": {"a": "\ud800"}}', r'{"annotations": {"a": "b\u0000"}}', r'{"labels": {"\udfff": ""}}'])
def test_texts_that_cannot_be_stored_are_a_fault_of_the_file(metadata: str) -> None:
    """Texts that cannot be stored are a fault of their file only, so the sync continues."""
    with pytest.raises(Invalid):
        read_dashboard_file(resource_text(metadata=metadata))


def test_metadata_is_bounded() -> None:
    """Metadata of a file has the limits of metadata in requests."""
    reader = ResourceReader("default", "team-repo", AdmissionSettings())
    with pytest.raises(TooLarge, match="keep notes"):
        reader.read("a.json", resource_text(metadata=f'{{"labels": {{"a": "{"x" * 300_000}"}}}}').encode())


@pytest.mark.parametrize("body", [CLASSIC_DASHBOARD, DASHBOARD_RESOURCE], ids=["classic", "resource"])
def test_a_packed_resource_is_unpacked(body: str) -> None:
    """A packed resource is restored exactly, including the whitespace of its spec."""
    resource = read_dashboard_file(body)
    assert resource_from_bytes(resource.to_bytes()) == resource
