"""The content of written files: which members of the request and of the replaced file it has."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.errors import Invalid
from dashwright.common.json_documents import json_equal, read_json
from dashwright.common.models.repository_calls import EditedObject
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.file_forms import MAX_FILE_BYTES
from dashwright.jobs_worker.domain.files.content import file_tree, read_content, updated_tree, write_content

API_VERSION_AND_KIND = {"apiVersion": "dashboard.grafana.app/v1beta1", "kind": "Dashboard"}


def tree_of_file(tree: Any) -> Any:
    """Return the file of a submitted tree. Generated names end in ``x7``."""
    return file_tree(tree, "default", lambda: "x7")


def edited_object(spec: str, **options: Any) -> EditedObject:
    """Return the edit of the object ``n``, whose new spec is ``spec``."""
    return EditedObject(**{"version": "v1beta1", "name": "n", "spec": spec, "labels": {}, "annotations": {}, **options})


def test_server_fields_are_omitted() -> None:
    """The store's own fields and the manager are omitted; all fields of the user are kept in their order."""
    annotations = {
        "grafana.app/managedBy": "repo",
        "grafana.app/folder": "f",
        "grafana.app/createdBy": "u",
        "grafana.app/message": "m",
        "mine": "1",
    }
    labels = {"team": "a", "grafana.app/deprecatedInternalID": "7"}
    metadata = {"uid": "u", "resourceVersion": "9", "labels": labels, "annotations": annotations, "name": "n", "namespace": "default"}
    sent = {**API_VERSION_AND_KIND, "metadata": metadata, "spec": {"id": 1, "uid": "u", "title": "T", "version": 3}, "status": {}, "x": 1}
    assert tree_of_file(sent) == {
        **API_VERSION_AND_KIND,
        "metadata": {"labels": {"team": "a"}, "annotations": {"mine": "1"}, "name": "n"},
        "spec": {"title": "T"},
        "x": 1,
    }
    assert tree_of_file({"id": 1, "uid": "u", "title": "T", "version": 3}) == {"uid": "u", "title": "T"}


def test_a_layout_keeps_its_fields() -> None:
    """A spec with elements keeps a member ``version``, which is a field of the server only in classic specs."""
    spec = {"title": "T", "elements": {}, "version": 3}
    assert tree_of_file({**API_VERSION_AND_KIND, "spec": spec})["spec"] == spec


def test_a_wrong_namespace_is_kept_for_validation() -> None:
    """A namespace that is not that of the repository is kept, so that the validation of the file refuses it."""
    assert tree_of_file({**API_VERSION_AND_KIND, "metadata": {"namespace": "org-9"}})["metadata"] == {"namespace": "org-9"}


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"generateName": "a-"}, {"name": "a-x7"}),
        ({"generateName": "a-", "name": "n"}, {"name": "n"}),
        ({"name": "n"}, {"name": "n"}),
        ({}, {}),
    ],
)
def test_generate_name_creates_a_name(metadata: dict[str, Any], expected: dict[str, Any]) -> None:
    assert tree_of_file({**API_VERSION_AND_KIND, "metadata": metadata})["metadata"] == expected


def test_a_name_that_is_not_a_text_is_refused() -> None:
    with pytest.raises(Invalid, match=r"metadata\.generateName"):
        tree_of_file({**API_VERSION_AND_KIND, "metadata": {"generateName": 7}})


@pytest.mark.parametrize(
    ("path", "read", "beginning"), [("a.json", read_json, b'{\n  "uid"'), ("a.yaml", read_yaml, b"uid"), ("a.yml", read_yaml, b"uid")]
)
def test_written_files_can_be_read(path: str, read: Callable[[str], Any], beginning: bytes) -> None:
    """A file has the format of its suffix, JSON or YAML, for both formats of the request."""
    tree = {"uid": "u", "title": "no", "panels": [{"y": 1.5, "é": None}]}
    for sent in (json.dumps(tree), "uid: u\ntitle: 'no'\npanels:\n- y: 1.5\n  é: null\n"):
        body = write_content(path, read_content(sent), max_file_bytes=MAX_FILE_BYTES)
        assert read(body.decode()) == tree
        assert body.startswith(beginning)


leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2)
trees = st.dictionaries(
    st.sampled_from("abcdef"), st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=4), max_size=5
)


