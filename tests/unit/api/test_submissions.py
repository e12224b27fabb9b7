"""What a submitter may send, whichever door it comes through."""

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashwright.api.domain.submissions import read_jobs as read
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.models.provisioning import Action

SYNC = {"action": "sync", "repository": "r", "sync": {}}


def submit(value: Any, **options: Any) -> Any:
    return read(json.dumps(value).encode(), "default", **options)


def test_a_spec_a_list_and_an_object_are_read() -> None:
    """One JobSpec, a list in its order, and a whole Job object all give specs; only the list is a list."""
    assert [spec.action for spec in submit(SYNC).specs] == [Action.SYNC]
    many = submit([SYNC, {**SYNC, "repository": "q"}])
    assert (many.is_list, [spec.repository for spec in many.specs]) == (True, ["r", "q"])
    assert submit({"metadata": {"namespace": "default"}, "spec": SYNC}) == submit(SYNC)
    whole = submit({"kind": "Job", "apiVersion": "provisioning.grafana.app/v0alpha1", "metadata": {"namespace": "default"}, "spec": SYNC})
    assert (whole.is_list, whole.specs[0].repository) == (False, "r")


def test_the_later_words_are_understood() -> None:
    """pull and push are sync and export, path is prefix, and the action may be left out where one options block says it."""
    assert submit({"action": "pull", "repository": "r", "pull": {"incremental": True}}).specs[0].sync.incremental
    assert submit({"repository": "r", "push": {"path": "p"}}).specs[0].export.prefix == "p"
    assert submit({"repository": "r", "pr": {"ref": "main"}}).specs[0].action is Action.PR


def test_the_repository_of_the_path_wins() -> None:
    """Below a repository every spec is about that one, whatever it names."""
    assert submit({**SYNC, "repository": "other"}, repository="r").specs[0].repository == "r"
    assert submit({"sync": {}}, repository="r").specs[0].repository == "r"


@pytest.mark.parametrize(
    ("value", "field", "text"),
    [
        ({"repository": "r"}, "spec.action", "Required value"),
        ({"action": "fly", "repository": "r"}, "spec.action", "export"),
        ({"action": "sync", "repository": "r"}, "spec.sync", "Required value"),
        ({"action": "push", "repository": "r"}, "spec.export", "Required value"),
        ({"repository": "r", "push": {}, "pull": {}}, "spec.action", "multiple job types found"),
        ({"action": "sync", "sync": {}}, "spec.repository", "required"),
        ({"action": "sync", "sync": {"incremental": "yes"}, "repository": "r"}, "spec.sync.incremental", "boolean"),
        ({"action": "push", "repository": "r", "push": {"branch": "feature..branch"}}, "spec.export.branch", "invalid git branch name"),
        (7, "spec", "must be a JobSpec object"),
    ],
)
def test_a_fault_is_named_by_its_field(value: Any, field: str, text: str) -> None:
    """Each refusal is Invalid with a cause that says where and what."""
    with pytest.raises(Invalid) as caught:
        submit(value)
    (cause,) = caught.value.causes
    assert cause.field == field
    assert text.lower() in cause.message.lower()


def test_a_list_is_checked_whole() -> None:
    """Every bad item of a list is told, by its place; good ones do not help."""
    with pytest.raises(Invalid) as caught:
        submit([SYNC, {"action": "sync", "repository": "r"}, 5, {"repository": "r", "action": "fly"}])
    assert [cause.field for cause in caught.value.causes] == ["[1].sync", "[2]", "[3].action"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "empty"),
        ([SYNC] * 1001, "1000"),
        ({"kind": "Pod", "spec": SYNC}, "not submitted here"),
        ({"kind": "Job", "metadata": {"name": "mine"}, "spec": SYNC}, "name will always be generated"),
        ({"kind": "Job", "metadata": {"namespace": "org-2"}, "spec": SYNC}, "must agree"),
        ({"kind": "Job", "metadata": {}, "spec": SYNC, "status": {"state": "working"}}, "empty status"),
    ],
)
def test_what_cannot_be_a_submission_is_a_bad_request(value: Any, text: str) -> None:
    """An envelope that does not belong here is refused with the reason."""
    with pytest.raises(BadRequest, match=text):
        submit(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["kind", "spec", "metadata", "action", "sync", "pull", "pr", "repository", "name", "x"]), inner, max_size=5
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_read_or_refused(value: Any) -> None:
    """Nothing but an error of the tree below 500 comes of a body, whatever it holds."""
    with suppress(BadRequest, Invalid):
        submit(value)


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """The same for what is no JSON."""
    with suppress(BadRequest, Invalid):
        read(body, "default")
