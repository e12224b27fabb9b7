"""Submissions of jobs and evaluations: a JobSpec, a list of JobSpecs, or a complete object. HTTP and queue use the same rules."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

import orjson
from pydantic import ValidationError

from dashwright.api.domain import job_rules, names, unknown_fields
from dashwright.api.domain.unknown_fields import UnknownField
from dashwright.common.errors import BadRequest, Cause, Invalid, TooLarge
from dashwright.common.json_documents import check_strings, write_json
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.naming import check_object_name
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.models.causes import causes_of, sentence
from dashwright.common.models.evaluation import EvaluationSpec
from dashwright.common.models.provisioning import JobSpec

MAX_JOBS = 1000
"""Limit on the jobs of one submission."""

MAX_BODY_BYTES = 2 * 1024 * 1024
"""Limit on the bytes of one submission."""

#: The API versions of the objects that the queue accepts, the preferred one first.
_KNOWN_API_VERSIONS: Final = {kind: [kind.api_version(version) for version in kind.versions] for kind in (JOB, EVALUATION)}

_ESCAPED_NUL: Final = b"\\u0000"
"""The only notation of a NUL character in JSON. PostgreSQL cannot store the character."""

_MAX_UNKNOWN_FIELDS: Final = 1000
"""Limit on the unknown fields that are collected for one submission."""


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
    """The specs of submitted jobs, after their checks, in the order of the submission."""

    specs: list[JobSpec]
    #: The client sent a list, so the response is a JobList instead of a Job.
    is_list: bool
    #: The metadata of a single complete Job.
    metadata: Metadata = NO_METADATA
    #: Fields that the schema does not define. They are not stored.
    unknown_fields: Sequence[UnknownField] = ()


@dataclass(frozen=True, slots=True)
class EvaluationSubmission:
    """A submitted evaluation, after its checks."""

    metadata: Metadata
    spec: EvaluationSpec
    #: Fields that the schema does not define. They are not stored.
    unknown_fields: Sequence[UnknownField] = ()


Submission = JobSubmission | EvaluationSubmission


def read_submission(body: bytes, namespace: str) -> Submission:
    """Return the submission in a body: jobs, or an evaluation.

    Raises BadRequest for an unreadable body, and Invalid for invalid values and unknown fields.
    """
    value = parse_json(body)
    if isinstance(value, dict) and value.get("kind") == EVALUATION.kind:
        submission = read_evaluation(value, namespace)
        if submission.unknown_fields:
            raise invalid_error(unknown_fields.causes(submission.unknown_fields), EVALUATION, submission.metadata.name)
        return submission
    return read_jobs(value, namespace)


def read_jobs(value: Any, namespace: str, repository: str | None = None, version: str | None = None) -> JobSubmission:
    """Return the submitted jobs. ``repository`` is the name in the path; it replaces the repository of every job.

    ``version`` is the API version in the path, which a complete Job must have. By default, every version is accepted.

    Raises Invalid with the causes of every invalid item of a list as ``[i].field``, including unknown fields.
    """
    if not isinstance(value, list):
        submission = read_job(value, namespace, repository, version)
        if submission.unknown_fields:
            raise invalid_error(unknown_fields.causes(submission.unknown_fields))
        return submission
    if not value:
        raise BadRequest("the list of jobs is empty; give at least one JobSpec")
    if len(value) > MAX_JOBS:
        raise BadRequest(f"the list has {len(value)} jobs, more than the {MAX_JOBS} of one submission; send it in parts")
    checked_jobs = [_checked_job(item, repository, f"[{index}].") for index, item in enumerate(value)]
    fields = (field for index, item in enumerate(value) for field in unknown_fields.find_in_value(JobSpec, item, f"[{index}]"))
    if causes := [*(cause for job_causes, _ in checked_jobs for cause in job_causes), *unknown_fields.causes(_first_fields(fields))]:
        raise invalid_error(causes)
    return JobSubmission([job for _, job in checked_jobs if job is not None], is_list=True)


def read_job(value: Any, namespace: str, repository: str | None = None, version: str | None = None) -> JobSubmission:
    """Return one submitted job from a JobSpec or a complete Job. Raises Invalid for invalid values, not for unknown fields.

    ``repository`` and ``version`` are as for ``read_jobs``.
    """
    metadata = NO_METADATA
    spec = value
    fields = unknown_fields.find_in_value(JobSpec, value, "spec")
    is_complete_job = isinstance(value, dict) and bool(value.keys() & {"kind", "spec"})
    if is_complete_job:
        # The kind may be missing, because ``spec`` alone shows that the object is complete.
        metadata = _checked_metadata({"kind": JOB.kind, **value}, JOB, namespace, version)
        spec, fields = value.get("spec"), unknown_fields.find_in_object(value, JOB)
    causes, job = _checked_job(spec, repository, "spec.")
    if job is None:
        raise invalid_error([*causes, *unknown_fields.causes(_first_fields(fields))])
    return JobSubmission([job], is_list=False, metadata=metadata, unknown_fields=_first_fields(fields))


def read_evaluation(value: Any, namespace: str) -> EvaluationSubmission:
    """Return a submitted Evaluation. Raises BadRequest, and Invalid for invalid values, not for unknown fields."""
    if not isinstance(value, dict):
        raise BadRequest(f"the body must be one {EVALUATION.kind} object")
    metadata = _checked_metadata({"kind": EVALUATION.kind, **value}, EVALUATION, namespace)
    try:
        spec = EvaluationSpec.model_validate_json(write_json(value.get("spec")))
    except ValidationError as error:
        # A fault of the whole spec has an empty field.
        causes = [Cause(f"spec.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise invalid_error(causes, EVALUATION, metadata.name) from error
    return EvaluationSubmission(metadata, spec, _first_fields(unknown_fields.find_in_object(value, EVALUATION)))


def parse_json(body: bytes) -> Any:
    """Return the JSON value of a submission's body. Raises TooLarge, and BadRequest for invalid JSON."""
    check_size(body)
    try:
        value = orjson.loads(body)
        # The parser refuses other strings that cannot be stored, and a search of the bytes is much faster than one of the tree.
        if _ESCAPED_NUL in body:
            check_strings(value)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    except Invalid as error:
        raise BadRequest(error.message) from error
    return value


