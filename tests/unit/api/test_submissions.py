"""Submissions of jobs and evaluations, by HTTP and by the queue."""

import json
import re
from contextlib import suppress
from time import process_time
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from dashwright.api.domain import job_rules, submissions
from dashwright.api.domain.submissions import NO_METADATA, JobSubmission, parse_json, read_jobs, read_submission
from dashwright.common.errors import BadRequest, Invalid
from dashwright.common.kinds.registry import JOB
from dashwright.common.models.causes import causes_of
from dashwright.common.models.provisioning import Action, JobSpec

SYNC = {"action": "sync", "repository": "r", "sync": {}}


def submit(value: Any, **options: Any) -> Any:
    """Return the jobs of a submission to the namespace ``default``."""
    return read_jobs(parse_json(json.dumps(value).encode()), "default", **options)


def test_a_spec_a_list_and_an_object_are_read() -> None:
    """A JobSpec, an ordered list of JobSpecs, and a complete Job are accepted."""
    assert [spec.action for spec in submit(SYNC).specs] == [Action.SYNC]
    list_submission = submit([SYNC, {**SYNC, "repository": "q"}])
    assert list_submission.is_list
    assert [spec.repository for spec in list_submission.specs] == ["r", "q"]
    assert submit({"metadata": {"namespace": "default"}, "spec": SYNC}) == submit(SYNC)
    complete = submit(
        {"kind": "Job", "apiVersion": "provisioning.grafana.app/v0alpha1", "metadata": {"namespace": "default"}, "spec": SYNC}
    )
    assert not complete.is_list
    assert complete.specs[0].repository == "r"


def test_a_job_has_the_version_of_its_path() -> None:
    """A Job over HTTP has the version of the path. The queue, which has no version, accepts every served one."""
    for version in JOB.versions:
        assert submit({"kind": "Job", "apiVersion": JOB.api_version(version), "spec": SYNC}) == submit({"spec": SYNC})
    assert submit({"apiVersion": JOB.api_version("v1"), "spec": SYNC}, version="v1") == submit({"spec": SYNC}, version="v1")
    with pytest.raises(BadRequest, match=r"known: Job of provisioning\.grafana\.app/v1$"):
        submit({"apiVersion": JOB.api_version("v1beta1"), "spec": SYNC}, version="v1")
    with pytest.raises(BadRequest, match=r"v0alpha1, .*/v1, .*/v1beta1; Evaluation of "):
        submit({"apiVersion": "provisioning.grafana.app/v9", "spec": SYNC})


def test_synonyms_are_accepted() -> None:
    """``pull``, ``push`` and ``path`` are synonyms of ``sync``, ``export`` and ``prefix``. One block of options implies the action."""
    assert submit({"action": "pull", "repository": "r", "pull": {"incremental": True}}).specs[0].sync.incremental
    assert submit({"repository": "r", "push": {"path": "p"}}).specs[0].export.prefix == "p"
    assert submit({"repository": "r", "pr": {"ref": "main"}}).specs[0].action is Action.PR


def test_the_repository_of_the_path_takes_precedence() -> None:
    """A submission below a repository is for this repository, even if the spec names another one."""
    assert submit({**SYNC, "repository": "other"}, repository="r").specs[0].repository == "r"
    assert submit({"sync": {}}, repository="r").specs[0].repository == "r"


