"""The action ``sync``: store what the files of a repository hold."""

from collections.abc import Iterator
from typing import Final

from dashwright.common.errors import Cause
from dashwright.common.job_actions.job_action import JobAction
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec


def _target(spec: JobSpec) -> str:
    return (spec.sync.ref or "") if spec.sync is not None else ""


def _spec_causes(spec: JobSpec, prefix: str) -> Iterator[Cause]:
    if spec.sync is not None and spec.sync.ref:
        text = "Forbidden: a sync takes the newest commit; roll back to get an earlier one"
        yield Cause(f"{prefix}sync.ref", "FieldValueForbidden", text)


def _repository_causes(spec: JobSpec, repository: RepositorySpec, prefix: str) -> Iterator[Cause]:
    if not repository.sync.enabled:
        text = f'Forbidden: sync is not enabled for the repository "{spec.repository}"; its spec.sync.enabled is false'
        yield Cause(f"{prefix}sync", "FieldValueForbidden", text)


DESCRIPTION: Final = JobAction(
    action=Action.SYNC,
    later_word="pull",
    target=_target,
    spec_causes=_spec_causes,
    repository_causes=_repository_causes,
)
