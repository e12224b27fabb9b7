"""The action ``sync``: store the resources in the files of a repository as objects."""

from collections.abc import Iterator
from typing import Final

from dashwright.common.errors import Cause
from dashwright.common.job_actions.job_action import JobAction
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec


def _merge_key(spec: JobSpec) -> str:
    """Return the commit to roll back to, which only rollbacks set. All other syncs of a repository can be merged."""
    return (spec.sync.ref or "") if spec.sync is not None else ""


def _spec_causes(spec: JobSpec, prefix: str) -> Iterator[Cause]:
    if spec.sync is not None and spec.sync.ref:
        message = "Forbidden: a sync takes the newest commit; roll back to get an earlier one"
        yield Cause(f"{prefix}sync.ref", "FieldValueForbidden", message)


def _repository_causes(spec: JobSpec, repository: RepositorySpec, prefix: str) -> Iterator[Cause]:
    if not repository.sync.enabled:
        message = f'Forbidden: sync is not enabled for the repository "{spec.repository}"; its spec.sync.enabled is false'
        yield Cause(f"{prefix}sync", "FieldValueForbidden", message)


DESCRIPTION: Final = JobAction(
    action=Action.SYNC,
    alias="pull",
    merge_key=_merge_key,
    spec_causes=_spec_causes,
    options_schema={"properties": {"ref": {"maxLength": 0}}},
    repository_causes=_repository_causes,
)