def test_a_valid_job_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The body is parsed to a tree once, and specs are validated as parts of this tree: no JSON is written and parsed again."""
    parsed = []

    def loads(body: bytes) -> Any:
        parsed.append(body)
        return json.loads(body)

    monkeypatch.setattr(submissions, "orjson", SimpleNamespace(loads=loads))
    monkeypatch.setattr(JobSpec, "model_validate_json", pytest.fail)
    monkeypatch.setattr(job_rules, "write_json", pytest.fail)
    body = json.dumps([SYNC, {"repository": "r", "push": {"path": "p"}}, {"repository": "r", "pr": {"pr": 7}}]).encode()
    assert len(read_jobs(parse_json(body), "default").specs) == 3
    assert parsed == [body]


@given(
    st.dictionaries(
        st.sampled_from(["action", "repository", "pr", "export", "push", "sync", "pull"]),
        st.recursive(
            st.sampled_from(["sync", "export", "", "r" * 300, 0, -1, 2**31, 2**63, 1.0, 1.5, True, None]),
            lambda inner: (
                st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["pr", "ref", "path", "history"]), inner, max_size=3)
            ),
            max_leaves=6,
        ),
    )
)
def test_a_tree_is_validated_like_its_json_text(value: dict[str, Any]) -> None:
    """A tree and its JSON text are validated to equal specs, or refused for equal causes."""
    try:
        expected: Any = JobSpec.model_validate_json(json.dumps(value))
    except ValidationError as error:
        expected = causes_of(error)
    try:
        outcome: Any = job_rules.validate(value)
    except ValidationError as error:
        outcome = causes_of(error)
    assert outcome == expected


@pytest.mark.parametrize(
    ("value", "field", "text"),
    [
        ({"repository": "r"}, "spec.action", "Required value"),
        ({"action": "fly", "repository": "r"}, "spec.action", "export"),
        ({"action": "sync", "repository": "r"}, "spec.sync", "Required value"),
        ({"action": "push", "repository": "r"}, "spec.export", "Required value"),
        ({"repository": "r", "push": {}, "pull": {}}, "spec.action", "multiple job types found"),
        ({**SYNC, "pull": {}}, "spec.pull", "pull and sync are the same"),
        ({**SYNC, "export": {}}, "spec.export", "a job with action sync takes no options of export"),
        ({**SYNC, "pr": {"pr": 1}}, "spec.pr", "takes no options of pr"),
        ({"action": "pr", "repository": "r", "pr": {"pr": 1}, "push": {}}, "spec.push", "takes no options of export"),
        ({"repository": "r", "export": {"path": "p", "prefix": "q"}}, "spec.export.path", "path and prefix are the same"),
        ({"repository": "r", "pr": {"pr": -1}}, "spec.pr.pr", "1 or more"),
        ({"repository": "r", "pr": {}}, "spec.pr.pr", "give the number of a pull request"),
        ({"repository": "r", "pr": {"pr": 0, "hash": "4f2c", "ref": ""}}, "spec.pr.pr", "give the number of a pull request"),
        ({"repository": "r", "action": "pr"}, "spec.pr", "needs its options"),
        ({**SYNC, "priority": 9}, "spec.priority", "unknown field; leave it out; known: action, repository"),
        ({"spec": SYNC, "metadata": {"labelz": {}}}, "metadata.labelz", 'did you mean "labels"?'),
        ({"repository": "r", "sync": {"incrementel": True}}, "spec.sync.incrementel", 'did you mean "incremental"?'),
        ({"action": "sync", "sync": {}}, "spec.repository", "required"),
        ({"action": "sync", "sync": {"incremental": "yes"}, "repository": "r"}, "spec.sync.incremental", "boolean"),
        ({"action": "push", "repository": "r", "push": {"branch": "feature..branch"}}, "spec.export.branch", "invalid git branch name"),
        (7, "spec", "must be a JobSpec object"),
    ],
)
def test_a_fault_is_named_by_its_field(value: Any, field: str, text: str) -> None:
    """Each refusal is Invalid with a cause that names the field and the fault."""
    with pytest.raises(Invalid) as caught:
        submit(value)
    (cause,) = caught.value.causes
    assert cause.field == field
    assert text.lower() in cause.message.lower()


def test_a_list_is_checked_completely() -> None:
    """A list with an invalid item is refused as a whole. Each invalid item, also one with an unknown field, is a cause with its index."""
    with pytest.raises(Invalid) as caught:
        submit([SYNC, {"action": "sync", "repository": "r"}, 5, {"repository": "r", "action": "fly"}, {**SYNC, "sink": {}}])
    assert [cause.field for cause in caught.value.causes] == ["[1].sync", "[2]", "[3].action", "[4].sink"]


def test_a_pull_request_is_given_by_number_branch_or_url() -> None:
    """A number, branch or URL identifies a pull request. Zero and the empty string count as missing."""
    for pull in ({"pr": 7}, {"ref": "change"}, {"url": "https://git.example/pull/7"}, {"pr": 0, "ref": "change", "hash": ""}):
        assert submit({"repository": "r", "pr": pull}).specs[0].action is Action.PR


def test_labels_annotations_and_a_generated_name_are_kept() -> None:
    """A complete Job keeps its labels and annotations, and its name is generated. A spec alone has no metadata."""
    metadata = {"generateName": "nightly-", "labels": {"ci": "42"}, "annotations": {"why": "because"}}
    submitted = submit({"metadata": metadata, "spec": SYNC}).metadata
    assert submitted.labels == {"ci": "42"}
    assert submitted.annotations == {"why": "because"}
    assert re.fullmatch(r"nightly-[a-z0-9]{8}", submitted.name)
    assert submit(SYNC).metadata == NO_METADATA


@pytest.mark.parametrize(
    "metadata",
    [{"generateName": "Nightly-"}, {"generateName": 7}, {"generateName": "x" * 60}, {"labels": {"ci": 42}}, {"annotations": ["a"]}],
    ids=str,
)
def test_unsupported_metadata_is_rejected(metadata: dict[str, Any]) -> None:
    """Unsupported metadata is rejected, and never silently omitted."""
    with pytest.raises(BadRequest, match=r"metadata\."):
        submit({"metadata": metadata, "spec": SYNC})


def test_a_message_with_unknown_fields_is_rejected() -> None:
    """A message with an unknown field is rejected, also for an Evaluation, because a reply has no header for warnings."""
    evaluation = {"kind": "Evaluation", "spec": {"panel": {"type": "t", "targets": []}, "querys": []}, "metadata": {"name": "e"}}
    with pytest.raises(Invalid) as caught:
        read_submission(json.dumps(evaluation).encode(), "default")
    (cause,) = caught.value.causes
    assert cause.field == "spec.querys"
    assert 'did you mean "queries"?' in cause.message
    assert isinstance(read_submission(json.dumps(SYNC).encode(), "default"), JobSubmission)


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
def test_invalid_submissions_are_rejected(value: Any, text: str) -> None:
    """A submission with an invalid number of specs, kind, name, namespace or status is rejected with the reason."""
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
def test_any_json_is_accepted_or_rejected(value: Any) -> None:
    """A body of any JSON causes at most a client error."""
    with suppress(BadRequest, Invalid):
        submit(value)


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    """Any bytes are read as a submission, or refused as invalid."""
    with suppress(BadRequest, Invalid):
        read_submission(body, "default")


def test_many_and_long_unknown_fields_are_refused_quickly_and_briefly() -> None:
    """The largest submissions take less than two seconds of processor time, and the refusal is short."""
    many_unknown_fields = [{**SYNC, **{f"f{index}": 1 for index in range(180)}}] * 1000
    long_unknown_field = {**SYNC, "x" * 1_000_000: 1}
    for value in (many_unknown_fields, long_unknown_field):
        body, started = json.dumps(value).encode(), process_time()
        with pytest.raises(Invalid) as caught:
            read_submission(body, "default")
        assert process_time() - started < 2
        assert len(caught.value.message) < 5000
        # At most one cause for each of the 1,000 items.
        assert len(caught.value.causes) <= 1000
