"""Decisions on webhook deliveries: a sync after a push, a ``pr`` job for a pull request, or no job."""

from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ValidationError

from dashwright.common.errors import BadRequest
from dashwright.common.models.provisioning import Action, Integer32, JobSpec, PullRequestJobOptions, RepositorySpec, SyncJobOptions

PING: Final = "ping"
_BRANCH_PREFIX: Final = "refs/heads/"
_RELEVANT_PULL_REQUEST_ACTIONS: Final = frozenset({"opened", "reopened", "synchronize"})


@dataclass(frozen=True, slots=True)
class Decision:
    """The response to a delivery, and the job to submit."""

    #: The HTTP status.
    code: int
    message: str
    #: None if the delivery needs no job.
    job: JobSpec | None = None


class _Repository(BaseModel):
    full_name: str
    default_branch: str = ""


class _PullRequestBranch(BaseModel):
    ref: str
    sha: str = ""


class _PullRequest(BaseModel):
    number: Integer32
    html_url: str
    base: _PullRequestBranch
    head: _PullRequestBranch


class _Payload(BaseModel):
    repository: _Repository | None = None
    ref: str = ""
    after: str = ""
    action: str = ""
    pull_request: _PullRequest | None = None


def decide(event: str, payload: Any, name: str, spec: RepositorySpec) -> Decision:
    """Return the decision on a delivery to the repository ``name``.

    Raises BadRequest for a malformed event, or an event of another repository.
    """
    if event == PING:
        return Decision(200, "ping received")
    if event not in ("push", "pull_request"):
        return Decision(501, f"unsupported messageType: {event[:80]}")
    try:
        parsed_payload = _Payload.model_validate(payload)
    except ValidationError as error:
        fields = ", ".join(sorted({".".join(map(str, fault["loc"])) for fault in error.errors(include_input=False)}))
        raise BadRequest(f"the {event} event has missing or invalid members: {fields or 'the payload is not an object'}") from error
    if parsed_payload.repository is None:
        raise BadRequest(f"missing repository in {event} event")
    if parsed_payload.repository.full_name.lower() != _full_name(spec):
        raise BadRequest("repository mismatch")
    branch = (spec.remote.branch if spec.remote is not None else "") or parsed_payload.repository.default_branch
    return _decide_push(parsed_payload, branch, name, spec) if event == "push" else _decide_pull_request(parsed_payload, branch, name)


def _decide_push(payload: _Payload, branch: str, name: str, spec: RepositorySpec) -> Decision:
    if payload.ref != f"{_BRANCH_PREFIX}{branch}":
        return Decision(200, f"ignoring push to {payload.ref[:200]}")
    is_deletion = bool(payload.after) and set(payload.after) == {"0"}
    if is_deletion:
        return Decision(200, "ignoring push as the branch was deleted")
    if not spec.sync.enabled:
        return Decision(200, "ignoring push as sync is not enabled")
    return Decision(202, "push received", JobSpec(action=Action.SYNC, repository=name, sync=SyncJobOptions(incremental=True)))


def _decide_pull_request(payload: _Payload, branch: str, name: str) -> Decision:
    pull_request = payload.pull_request
    if pull_request is None:
        raise BadRequest("expected PR in event")
    if pull_request.base.ref != branch:
        # Grafana's message has the same two spaces.
        return Decision(200, f"ignoring pull request event as {pull_request.base.ref[:200]} is not  the configured branch")
    if payload.action not in _RELEVANT_PULL_REQUEST_ACTIONS:
        return Decision(200, f"ignore pull request event: {payload.action[:80]}")
    job_options = PullRequestJobOptions(
        ref=pull_request.head.ref, hash=pull_request.head.sha, pr=pull_request.number, url=pull_request.html_url
    )
    return Decision(202, f"pull request: {payload.action}", JobSpec(action=Action.PR, repository=name, pr=job_options))


def _full_name(spec: RepositorySpec) -> str:
    """Return ``owner/name`` from the repository's URL in lower case, because hosts ignore letter case."""
    url = (spec.remote.url if spec.remote is not None else "") or ""
    return unquote(urlsplit(url.rstrip("/").removesuffix(".git")).path).strip("/").lower()
