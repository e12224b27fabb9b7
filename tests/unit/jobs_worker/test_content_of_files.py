"""The bytes of written files: which parts of a request and of the present file are kept."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.common.document import json_equal, read_json
from dashwright.common.errors import Invalid
from dashwright.common.models.repository_calls import EditedObject
from dashwright.common.yaml import read_yaml
from dashwright.jobs_worker.domain.file_forms import LARGEST_FILE
from dashwright.jobs_worker.domain.files.content import file_tree, read_content, updated_tree, write_content

HEAD = {"apiVersion": "dashboard.grafana.app/v1beta1", "kind": "Dashboard"}


def kept(tree: Any) -> Any:
    return file_tree(tree, "default", lambda: "x7")


def edited(spec: str, **options: Any) -> EditedObject:
    return EditedObject(**{"version": "v1beta1", "name": "n", "spec": spec, "labels": {}, "annotations": {}, **options})


def test_what_is_no_part_of_a_file_is_left_out() -> None:
    """The store's own members and the manager are dropped; everything of the user is kept in its order."""
    notes = {
        "grafana.app/managedBy": "repo",
        "grafana.app/folder": "f",
        "grafana.app/createdBy": "u",
        "grafana.app/message": "m",
        "mine": "1",
    }
    labels = {"team": "a", "grafana.app/deprecatedInternalID": "7"}
    metadata = {"uid": "u", "resourceVersion": "9", "labels": labels, "annotations": notes, "name": "n", "namespace": "default"}
    sent = {**HEAD, "metadata": metadata, "spec": {"id": 1, "uid": "u", "title": "T", "version": 3}, "status": {}, "x": 1}
    assert kept(sent) == {
        **HEAD,
        "metadata": {"labels": {"team": "a"}, "annotations": {"mine": "1"}, "name": "n"},
        "spec": {"title": "T"},
        "x": 1,
    }
    assert kept({"id": 1, "uid": "u", "title": "T", "version": 3}) == {"uid": "u", "title": "T"}


def test_the_parts_of_a_layout_are_its_own() -> None:
    spec = {"title": "T", "elements": {}, "version": 3}
    assert kept({**HEAD, "spec": spec})["spec"] == spec


def test_a_foreign_namespace_stays_to_be_refused() -> None:
    assert kept({**HEAD, "metadata": {"namespace": "org-9"}})["metadata"] == {"namespace": "org-9"}


@pytest.mark.parametrize(
    ("metadata", "name"),
    [({"generateName": "a-"}, "a-x7"), ({"generateName": "a-", "name": "n"}, "n"), ({"name": "n"}, "n"), ({}, None)],
)
def test_a_name_is_made_where_one_is_asked_for(metadata: dict[str, Any], name: str | None) -> None:
    assert kept({**HEAD, "metadata": metadata})["metadata"] == ({"name": name} if name else {})


def test_a_name_that_is_no_text_is_refused() -> None:
    with pytest.raises(Invalid, match=r"metadata\.generateName"):
        kept({**HEAD, "metadata": {"generateName": 7}})


@pytest.mark.parametrize("path", ["a.json", "a.yaml", "a.yml"])
def test_what_was_written_is_read_again(path: str) -> None:
    """The suffix decides the format, whatever the format of the request."""
    tree = {"uid": "u", "title": "no", "panels": [{"y": 1.5, "é": None}]}
    for sent in (json.dumps(tree), "uid: u\ntitle: 'no'\npanels:\n- y: 1.5\n  é: null\n"):
        body = write_content(path, read_content(sent), largest=LARGEST_FILE)
        assert (read_json if path == "a.json" else read_yaml)(body.decode()) == tree
    assert body.startswith(b'{\n  "uid"') == (path == "a.json")


leaves = st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab", max_size=2)
trees = st.dictionaries(
    st.sampled_from("abcdef"), st.recursive(leaves, lambda inner: st.lists(inner, max_size=3), max_leaves=4), max_size=5
)


