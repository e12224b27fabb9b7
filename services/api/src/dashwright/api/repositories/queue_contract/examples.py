"""Examples of submissions and replies in the AsyncAPI document."""

from typing import Any, Final

from dashwright.api.routes.examples import EXAMPLES
from dashwright.common.kinds.registry import BATCH, EVALUATION, JOB, REPOSITORY
from dashwright.common.models.batch import BatchSpec, BatchStatus

_SPEC: Final = {"action": "sync", "repository": "team", "sync": {"incremental": True}}
_EVALUATION: Final = EXAMPLES["createEvaluationV0alpha1"].request
_MISSING_REPOSITORY: Final = f'{REPOSITORY.plural}.{REPOSITORY.group} "team" not found'


def _example(name: str, payload: Any, **headers: str) -> dict[str, Any]:
    """Return an example of a message with its body and headers."""
    return {"name": name, "payload": payload} | ({"headers": headers} if headers else {})


def _pending(kind: str, api_version: str, name: str, spec: Any) -> dict[str, Any]:
    """Return a job or evaluation as the reply to its submission shows it."""
    metadata = {"name": name, "namespace": "default", "uid": "0b6c8a52-6d0f-4c3c-9a43-5d1d54f1a2c7", "resourceVersion": "42"}
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata, "spec": spec, "status": {"state": "pending"}}


_JOB: Final = _pending(JOB.kind, JOB.api_version(), "team-sync-x7k2m9qd", _SPEC)

JOB_SPEC: Final = (
    _example("sync", _SPEC, authorization="Basic YWRtaW46YWRtaW4="),
    _example("export", {"action": "export", "repository": "team", "export": {"folder": "shop", "branch": "backup"}}),
    _example("pullRequest", {"repository": "team", "pr": {"pr": 7}}),
    # Newer versions of Grafana name the action ``export`` push.
    _example("push", {"repository": "team", "push": {"path": "dashboards"}}),
)
JOB_SPECS: Final = (_example("twoRepositories", [_SPEC, {**_SPEC, "repository": "shop"}]),)
JOB_OBJECT: Final = (
    _example(
        "labels",
        {
            "kind": JOB.kind,
            "apiVersion": JOB.api_version(),
            "metadata": {"generateName": "nightly-", "labels": {"batch": "42"}},
            "spec": _SPEC,
        },
    ),
)
EVALUATION_OBJECT: Final = (_example("evaluation", _EVALUATION),)
_BATCH_ITEM: Final = {"id": "team-1", "spec": _SPEC}
BATCH_OBJECT: Final = (
    _example("batch", {"kind": BATCH.kind, "metadata": {"name": "nightly"}, "spec": {"parallelism": 8, "retry": {"attempts": 3}}}),
)
BATCH_ITEM: Final = (
    _example("job", _BATCH_ITEM, **{"dashwright-batch": "nightly"}),
    _example("evaluation", {"kind": EVALUATION.kind, "spec": _EVALUATION["spec"]}, **{"dashwright-batch": "nightly"}),
)
BATCH_ITEMS: Final = (
    _example("items", [_BATCH_ITEM, {"spec": {"repository": "shop", "sync": {}}}], **{"dashwright-batch": "nightly"}),
    _example("end", [], **{"dashwright-batch": "nightly", "dashwright-close": "true"}),
)
JOB_REPLY: Final = (_example("job", _JOB),)
JOB_LIST_REPLY: Final = (_example("jobs", {"kind": f"{JOB.kind}List", "apiVersion": JOB.api_version(), "metadata": {}, "items": [_JOB]}),)
EVALUATION_REPLY: Final = (
    _example("evaluation", _pending(EVALUATION.kind, EVALUATION.api_version(), "orders-4gt1s8zw", _EVALUATION["spec"])),
)
BATCH_REPLY: Final = (
    _example(
        "batch",
        {
            "kind": BATCH.kind,
            "apiVersion": BATCH.api_version(),
            "metadata": {"name": "nightly", "namespace": "default", "resourceVersion": "42"},
            "spec": BatchSpec().model_dump(mode="json", by_alias=True, exclude_none=True),
            "status": BatchStatus().model_dump(mode="json", by_alias=True, exclude_none=True),
        },
    ),
)
BATCH_SUBMISSION_REPLY: Final = (
    _example(
        "verdicts",
        {
            "kind": "BatchSubmission",
            "apiVersion": BATCH.api_version(),
            "batch": "nightly",
            "items": [
                {"index": 0, "id": "team-1", "status": "accepted"},
                {"index": 1, "id": "team-2", "status": "refused", "message": "[1]: spec.action: Required value: one of export, pr, sync"},
            ],
        },
    ),
)
REFUSAL: Final = (
    _example(
        "unknownRepository",
        {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": _MISSING_REPOSITORY,
            "reason": "NotFound",
            "details": {"name": "team", "group": REPOSITORY.group, "kind": REPOSITORY.plural},
            "code": 404,
        },
    ),
)
