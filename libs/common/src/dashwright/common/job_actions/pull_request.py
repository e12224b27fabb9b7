"""The action ``pr``: review a pull request and comment on it."""

from collections.abc import Iterator
from typing import Final

from dashwright.common.errors import Cause
from dashwright.common.job_actions.job_action import JobAction
from dashwright.common.models.provisioning import Action, JobSpec, RepositorySpec, RepositoryType

PULL_REQUESTS_AT_ONCE: Final = 4
"""``pr`` jobs of one repository that run concurrently, in addition to its single ``sync`` or ``export`` job."""


def _target(spec: JobSpec) -> str:
    return str(spec.pr.pr or spec.pr.ref or spec.pr.url or "") if spec.pr is not None else ""


def _spec_causes(spec: JobSpec, prefix: str) -> Iterator[Cause]:
    """Yield the reasons why the options identify no pull request.

    0 and empty strings count as missing: Go clients send them for unset fields.
    """
    options = spec.pr
    if options is None or spec.action is not Action.PR:
        return
    if options.pr is not None and options.pr < 0:
        yield Cause(f"{prefix}pr.pr", "FieldValueInvalid", f"Invalid value: {options.pr}: give the number of a pull request, 1 or more")
    elif not (options.pr or options.ref or options.url):
        text = "Required value: give the number of a pull request, its branch as ref or its address as url"
        yield Cause(f"{prefix}pr.pr", "FieldValueRequired", text)


def _repository_causes(spec: JobSpec, repository: RepositorySpec, prefix: str) -> Iterator[Cause]:
    if repository.type is RepositoryType.LOCAL:
        text = f'Forbidden: the repository "{spec.repository}" is a local directory, which has no pull requests'
        yield Cause(f"{prefix}action", "FieldValueForbidden", text)


DESCRIPTION: Final = JobAction(
    action=Action.PR,
    has_default_options=False,
    target=_target,
    spec_causes=_spec_causes,
    repository_causes=_repository_causes,
    own_group="pr",
    group_limit=PULL_REQUESTS_AT_ONCE,
)
