"""Submissions of jobs and evaluations: a JobSpec, a list of them, or a whole object. HTTP and queue use the same rules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import orjson
from pydantic import ValidationError

from dashwright.api.domain import job_rules, names, unknown_fields
from dashwright.api.domain.unknown_fields import UnknownField
from dashwright.common.document import check_texts, write_json
from dashwright.common.errors import BadRequest, Cause, Invalid, TooLarge
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.naming import check_object_name
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.models.causes import causes_of, sentence
from dashwright.common.models.evaluation import EvaluationSpec
from dashwright.common.models.provisioning import JobSpec

LONGEST_LIST = 1000
LARGEST_BODY = 2 * 1024 * 1024
"""Bytes of one submission."""

_MOST_UNKNOWN: Final = 1000
"""Unknown fields that are collected for one submission. The first one refuses it, and clients need no more."""


@dataclass(frozen=True, slots=True)
class Metadata:
    """The metadata of a submitted object."""

    #: Empty if the server chooses it.
    name: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)


NO_METADATA: Final = Metadata()


@dataclass(frozen=True, slots=True)
class JobSubmission:
    """Checked specs, in the order given."""

    specs: list[JobSpec]
    #: The response is a JobList instead of a Job.
    is_list: bool
    #: That of a single whole Job.
    metadata: Metadata = NO_METADATA
    #: Fields that are dropped.
    unknown: Sequence[UnknownField] = ()


@dataclass(frozen=True, slots=True)
class EvaluationSubmission:
    """One evaluation."""

    metadata: Metadata
    spec: EvaluationSpec
    #: Fields that are dropped.
    unknown: Sequence[UnknownField] = ()


Submission = JobSubmission | EvaluationSubmission


def read(body: bytes, namespace: str) -> Submission:
    """Return the submission in a body: jobs, or an evaluation.

    Raises BadRequest for an unreadable body, Invalid for a faulty one; unknown fields are causes, too.
    """
    value = parse_json(body)
    if isinstance(value, dict) and value.get("kind") == EVALUATION.kind:
        submission = read_evaluation(value, namespace)
        if submission.unknown:
            raise invalid(unknown_fields.causes(submission.unknown), EVALUATION, submission.metadata.name)
        return submission
    return read_jobs(value, namespace)


def read_jobs(value: Any, namespace: str, repository: str | None = None) -> JobSubmission:
    """Return the submitted jobs. With ``repository``, the one in the path, every job is about that repository.

    A list is checked as a whole: Invalid has the causes of every faulty item as ``[i].field``, including unknown fields.
    """
    if not isinstance(value, list):
        submission = read_job(value, namespace, repository)
        if submission.unknown:
            raise invalid(unknown_fields.causes(submission.unknown))
        return submission
    if not value:
        raise BadRequest("the list of jobs is empty; give at least one JobSpec")
    if len(value) > LONGEST_LIST:
        raise BadRequest(f"the list has {len(value)} jobs, more than the {LONGEST_LIST} of one submission; send it in parts")
    checked = [_check(item, repository, f"[{index}].") for index, item in enumerate(value)]
    unknown = (field for index, item in enumerate(value) for field in unknown_fields.of_value(JobSpec, item, f"[{index}]"))
    if faults := [*(cause for causes, _ in checked for cause in causes), *unknown_fields.causes(_some(unknown))]:
        raise invalid(faults)
    return JobSubmission([job for _, job in checked if job is not None], is_list=True)


def read_job(value: Any, namespace: str, repository: str | None = None) -> JobSubmission:
    """Return one submitted job: a JobSpec, or a whole Job. Raises Invalid."""
    metadata, spec, unknown = NO_METADATA, value, unknown_fields.of_value(JobSpec, value, "spec")
    if isinstance(value, dict) and value.keys() & {"kind", "spec"}:
        metadata = _metadata({"kind": JOB.kind, **value}, JOB, namespace)
        spec, unknown = value.get("spec"), unknown_fields.of_object(value, JOB)
    causes, job = _check(spec, repository, "spec.")
    if job is None:
        raise invalid([*causes, *unknown_fields.causes(_some(unknown))])
    return JobSubmission([job], False, metadata, _some(unknown))


def read_evaluation(value: Any, namespace: str) -> EvaluationSubmission:
    """Return a submitted Evaluation. Raises BadRequest and Invalid."""
    if not isinstance(value, dict):
        raise BadRequest(f"the body must be one {EVALUATION.kind} object")
    metadata = _metadata({"kind": EVALUATION.kind, **value}, EVALUATION, namespace)
    try:
        spec = EvaluationSpec.model_validate_json(write_json(value.get("spec")))
    except ValidationError as error:
        causes = [Cause(f"spec.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise invalid(causes, EVALUATION, metadata.name) from error
    return EvaluationSubmission(metadata, spec, _some(unknown_fields.of_object(value, EVALUATION)))


def parse_json(body: bytes) -> Any:
    """Return the JSON of a submission. Raises TooLarge, and BadRequest for invalid JSON."""
    check_size(body)
    try:
        tree = orjson.loads(body)
        check_texts(tree)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    except Invalid as error:
        raise BadRequest(error.message) from error
    return tree


def check_size(body: bytes) -> None:
    """Raise TooLarge for a body beyond the limit of a submission."""
    if len(body) > LARGEST_BODY:
        raise TooLarge(f"the submission has {len(body)} bytes, more than the {LARGEST_BODY} of one; send it in parts")


def invalid(causes: Sequence[Cause], kind: Kind = JOB, name: str = "") -> Invalid:
    """Return the error of a faulty submission."""
    return Invalid(
        f'{kind.kind}.{kind.group} "{name}" is invalid: {sentence(causes)}', causes=causes, details={"group": kind.group, "kind": kind.kind}
    )


def _metadata(value: dict[str, Any], kind: Kind, namespace: str) -> Metadata:
    """Return the metadata of a whole object after a check of its envelope."""
    if value["kind"] != kind.kind or value.get("apiVersion", kind.api_version()) != kind.api_version():
        of = f" of {value['apiVersion']!r:.80}" if "apiVersion" in value else ""
        text = f"kind {value['kind']!r:.80}{of} is not submitted here"
        raise BadRequest(f"{text}; known: Job of {JOB.api_version()}, Evaluation of {EVALUATION.api_version()}")
    metadata = value.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise BadRequest("metadata must be an object")
    if metadata.get("namespace") not in (None, "", namespace):
        raise BadRequest(f"metadata.namespace is {metadata['namespace']!r:.80}, but it is submitted to {namespace!r}; they must agree")
    if value.get("status"):
        raise BadRequest("must add jobs with empty status; leave status out")
    if kind is JOB and metadata.get("name"):
        raise BadRequest("name will always be generated; leave metadata.name out, or give metadata.generateName")
    name = names.name(metadata)
    if name:
        check_object_name(name)
    return Metadata(name, names.texts(metadata, "labels"), names.texts(metadata, "annotations"))


def _some(fields: Iterator[UnknownField]) -> Sequence[UnknownField]:
    return list(islice(fields, _MOST_UNKNOWN))


def _check(value: Any, repository: str | None, prefix: str) -> tuple[list[Cause], JobSpec | None]:
    if not isinstance(value, dict):
        return [Cause(prefix.rstrip("."), "FieldValueTypeInvalid", "a job must be a JobSpec object")], None
    return job_rules.read(value if repository is None else {**value, "repository": repository}, prefix)