@given(before=trees, spec=trees)
def test_a_rewritten_file_says_what_is_wanted(before: dict[str, Any], spec: dict[str, Any]) -> None:
    """Nothing of the old spec remains, and common members keep the old order."""
    for old in ({**HEAD, "metadata": {"name": "n"}, "spec": before}, {"uid": "n", "title": "T", **before}):
        new = updated_tree(old, edited(json.dumps({"title": "T", **spec})), name_it=False)
        body = new["spec"] if "spec" in new else {key: value for key, value in new.items() if key != "uid"}
        assert json_equal(body, {"title": "T", **spec})
        shared = [key for key in (old["spec"] if "spec" in new else old) if key in body]
        assert [key for key in body if key in shared] == shared


def test_a_number_that_was_not_touched_stays_as_it_was_written() -> None:
    before = read_json('{"uid": "n", "title": "T", "a": 1.10, "b": 12345678901234567890, "c": [0.50]}')
    new = updated_tree(before, edited('{"title": "T", "a": 1.1, "b": 12345678901234567890, "c": [0.5, 2.50]}'), name_it=False)
    assert write_content("a.json", new, largest=LARGEST_FILE).decode().split() == [
        *("{", '"uid":', '"n",', '"title":', '"T",', '"a":', "1.10,"),
        *('"b":', "12345678901234567890,", '"c":', "[", "0.50,", "2.50", "]", "}"),
    ]


def test_an_indent_makes_no_file_too_large() -> None:
    """If only the compact form fits, it is used: an edit cannot make the dashboard smaller."""
    tree = {"panels": [{"id": number} for number in range(100)]}
    indented = write_content("a.json", tree, largest=LARGEST_FILE)
    assert write_content("a.json", tree, largest=len(indented)) == indented
    compact = write_content("a.json", tree, largest=len(indented) - 1)
    assert (json.loads(compact), compact.count(b"\n")) == (tree, 1)


def test_a_classic_file_becomes_a_resource_where_it_must() -> None:
    """Labels, annotations and layouts need a resource; otherwise the form is kept, with a name if the path no longer gives it."""
    before = {"title": "T", "panels": []}
    assert updated_tree(before, edited('{"title":"U"}'), name_it=False) == {"title": "U", "uid": "n"}
    assert updated_tree(before, edited('{"title":"U","panels":[]}'), name_it=False) == {"title": "U", "panels": []}
    assert updated_tree(before, edited('{"title":"U","panels":[]}'), name_it=True) == {"title": "U", "panels": [], "uid": "n"}
    labelled = updated_tree(before, edited('{"title":"U"}', labels={"team": "a"}), name_it=False)
    classic = {**HEAD, "apiVersion": "dashboard.grafana.app/v0alpha1"}
    assert labelled == {**classic, "metadata": {"name": "n", "labels": {"team": "a"}}, "spec": {"title": "U"}}
    laid_out = updated_tree(before, edited('{"title":"U","elements":{}}', version="v2alpha1"), name_it=False)
    assert (laid_out["apiVersion"], laid_out["metadata"]) == ("dashboard.grafana.app/v2alpha1", {"name": "n"})


def test_a_resource_keeps_its_version_while_its_body_is_the_same_in_all() -> None:
    """Other programs read the file by its version, so the version changes only when a layout is added or removed."""
    body, laid_out = {"title": "T", "panels": []}, {"title": "T", "elements": {}}
    for before, after, version in ((body, body, "v1beta1"), (body, laid_out, "v2alpha1"), (laid_out, body, "v2alpha1")):
        file = {**HEAD, "metadata": {"name": "n"}, "spec": before}
        new = updated_tree(file, edited(json.dumps({**after, "title": "U"}), version="v2alpha1"), name_it=False)
        assert new["apiVersion"] == f"dashboard.grafana.app/{version}"