def check_size(body: bytes) -> None:
    """Raise TooLarge for a body of more than ``MAX_BODY_BYTES``."""
    if len(body) > MAX_BODY_BYTES:
        raise TooLarge(f"the submission has {len(body)} bytes, more than the limit of {MAX_BODY_BYTES}; send it in parts")


def invalid_error(causes: Sequence[Cause], kind: Kind = JOB, name: str = "") -> Invalid:
    """Return the error of a submission with these causes."""
    return Invalid(
        f'{kind.kind}.{kind.group} "{name}" is invalid: {sentence(causes)}', causes=causes, details={"group": kind.group, "kind": kind.kind}
    )


def _checked_metadata(value: dict[str, Any], kind: Kind, namespace: str, version: str | None = None) -> Metadata:
    """Return the metadata of a complete object. Raises BadRequest if its top level or metadata are invalid."""
    known_versions = _KNOWN_API_VERSIONS if version is None else {kind: [kind.api_version(version)]}
    if value["kind"] != kind.kind or value.get("apiVersion", known_versions[kind][0]) not in known_versions[kind]:
        api_version = f" of {value['apiVersion']!r:.80}" if "apiVersion" in value else ""
        known_text = "; ".join(f"{known_kind.kind} of {', '.join(api_versions)}" for known_kind, api_versions in known_versions.items())
        raise BadRequest(f"kind {value['kind']!r:.80}{api_version} is not submitted here; known: {known_text}")
    metadata = value.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise BadRequest("metadata must be an object")
    if metadata.get("namespace") not in (None, "", namespace):
        raise BadRequest(f"metadata.namespace is {metadata['namespace']!r:.80}, but it is submitted to {namespace!r}; they must agree")
    if value.get("status"):
        raise BadRequest("must add jobs with empty status; leave status out")
    # As in Grafana, clients cannot choose the names of jobs.
    if kind is JOB and metadata.get("name"):
        raise BadRequest("name will always be generated; leave metadata.name out, or give metadata.generateName")
    name = names.requested_name(metadata)
    if name:
        check_object_name(name)
    return Metadata(name, names.string_map(metadata, "labels"), names.string_map(metadata, "annotations"))


def _first_fields(fields: Iterator[UnknownField]) -> Sequence[UnknownField]:
    """Return the first of the unknown fields: a body may have many more than a response could report."""
    return list(islice(fields, _MAX_UNKNOWN_FIELDS))


def _checked_job(value: Any, repository: str | None, prefix: str) -> tuple[list[Cause], JobSpec | None]:
    """Return the causes of an invalid job and None, or no causes and the job."""
    if not isinstance(value, dict):
        return [Cause(prefix.rstrip("."), "FieldValueTypeInvalid", "a job must be a JobSpec object")], None
    return job_rules.read_job_spec(value if repository is None else {**value, "repository": repository}, prefix)
