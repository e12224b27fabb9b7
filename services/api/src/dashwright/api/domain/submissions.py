"""What a submitter may send: a JobSpec, a list of them, or a whole Job or Evaluation. Pure; both doors, HTTP and queue, read by it."""

from dataclasses import dataclass
from typing import Any

import orjson
from pydantic import ValidationError

from dashwright.common.document import check_texts
from dashwright.common.errors import BadRequest, Cause, Invalid, TooLarge
from dashwright.common.kinds.branches import is_branch
from dashwright.common.kinds.kind import Kind
from dashwright.common.kinds.naming import check_object_name
from dashwright.common.kinds.registry import EVALUATION, JOB
from dashwright.common.models.causes import causes_of, sentence
from dashwright.common.models.evaluation import EvaluationSpec
from dashwright.common.models.provisioning import Action, JobSpec

LONGEST_LIST = 1000
LARGEST_BODY = 2 * 1024 * 1024
"""Bytes of one submission."""
OPTION_BLOCKS = ("export", "push", "pr", "sync", "pull")


@dataclass(frozen=True, slots=True)
class JobSubmission:
    """Checked specs in the order given; ``is_list`` decides whether the answer is a Job or a JobList."""

    specs: list[JobSpec]
    is_list: bool


@dataclass(frozen=True, slots=True)
class EvaluationSubmission:
    """One evaluation; ``name`` is empty where the submitter leaves it to us. ``labels`` are the submitter's own."""

    name: str
    labels: dict[str, str]
    spec: EvaluationSpec


Submission = JobSubmission | EvaluationSubmission


def read(body: bytes, namespace: str) -> Submission:
    """Reads a submission, whatever it asks for. BadRequest for what is none, Invalid with its causes for a bad one."""
    value = _tree(body)
    if isinstance(value, dict) and value.get("kind") == EVALUATION.kind:
        return _evaluation(value, namespace)
    return _jobs(value, namespace, None)


def read_jobs(body: bytes, namespace: str, repository: str | None = None) -> JobSubmission:
    """Reads jobs. With ``repository``, the one of the path, every spec is about that one, whatever it says.

    A list is checked whole first: Invalid carries the causes of every bad item as ``[i].field``.
    """
    return _jobs(_tree(body), namespace, repository)


def read_evaluation(body: bytes, namespace: str) -> EvaluationSubmission:
    """Reads a whole Evaluation."""
    value = _tree(body)
    if not isinstance(value, dict):
        raise BadRequest(f"the body must be one {EVALUATION.kind} object")
    return _evaluation({"kind": EVALUATION.kind, **value}, namespace)


def _tree(body: bytes) -> Any:
    if len(body) > LARGEST_BODY:
        raise TooLarge(f"the submission has {len(body)} bytes, more than the {LARGEST_BODY} of one; send it in parts")
    try:
        tree = orjson.loads(body)
        check_texts(tree)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from error
    except Invalid as error:
        raise BadRequest(error.message) from error
    return tree


def _jobs(value: Any, namespace: str, repository: str | None) -> JobSubmission:
    if not isinstance(value, list):
        causes, job = _check(_unwrap(value, namespace), repository, "spec.")
        if job is None:
            raise invalid(causes)
        return JobSubmission([job], is_list=False)
    if not value:
        raise BadRequest("the list of jobs is empty; give at least one JobSpec")
    if len(value) > LONGEST_LIST:
        raise BadRequest(f"the list has {len(value)} jobs, more than the {LONGEST_LIST} of one submission; send it in parts")
    checked = [_check(item, repository, f"[{index}].") for index, item in enumerate(value)]
    if faults := [cause for causes, _ in checked for cause in causes]:
        raise invalid(faults)
    return JobSubmission([job for _, job in checked if job is not None], is_list=True)