@given(before=trees, spec=trees)
def test_a_rewritten_file_has_the_new_spec(before: dict[str, Any], spec: dict[str, Any]) -> None:
    """The body of a rewritten file is the new spec. Members that the old body has, too, keep the order of the old body."""
    new_spec = {"title": "T", **spec}
    edit = edited_object(json.dumps(new_spec))
    resource = {**API_VERSION_AND_KIND, "metadata": {"name": "n"}, "spec": before}
    body_of_resource = updated_tree(resource, edit, with_name=False)["spec"]
    classic = {"uid": "n", "title": "T", **before}
    classic_body = updated_tree(classic, edit, with_name=False)
    # The name of the object is not part of its spec.
    classic_body.pop("uid", None)
    for old_body, body in ((before, body_of_resource), (classic, classic_body)):
        assert json_equal(body, new_spec)
        shared = [key for key in old_body if key in body]
        assert [key for key in body if key in shared] == shared


def test_unchanged_numbers_keep_their_digits() -> None:
    """A number that is equal in the new spec has the digits of the old file, and a new number those of the request."""
    before = read_json('{"uid": "n", "title": "T", "a": 1.10, "b": 12345678901234567890, "c": [0.50]}')
    new = updated_tree(before, edited_object('{"title": "T", "a": 1.1, "b": 12345678901234567890, "c": [0.5, 2.50]}'), with_name=False)
    expected = """\
{
  "uid": "n",
  "title": "T",
  "a": 1.10,
  "b": 12345678901234567890,
  "c": [
    0.50,
    2.50
  ]
}
"""
    assert write_content("a.json", new, max_file_bytes=MAX_FILE_BYTES).decode() == expected


def test_an_indent_makes_no_file_too_large() -> None:
    """A file that exceeds the size limit only by its indentation is stored without it, because an edit cannot shorten the dashboard."""
    tree = {"panels": [{"id": index} for index in range(100)]}
    indented = write_content("a.json", tree, max_file_bytes=MAX_FILE_BYTES)
    assert write_content("a.json", tree, max_file_bytes=len(indented)) == indented
    compact = write_content("a.json", tree, max_file_bytes=len(indented) - 1)
    assert json.loads(compact) == tree
    # Only the end of the file.
    assert compact.count(b"\n") == 1


def test_a_classic_file_becomes_a_resource_if_its_form_has_no_place_for_a_field() -> None:
    """A classic file becomes a resource if the edit adds labels, annotations or a layout. It remains classic after any other edit."""
    before = {"title": "T", "panels": []}
    assert updated_tree(before, edited_object('{"title":"U"}'), with_name=False) == {"title": "U", "uid": "n"}
    assert updated_tree(before, edited_object('{"title":"U","panels":[]}'), with_name=False) == {"title": "U", "panels": []}
    assert updated_tree(before, edited_object('{"title":"U","panels":[]}'), with_name=True) == {"title": "U", "panels": [], "uid": "n"}
    labelled = updated_tree(before, edited_object('{"title":"U"}', labels={"team": "a"}), with_name=False)
    classic = {**API_VERSION_AND_KIND, "apiVersion": "dashboard.grafana.app/v0alpha1"}
    assert labelled == {**classic, "metadata": {"name": "n", "labels": {"team": "a"}}, "spec": {"title": "U"}}
    with_layout = updated_tree(before, edited_object('{"title":"U","elements":{}}', version="v2alpha1"), with_name=False)
    assert with_layout["apiVersion"] == "dashboard.grafana.app/v2alpha1"
    assert with_layout["metadata"] == {"name": "n"}


CLASSIC_SPEC = {"title": "T", "panels": []}
SPEC_WITH_LAYOUT = {"title": "T", "elements": {}}


@pytest.mark.parametrize(
    ("before", "after", "version"),
    [
        pytest.param(CLASSIC_SPEC, CLASSIC_SPEC, "v1beta1", id="classic"),
        pytest.param(CLASSIC_SPEC, SPEC_WITH_LAYOUT, "v2alpha1", id="added layout"),
        pytest.param(SPEC_WITH_LAYOUT, CLASSIC_SPEC, "v2alpha1", id="removed layout"),
    ],
)
def test_a_resource_keeps_its_version_unless_its_form_changes(before: dict[str, Any], after: dict[str, Any], version: str) -> None:
    """A file gets the version of the edit only when a layout is added or removed, because other programs read the file by its version."""
    file = {**API_VERSION_AND_KIND, "metadata": {"name": "n"}, "spec": before}
    new = updated_tree(file, edited_object(json.dumps({**after, "title": "U"}), version="v2alpha1"), with_name=False)
    assert new["apiVersion"] == f"dashboard.grafana.app/{version}"
