"""The bytes of written files: the parts of the request and of the present file that are kept."""

import json
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
    spec = {"title": "T", "elements": {}, "version": 3}
    assert tree_of_file({**API_VERSION_AND_KIND, "spec": spec})["spec"] == spec


def test_a_wrong_namespace_is_kept_for_validation() -> None:
    assert tree_of_file({**API_VERSION_AND_KIND, "metadata": {"namespace": "org-9"}})["metadata"] == {"namespace": "org-9"}


@pytest.mark.parametrize(
    ("metadata", "name"),
    [({"generateName": "a-"}, "a-x7"), ({"generateName": "a-", "name": "n"}, "n"), ({"name": "n"}, "n"), ({}, None)],
)
def test_generate_name_creates_a_name(metadata: dict[str, Any], name: str | None) -> None:
    assert tree_of_file({**API_VERSION_AND_KIND, "metadata": metadata})["metadata"] == ({"name": name} if name else {})


def test_a_name_that_is_not_a_text_is_refused() -> None:
    with pytest.raises(Invalid, match=r"metadata\.generateName"):
        tree_of_file({**API_VERSION_AND_KIND, "metadata": {"generateName": 7}})


@pytest.mark.parametrize("path", ["a.json", "a.yaml", "a.yml"])
def test_written_files_can_be_read(path: str) -> None:
    """The suffix decides the format of the file, not the format of the request."""
    tree = {"uid": "u", "title": "no", "panels": [{"y": 1.5, "é": None}]}
    for sent in (json.dumps(tree), "uid: u\ntitle: 'no'\npanels:\n- y: 1.5\n  é: null\n"):
        body = write_content(path, read_content(sent), max_file_bytes=MAX_FILE_BYTES)
        assert (read_json if path == "a.json" else read_yaml)(body.decode()) == tree
    assert body.startswith(b'{\n  "uid"') == (path == "a.json")


leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2)
trees = st.dictionaries(
    st.sampled_from("abcdef"), st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=4), max_size=5
)


@given(before=trees, spec=trees)
def test_a_rewritten_file_has_the_new_spec(before: dict[str, Any], spec: dict[str, Any]) -> None:
    """Nothing of the old spec remains, and common fields keep the old order."""
    # A resource and a classic file.
    for old in ({**API_VERSION_AND_KIND, "metadata": {"name": "n"}, "spec": before}, {"uid": "n", "title": "T", **before}):
        new = updated_tree(old, edited_object(json.dumps({"title": "T", **spec})), with_name=False)
        body = new["spec"] if "spec" in new else {key: value for key, value in new.items() if key != "uid"}
        assert json_equal(body, {"title": "T", **spec})
        shared = [key for key in (old["spec"] if "spec" in new else old) if key in body]
        assert [key for key in body if key in shared] == shared


def test_unchanged_numbers_keep_their_digits() -> None:
    before = read_json('{"uid": "n", "title": "T", "a": 1.10, "b": 12345678901234567890, "c": [0.50]}')
    new = updated_tree(before, edited_object('{"title": "T", "a": 1.1, "b": 12345678901234567890, "c": [0.5, 2.50]}'), with_name=False)
    assert write_content("a.json", new, max_file_bytes=MAX_FILE_BYTES).decode().split() == [
        *("{", '"uid":', '"n",', '"title":', '"T",', '"a":', "1.10,"),
        *('"b":', "12345678901234567890,", '"c":', "[", "0.50,", "2.50", "]", "}"),
    ]


def test_an_indent_makes_no_file_too_large() -> None:
    """A file that exceeds the size limit only by its indentation is stored without it, because an edit cannot shorten the dashboard."""
    tree = {"panels": [{"id": index} for index in range(100)]}
    indented = write_content("a.json", tree, max_file_bytes=MAX_FILE_BYTES)
    assert write_content("a.json", tree, max_file_bytes=len(indented)) == indented
    compact = write_content("a.json", tree, max_file_bytes=len(indented) - 1)
    assert (json.loads(compact), compact.count(b"\n")) == (tree, 1)


def test_a_classic_file_becomes_a_resource_if_its_form_has_no_place_for_a_field() -> None:
    """Labels, annotations and layouts need a resource. Otherwise the form is kept, with a uid if the path does not imply the name."""
    before = {"title": "T", "panels": []}
    assert updated_tree(before, edited_object('{"title":"U"}'), with_name=False) == {"title": "U", "uid": "n"}
    assert updated_tree(before, edited_object('{"title":"U","panels":[]}'), with_name=False) == {"title": "U", "panels": []}
    assert updated_tree(before, edited_object('{"title":"U","panels":[]}'), with_name=True) == {"title": "U", "panels": [], "uid": "n"}
    labelled = updated_tree(before, edited_object('{"title":"U"}', labels={"team": "a"}), with_name=False)
    classic = {**API_VERSION_AND_KIND, "apiVersion": "dashboard.grafana.app/v0alpha1"}
    assert labelled == {**classic, "metadata": {"name": "n", "labels": {"team": "a"}}, "spec": {"title": "U"}}
    with_layout = updated_tree(before, edited_object('{"title":"U","elements":{}}', version="v2alpha1"), with_name=False)
    assert (with_layout["apiVersion"], with_layout["metadata"]) == ("dashboard.grafana.app/v2alpha1", {"name": "n"})


def test_a_resource_keeps_its_version_while_its_body_is_the_same_in_all() -> None:
    """The version of a file changes only when a layout is added or removed, because other programs read the file by its version."""
    body, with_layout = {"title": "T", "panels": []}, {"title": "T", "elements": {}}
    for before, after, version in ((body, body, "v1beta1"), (body, with_layout, "v2alpha1"), (with_layout, body, "v2alpha1")):
        file = {**API_VERSION_AND_KIND, "metadata": {"name": "n"}, "spec": before}
        new = updated_tree(file, edited_object(json.dumps({**after, "title": "U"}), version="v2alpha1"), with_name=False)
        assert new["apiVersion"] == f"dashboard.grafana.app/{version}"