def _evaluation(value: dict[str, Any], namespace: str) -> EvaluationSubmission:
    metadata = _metadata(value, EVALUATION, namespace)
    name, labels = metadata.get("name") or "", metadata.get("labels") or {}
    if not isinstance(name, str) or not isinstance(labels, dict) or not all(isinstance(text, str) for text in labels.values()):
        raise BadRequest("metadata.name must be text, and metadata.labels must map text to text")
    if name:
        check_object_name(name)
    try:
        spec = EvaluationSpec.model_validate_json(orjson.dumps(value.get("spec")))
    except ValidationError as error:
        causes = [Cause(f"spec.{cause.field}".rstrip("."), cause.reason, cause.message) for cause in causes_of(error) or ()]
        raise invalid(causes, EVALUATION, name) from error
    return EvaluationSubmission(name, labels, spec)


def invalid(causes: list[Cause], kind: Kind = JOB, name: str = "") -> Invalid:
    return Invalid(
        f'{kind.kind}.{kind.group} "{name}" is invalid: {sentence(causes)}', causes=causes, details={"group": kind.group, "kind": kind.kind}
    )


def _unwrap(value: Any, namespace: str) -> Any:
    """The spec of a whole object, or the value itself where it is a spec already, which has no ``spec``."""
    if not isinstance(value, dict) or not value.keys() & {"kind", "spec"}:
        return value
    if _metadata({"kind": JOB.kind, **value}, JOB, namespace).get("name"):
        raise BadRequest("name will always be generated; leave metadata.name out")
    return value.get("spec")


def _metadata(value: dict[str, Any], kind: Kind, namespace: str) -> dict[str, Any]:
    """The metadata of a whole object, once its envelope has been checked."""
    if value["kind"] != kind.kind or value.get("apiVersion", kind.api_version()) != kind.api_version():
        of = f" of {value['apiVersion']!r:.80}" if "apiVersion" in value else ""
        told = f"kind {value['kind']!r:.80}{of} is not submitted here"
        raise BadRequest(f"{told}; known: Job of {JOB.api_version()}, Evaluation of {EVALUATION.api_version()}")
    metadata = value.get("metadata") or {}
    if not isinstance(metadata, dict):
        raise BadRequest("metadata must be an object")
    if metadata.get("namespace") not in (None, "", namespace):
        raise BadRequest(f"metadata.namespace is {metadata['namespace']!r:.80}, but it is submitted to {namespace!r}; they must agree")
    if value.get("status"):
        raise BadRequest("must add jobs with empty status; leave status out")
    return metadata


def _check(value: Any, repository: str | None, prefix: str) -> tuple[list[Cause], JobSpec | None]:
    if not isinstance(value, dict):
        return [Cause(prefix.rstrip("."), "FieldValueTypeInvalid", "a job must be a JobSpec object")], None
    if repository is not None:
        value = {**value, "repository": repository}
    if value.get("action") in (None, ""):
        blocks = [word for word in OPTION_BLOCKS if value.get(word) is not None]
        if len(blocks) > 1:
            return [Cause(f"{prefix}action", "FieldValueRequired", "Required value: multiple job types found; name the one meant")], None
        if not blocks:
            return [Cause(f"{prefix}action", "FieldValueRequired", "Required value: one of export, pr, sync")], None
        value = {**value, "action": blocks[0]}
    try:
        spec = JobSpec.model_validate_json(orjson.dumps(value))
    except ValidationError as error:
        return [Cause(prefix + cause.field, cause.reason, cause.message) for cause in causes_of(error) or ()], None
    if spec.action is not Action.PR and getattr(spec, spec.action.value) is None:
        text = f"Required value: a job with action {spec.action.value} needs its options; {{}} takes the defaults"
        return [Cause(prefix + spec.action.value, "FieldValueRequired", text)], None
    if spec.sync is not None and spec.sync.ref:
        text = "Forbidden: a sync takes the newest commit; ask for a rollback to have an earlier one"
        return [Cause(f"{prefix}sync.ref", "FieldValueForbidden", text)], None
    if spec.export is not None and spec.export.branch and not is_branch(spec.export.branch):
        return [
            Cause(f"{prefix}export.branch", "FieldValueInvalid", f"Invalid value: {spec.export.branch[:80]!r}: invalid git branch name")
        ], None
    return [], spec
